// flags.ts: the bits of a reputation verdict.

import type { NetworkSubject } from "../claims.ts";

export const IS_ABUSER = 1;
export const IS_PROXY = 2;
export const IS_TOR_EXIT = 4;
export const ALL_FLAGS = IS_ABUSER | IS_PROXY | IS_TOR_EXIT;

/** A subject that is a flag, not a label. */
export type Flag = Exclude<NetworkSubject, "relay">;

export const FLAG_BITS: Readonly<Record<Flag, number>> = {
  is_abuser: IS_ABUSER,
  is_proxy: IS_PROXY,
  is_tor_exit: IS_TOR_EXIT,
};
