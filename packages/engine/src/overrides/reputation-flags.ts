// reputation-flags.ts: defines the flags of an address as bits, and the answer for every combination of flags.

import type { ReputationFlag } from "@inkling/contract";
import { ascii, asciiText } from "../email/ascii.ts";
import type { OverrideVerdict } from "./compiled.ts";
import { ADDRESS_FLAGS, type OverrideFlag } from "./model.ts";

/**
 * The reputation answers, indexed by the bits of the flags. The first flag has the bit 1, the second has the bit 2, and
 * the third has the bit 4.
 */
export const REPUTATION_ANSWERS: readonly Uint8Array[] = Array.from(
  { length: 2 ** ADDRESS_FLAGS.length },
  (_, bits) =>
    ascii(
      JSON.stringify(Object.fromEntries(ADDRESS_FLAGS.map((flag, i) => [flag, (bits & (1 << i)) !== 0]))),
    ),
);

/** The flags of each of {@link REPUTATION_ANSWERS}. */
export const REPUTATIONS: readonly Readonly<Record<ReputationFlag, boolean>>[] = REPUTATION_ANSWERS.map(
  (answer) => JSON.parse(asciiText(answer)),
);

const FLAG_BITS = new Map<OverrideFlag, number>(ADDRESS_FLAGS.map((flag, i) => [flag, 1 << i]));

/** Returns the bits of these flags, as an index into {@link REPUTATION_ANSWERS}. */
export function bitsOf(flags: Iterable<OverrideFlag>): number {
  let bits = 0;
  for (const flag of flags) bits |= FLAG_BITS.get(flag) ?? 0;
  return bits;
}

const BITS_OF_ANSWER = new WeakMap(REPUTATION_ANSWERS.map((answer, bits) => [answer, bits]));

/**
 * Returns the flag bits of an answer. A segment keeps one byte array for each of its few answers, so each answer is
 * parsed only once.
 */
export function bitsOfAnswer(answer: Uint8Array): number {
  let bits = BITS_OF_ANSWER.get(answer);
  if (bits === undefined) {
    const flags = JSON.parse(asciiText(answer)) as Readonly<Record<string, unknown>>;
    bits = bitsOf(ADDRESS_FLAGS.filter((flag) => flags[flag] === true));
    BITS_OF_ANSWER.set(answer, bits);
  }
  return bits;
}

/** Returns the flag bits after the verdict's forced flags have been applied. */
export function forcedBits(bits: number, verdict: OverrideVerdict): number {
  let result = bits;
  for (const [flag, value] of verdict.flags) {
    const bit = FLAG_BITS.get(flag) ?? 0;
    result = value ? result | bit : result & ~bit;
  }
  return result;
}
