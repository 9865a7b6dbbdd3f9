// reputation-flags.ts: the flags of an address as bits, and every answer that they make.

import { ascii } from "../email/ascii.ts";
import type { OverrideVerdict } from "./compiled.ts";
import { ADDRESS_FLAGS, type OverrideFlag } from "./model.ts";

/** The answers about an address, by the bits of its flags: the first flag is 1, the next 2. */
export const REPUTATION_ANSWERS: readonly Uint8Array[] = Array.from(
  { length: 2 ** ADDRESS_FLAGS.length },
  (_, bits) =>
    ascii(
      JSON.stringify(Object.fromEntries(ADDRESS_FLAGS.map((flag, i) => [flag, (bits & (1 << i)) !== 0]))),
    ),
);

const FLAG_BITS = new Map<OverrideFlag, number>(ADDRESS_FLAGS.map((flag, i) => [flag, 1 << i]));

/** The bits of flags, as {@link REPUTATION_ANSWERS} counts them. */
export function bitsOf(flags: Iterable<OverrideFlag>): number {
  let bits = 0;
  for (const flag of flags) bits |= FLAG_BITS.get(flag) ?? 0;
  return bits;
}

const T = 0x74;

/** The bits of one of these answers, which begins at `start` and may go on after its flags. */
export function bitsOfAnswer(answer: Uint8Array, start = 0): number {
  let bits = 0;
  let at = start;
  for (let i = 0; i < ADDRESS_FLAGS.length; i++) {
    at += ADDRESS_FLAGS[i]!.length + 4; // `{"flag":` or `,"flag":`
    const isSet = answer[at] === T;
    if (isSet) bits |= 1 << i;
    at += isSet ? 4 : 5;
  }
  return bits;
}

/** Flags after a verdict's forced ones have replaced theirs. */
export function forcedBits(bits: number, verdict: OverrideVerdict): number {
  let result = bits;
  for (const [flag, value] of verdict.flags) {
    const bit = FLAG_BITS.get(flag) ?? 0;
    result = value ? result | bit : result & ~bit;
  }
  return result;
}
