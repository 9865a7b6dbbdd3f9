// address-block.ts: many addresses at once: all are parsed, then all are looked up (bench/README.md, Blocks).
//
// in   texts, and an AnswerSource
// out  for each text the outcome that Answerer has for it alone
// err  none thrown
// cost no allocation for an address whose answer is the release's own

import { BLOCK_ADDRESSES, PackedAddresses } from "../address/packed.ts";
import { specialUse } from "../address/special-use.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import { type Answerer, type AnswerSource, type Outcome, plainSegment } from "./answerer.ts";
import type { IpLookup } from "./data-state.ts";
import { NOT_FOUND } from "./failure.ts";

export class AddressBlock {
  private readonly answerer: Answerer;
  private readonly addresses = new PackedAddresses();
  /** Where the outcome of each address goes. */
  private readonly indexes = new Uint32Array(BLOCK_ADDRESSES);
  private readonly records = new Uint32Array(BLOCK_ADDRESSES);

  constructor(answerer: Answerer) {
    this.answerer = answerer;
  }

  /** The outcome of every text, in order. */
  answerAll(lookup: IpLookup, texts: readonly string[], source: AnswerSource): Outcome[] {
    const { addresses, answerer, indexes } = this;
    const outcomes = new Array<Outcome>(texts.length).fill(
      lookup === "geolocate" ? NOT_FOUND : REPUTATION_ANSWERS[0]!,
    );
    const segment = plainSegment(lookup, source);
    addresses.length = 0;
    for (let i = 0; i < texts.length; i++) {
      const failure = answerer.readAddress(texts[i]!);
      const { address } = answerer;
      if (failure !== undefined) outcomes[i] = failure;
      else if (segment === undefined || specialUse(address) !== undefined)
        outcomes[i] = answerer.answerAddress(lookup, address, source);
      else {
        indexes[addresses.length] = i;
        addresses.add(address);
        if (addresses.length === BLOCK_ADDRESSES) this.answerBlock(segment, outcomes);
      }
    }
    if (segment !== undefined) this.answerBlock(segment, outcomes);
    return outcomes;
  }

  /** Answers what is in `addresses`, where something is known. */
  private answerBlock(segment: IpSegment, outcomes: Outcome[]): void {
    const { addresses, indexes, records } = this;
    const { answers } = segment;
    const { length } = addresses;
    segment.recordBlock(addresses, records);
    addresses.length = 0;
    answers.touch(records, length);
    for (let i = 0; i < length; i++) {
      const answer = answers.at(records[i]!);
      if (answer !== undefined) outcomes[indexes[i]!] = answer;
    }
  }
}
