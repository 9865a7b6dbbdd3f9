// tokens.ts: keys that no store has created.

import { type KeyMode, newKeyToken } from "../../packages/store/src/keys/token.ts";

export const randomBytes = (n: number): Uint8Array => crypto.getRandomValues(new Uint8Array(n));

/** Returns a well-formed token with a valid checksum, unlike any other. */
export const freshToken = (mode: KeyMode = "live"): string => newKeyToken(mode, randomBytes);
