// tokens.ts: keys that no store has made.

import { type KeyMode, newKeyToken } from "../../packages/server/src/keys/token.ts";

export const randomBytes = (n: number): Uint8Array => crypto.getRandomValues(new Uint8Array(n));

/** Well formed, checksum included, and unlike any other. */
export const freshToken = (mode: KeyMode = "live"): string => newKeyToken(mode, randomBytes);
