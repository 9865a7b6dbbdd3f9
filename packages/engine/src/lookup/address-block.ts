// address-block.ts: many addresses at once: all are parsed, then all are looked up (bench/README.md, Blocks).
//
// in   an AnswerSource, then up to 64 addresses
// out  the number of each one's answer in `segment`; NOT_IN_BLOCK for an address that Answerer has to answer alone
// err  none thrown
// cost no allocation

import type { UnwrappedAddress } from "../address/ip.ts";
import { BLOCK_ADDRESSES, PackedAddresses } from "../address/packed.ts";
import { specialUse } from "../address/special-use.ts";
import type { CompiledOverrides } from "../overrides/compiled.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import { type Answerer, type AnswerSource, findFailure, type Outcome } from "./answerer.ts";
import type { IpLookup } from "./data-state.ts";
import { NOT_FOUND } from "./failure.ts";

/** Instead of a number: there is no answer that can be taken as it stands. */
const NOT_IN_BLOCK = -1;

export class AddressBlock {
  /** Its bytes are the answers; undefined if each address has to be answered only. */
  segment: IpSegment | undefined;
  /** By index of the address in the block. */
  readonly numbers = new Int32Array(BLOCK_ADDRESSES).fill(NOT_IN_BLOCK);
  private overrides: CompiledOverrides | undefined;
  private readonly addresses = new PackedAddresses();
  private readonly indexes = new Uint8Array(BLOCK_ADDRESSES);
  private readonly records = new Uint32Array(BLOCK_ADDRESSES);

  /** Later addresses are looked up here. @param lookup undefined: its answers are not taken as they stand */
  use(lookup: IpLookup | undefined, source: AnswerSource): void {
    const { release } = source;
    const isAnswered = lookup !== undefined && findFailure(lookup, source) === undefined;
    const segment = isAnswered ? (lookup === "geolocate" ? release?.geo : release?.reputation) : undefined;
    const hasOverrides = lookup === "reputation" && !source.overrides.isEmpty;
    const overrides = hasOverrides ? source.overrides.compiledWith(release) : undefined;
    if (segment === this.segment && overrides === this.overrides) return;
    this.segment = segment;
    this.overrides = overrides;
    this.clear();
  }

  clear(): void {
    this.addresses.length = 0;
    this.numbers.fill(NOT_IN_BLOCK);
  }

  /** @returns false for an address that has to be answered alone */
  add(index: number, address: UnwrappedAddress): boolean {
    if (this.segment === undefined || specialUse(address) !== undefined) return false;
    if (this.overrides?.covers(address) === true) return false;
    this.indexes[this.addresses.length] = index;
    this.addresses.add(address);
    return true;
  }

  /** Finds the numbers of the addresses that were added. */
  find(): void {
    const { addresses, records, segment } = this;
    const { length } = addresses;
    if (segment === undefined || length === 0) return;
    segment.recordBlock(addresses, records);
    segment.answers.touch(records, length);
    for (let i = 0; i < length; i++) this.numbers[this.indexes[i]!] = records[i]!;
    addresses.length = 0;
  }

  /** The outcome of every text, in order: that of Answerer for it alone. */
  answerAll(answerer: Answerer, lookup: IpLookup, texts: readonly string[], source: AnswerSource): Outcome[] {
    const outcomes: Outcome[] = [];
    this.use(lookup, source);
    for (let start = 0; start < texts.length; start += BLOCK_ADDRESSES) {
      this.clear();
      const end = Math.min(start + BLOCK_ADDRESSES, texts.length);
      for (let i = start; i < end; i++) {
        const failure = answerer.readAddress(texts[i]!);
        if (failure !== undefined) outcomes[i] = failure;
        else if (!this.add(i - start, answerer.address))
          outcomes[i] = answerer.answerAddress(lookup, answerer.address, source);
      }
      this.find();
      for (let i = start; i < end; i++) outcomes[i] ??= this.answerAt(i - start, lookup);
    }
    return outcomes;
  }

  private answerAt(index: number, lookup: IpLookup): Outcome {
    const unlisted = lookup === "geolocate" ? NOT_FOUND : REPUTATION_ANSWERS[0]!;
    return this.segment?.answer(this.numbers[index]!) ?? unlisted;
  }
}
