// first-keys.ts: the two keys that the first run makes.

import { type Key, type KeyMode, parseNewKey, type Store } from "@inkling/server";

export interface FirstKeys {
  readonly live: string;
  readonly sandbox: string;
}

/** Makes a live and a sandbox key in a store that never had any; undefined when it had. */
export async function makeFirstKeys(
  store: Pick<Store, "createKey" | "listKeys">,
): Promise<FirstKeys | undefined> {
  if ((await store.listKeys()).length > 0) return undefined;
  const make = async (name: string, mode: KeyMode) =>
    (await store.createKey(parseNewKey({ name, mode }, Date.now()), undefined, "inkling up")).token;
  return { live: await make("first key", "live"), sandbox: await make("first sandbox key", "test") };
}

/** Keys in force. */
export async function countKeys(
  store: Pick<Store, "listKeys">,
  now: number,
): Promise<{ live: number; sandbox: number }> {
  const inForce = (key: Key) =>
    key.revokedAt === undefined && (key.expiresAt === undefined || key.expiresAt > now);
  const keys = (await store.listKeys()).filter(inForce);
  const live = keys.filter((key) => key.mode === "live").length;
  return { live, sandbox: keys.length - live };
}

/** The keys that `inkling up` shows. */
export interface KeysOf {
  /** Those made just now, on the first run. */
  readonly made: FirstKeys | undefined;
  readonly live: number;
  readonly sandbox: number;
  /** The admin API's, made just now, on the first run. */
  readonly adminToken: string | undefined;
}
