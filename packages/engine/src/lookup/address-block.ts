// address-block.ts: many addresses at once: all are parsed, then all are looked up (bench/README.md, Blocks).
//
// in   texts, and an AnswerSource
// out  for each text the outcome that Answerer has for it alone
// err  none thrown
// cost no allocation for an address whose answer is the release's own

import { IpAddress, type UnwrappedAddress } from "../address/ip.ts";
import { specialUse } from "../address/special-use.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { BLOCK_ADDRESSES } from "../segment/ip-segment.ts";
import { type Answerer, type AnswerSource, type Outcome, plainSegment } from "./answerer.ts";
import type { IpLookup } from "./data-state.ts";
import { NOT_FOUND } from "./failure.ts";

export class AddressBlock {
  private readonly answerer: Answerer;
  private readonly addresses = Array.from(
    { length: BLOCK_ADDRESSES },
    () => new IpAddress() as UnwrappedAddress, // the answerer unwraps what is copied here
  );
  /** Where the outcome of each address goes. */
  private readonly indexes = new Uint32Array(BLOCK_ADDRESSES);
  private readonly found: (Uint8Array | undefined)[] = new Array(BLOCK_ADDRESSES).fill(undefined);

  constructor(answerer: Answerer) {
    this.answerer = answerer;
  }

  /** The outcome of every text, in order. */
  answerAll(lookup: IpLookup, texts: readonly string[], source: AnswerSource): Outcome[] {
    const { answerer } = this;
    const outcomes = new Array<Outcome>(texts.length).fill(NOT_FOUND);
    const segment = plainSegment(lookup, source);
    let count = 0;
    for (let i = 0; i < texts.length; i++) {
      const failure = answerer.readAddress(texts[i]!);
      const { address } = answerer;
      if (failure !== undefined) outcomes[i] = failure;
      else if (segment === undefined || specialUse(address) !== undefined)
        outcomes[i] = answerer.answerAddress(lookup, address, source);
      else {
        copyAddress(address, this.addresses[count]!);
        this.indexes[count++] = i;
      }
      if (segment === undefined || count === 0) continue;
      if (count < BLOCK_ADDRESSES && i + 1 < texts.length) continue;
      segment.lookupBlock(this.addresses, count, this.found);
      const unlisted = lookup === "geolocate" ? NOT_FOUND : REPUTATION_ANSWERS[0]!;
      for (let k = 0; k < count; k++) outcomes[this.indexes[k]!] = this.found[k] ?? unlisted;
      count = 0;
    }
    return outcomes;
  }
}

function copyAddress(from: IpAddress, to: IpAddress): void {
  to.family = from.family;
  to.words[0] = from.words[0]!;
  if (from.family === 4) return;
  to.words[1] = from.words[1]!;
  to.words[2] = from.words[2]!;
  to.words[3] = from.words[3]!;
}
