// flags.ts: the bits of a reputation verdict.

import type { Flag } from "../catalog/claims.ts";

export const IS_ABUSER = 1;
export const IS_PROXY = 2;
export const IS_TOR_EXIT = 4;
export const ALL_FLAGS = IS_ABUSER | IS_PROXY | IS_TOR_EXIT;

export const FLAG_BITS: Readonly<Record<Flag, number>> = {
  is_abuser: IS_ABUSER,
  is_proxy: IS_PROXY,
  is_tor_exit: IS_TOR_EXIT,
};

/** In the order of the answer. */
export const FLAGS = Object.keys(FLAG_BITS) as readonly Flag[];

/** The flags whose bits are set. */
export function flagsOf(bits: number): Flag[] {
  return FLAGS.filter((flag) => (bits & FLAG_BITS[flag]) !== 0);
}
