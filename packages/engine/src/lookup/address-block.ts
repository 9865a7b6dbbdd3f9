// address-block.ts: looks up addresses in blocks of up to 64. It parses all addresses of a block before it looks them
// up, which is faster (bench/README.md, Blocks).
//
// Cost: adding and finding addresses allocates nothing.

import {
  IpAddress,
  parseIpBytesInto,
  parseIpInto,
  specialUse,
  type UnwrappedAddress,
} from "../address/ip.ts";
import { BLOCK_ADDRESSES, PackedAddresses } from "../address/packed.ts";
import type { CompiledOverrides } from "../overrides/compiled.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import { type Answerer, type AnswerSource, findFailure, type Outcome } from "./answerer.ts";
import type { IpLookup } from "./data-state.ts";
import { ADDRESS_INVALID, NOT_FOUND } from "./failure.ts";

/** Stands for an address whose answer cannot be taken directly from the segment. */
const NOT_IN_BLOCK = -1;

export class AddressBlock {
  /** The segment that contains the answers; undefined if each address has to be looked up separately. */
  segment: IpSegment | undefined;
  /** Record numbers of the answers, indexed by the address's position in the block. */
  readonly numbers = new Int32Array(BLOCK_ADDRESSES).fill(NOT_IN_BLOCK);
  /** The address that was read last. An IPv4 address inside IPv6 is unwrapped. */
  readonly address = new IpAddress() as UnwrappedAddress; // every reader unwraps it
  private overrides: CompiledOverrides | undefined;
  private readonly addresses = new PackedAddresses();
  private readonly indexes = new Uint8Array(BLOCK_ADDRESSES);
  private readonly records = new Uint32Array(BLOCK_ADDRESSES);

  /**
   * Chooses the segment and the overrides for the addresses that are added next.
   * @param lookup undefined for a lookup whose answers never come from the segment unchanged
   */
  use(lookup: IpLookup | undefined, source: AnswerSource): void {
    const { release } = source;
    const isAnswered = lookup !== undefined && findFailure(lookup, source) === undefined;
    const segment = isAnswered ? (lookup === "geolocate" ? release?.geo : release?.reputation) : undefined;
    const hasOverrides = lookup === "reputation" && !source.overrides.isEmpty;
    const overrides = hasOverrides ? source.overrides.compiled : undefined;
    if (segment === this.segment && overrides === this.overrides) return;
    this.segment = segment;
    this.overrides = overrides;
    this.clear();
  }

  clear(): void {
    this.addresses.length = 0;
    this.numbers.fill(NOT_IN_BLOCK);
  }

  /** Adds the address in a range of ASCII bytes, unless it is no address or has to be looked up separately. */
  addBytes(index: number, bytes: Uint8Array, start: number, end: number): void {
    if (this.readBytes(bytes, start, end)) this.add(index);
  }

  /** Does the same as {@link addBytes}, from text. */
  addText(index: number, text: string): void {
    if (parseIpInto(text, this.address)) this.add(index);
  }

  /** Parses ASCII bytes into `address`, to look it up separately. @returns whether they are an address */
  readBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return parseIpBytesInto(bytes, start, end, this.address);
  }

  /** Adds `address`. @returns false if it has to be looked up separately */
  private add(index: number): boolean {
    const { address } = this;
    if (this.segment === undefined || specialUse(address) !== undefined) return false;
    if (this.overrides?.covers(address) === true) return false;
    this.indexes[this.addresses.length] = index;
    this.addresses.add(address);
    return true;
  }

  /** Looks up the added addresses and writes the record numbers of their answers to `numbers`. */
  find(): void {
    const { addresses, records, segment } = this;
    const { length } = addresses;
    if (segment === undefined || length === 0) return;
    segment.recordBlock(addresses, records);
    segment.answers.touch(records, length);
    for (let i = 0; i < length; i++) this.numbers[this.indexes[i]!] = records[i]!;
    addresses.length = 0;
  }

  /** @returns the same outcomes, in the same order, as if Answerer looked up each text separately */
  answerAll(answerer: Answerer, lookup: IpLookup, texts: readonly string[], source: AnswerSource): Outcome[] {
    const outcomes = new Array<Outcome>(texts.length);
    this.use(lookup, source);
    for (let start = 0; start < texts.length; start += BLOCK_ADDRESSES) {
      this.clear();
      const end = Math.min(start + BLOCK_ADDRESSES, texts.length);
      for (let i = start; i < end; i++) {
        if (!parseIpInto(texts[i]!, this.address)) outcomes[i] = ADDRESS_INVALID;
        else if (!this.add(i - start)) outcomes[i] = answerer.answerAddress(lookup, this.address, source);
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
