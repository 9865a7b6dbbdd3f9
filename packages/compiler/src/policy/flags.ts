// flags.ts: the bits of a reputation verdict. The engine's REPUTATION_ANSWERS have the same order.

import { recordOf } from "@inkling/contract";
import { ADDRESS_FLAGS, bitsOf } from "@inkling/engine";
import type { Flag } from "../catalog/claims.ts";

export const IS_ABUSER = bitsOf(["is_abuser"]);
export const IS_PROXY = bitsOf(["is_proxy"]);
export const IS_TOR_EXIT = bitsOf(["is_tor_exit"]);
export const ALL_FLAGS = bitsOf(ADDRESS_FLAGS);

export const FLAG_BITS: Readonly<Record<Flag, number>> = recordOf(ADDRESS_FLAGS, (flag) => bitsOf([flag]));

/** Returns the flags whose bits are set, in the order of the answer. */
export function flagsOf(bits: number): Flag[] {
  return ADDRESS_FLAGS.filter((flag) => (bits & FLAG_BITS[flag]) !== 0);
}
