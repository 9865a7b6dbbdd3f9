// first-keys.ts: the two keys that the first run makes.

import { type KeyMode, type KeyState, keyState, parseNewKey, type Store } from "@inkling/server";

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
  const states = (await store.listKeys()).map((key) => keyState(key, now));
  const count = (wanted: KeyState) => states.filter((state) => state === wanted).length;
  return { live: count("live"), sandbox: count("sandbox") };
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
