// adopt-key.ts: creates the key that the operator chose (INKLING_API_KEY) at startup, if it does not exist.

import { StoreError } from "./error.ts";
import { type Key, KeyInputError, NAME_FROM_SETTINGS, SCOPES } from "./keys/key.ts";
import { hashToken, isWellFormedToken, tokenMode } from "./keys/token.ts";
import type { Store } from "./store.ts";

/**
 * Makes sure that `token` is a valid key. Several processes may do this at the same time.
 * @throws KeyInputError if the token is malformed or was revoked, because a restart does not restore a revoked key
 */
export async function adoptKey(store: Store, token: string): Promise<Key> {
  if (!isWellFormedToken(token)) {
    throw new KeyInputError([
      "the chosen key is malformed or its checksum is wrong; create a valid key with `inkling keys create`",
    ]);
  }
  const hash = hashToken(token);
  const existing = (await store.findKeyByHash(hash)) ?? (await create(store, token));
  if (existing.revokedAt !== undefined) {
    throw new KeyInputError([`the chosen key (${existing.hint}) was revoked; choose a different key`]);
  }
  return existing;
}

async function create(store: Store, token: string): Promise<Key> {
  try {
    const wanted = { name: NAME_FROM_SETTINGS, mode: tokenMode(token), scopes: SCOPES, networks: [] };
    return (await store.createKey(wanted, token, { author: "INKLING_API_KEY", source: "file" })).key;
  } catch (error) {
    // Another process may have created the key first.
    const other =
      error instanceof StoreError && error.code === "CONFLICT"
        ? await store.findKeyByHash(hashToken(token))
        : undefined;
    if (other === undefined) throw error;
    return other;
  }
}
