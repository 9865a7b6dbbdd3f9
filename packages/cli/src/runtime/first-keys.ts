// first-keys.ts: the two keys that the first run makes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/release-store";
import {
  holdsMadeKeys,
  type KeyMode,
  type KeyState,
  keyState,
  parseNewKey,
  readKeySnapshot,
  type Store,
} from "@inkling/server";
import { cliActor } from "../config/user.ts";

export interface FirstKeys {
  readonly live: string;
  readonly sandbox: string;
}

/**
 * Makes a live and a sandbox key in a store that never had any; undefined when it had, or the data folder knows keys: the
 * store is not the one of before, and keys made in it would end those.
 */
export async function makeFirstKeys(
  store: Pick<Store, "createKey" | "listKeys">,
  dataDir: string,
): Promise<FirstKeys | undefined> {
  if ((await store.listKeys()).length > 0 || knowsKeys(dataDir)) return undefined;
  const make = async (name: string, mode: KeyMode) =>
    (await store.createKey(parseNewKey({ name, mode }, Date.now()), undefined, cliActor("inkling up"))).token;
  return { live: await make("first key", "live"), sandbox: await make("first sandbox key", "test") };
}

/** Has the data folder the copy of a database with keys that were made? */
export function knowsKeys(dataDir: string): boolean {
  try {
    return holdsMadeKeys(readKeySnapshot(readFileSync(join(dataDir, DATA_FOLDER.keys), "utf8")));
  } catch {
    return false; // there is none, or it is damaged: the server reports that
  }
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
