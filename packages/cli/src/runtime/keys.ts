// keys.ts: creates and shows the two keys and the admin token of the first run.
//
// The first keys are shown only on a terminal. Other output may go to a container's log, which is kept and can be read
// by other people. In that case the keys are written to a file that only this user can read.

import { join } from "node:path";
import { DATA_FOLDER, replaceFile } from "@inkling/data";
import { type KeyMode, type KeyState, keyState, parseNewKey, type Store } from "@inkling/store";
import { cliAuthor } from "../config/environment.ts";
import { knowsKeys } from "./store.ts";

const OWNER_ONLY = 0o600;

interface FirstKeys {
  readonly live: string;
  readonly sandbox: string;
}

/**
 * Creates a live key and a sandbox key in a store that has never had keys. Returns undefined if the store had keys or
 * the data folder has copies of keys. In the second case, the store has replaced an earlier one, and creating new keys
 * in it would invalidate the earlier keys.
 */
export async function makeFirstKeys(
  store: Pick<Store, "createKey" | "listKeys">,
  dataDir: string,
): Promise<FirstKeys | undefined> {
  if ((await store.listKeys()).length > 0 || knowsKeys(dataDir)) return undefined;
  const make = async (name: string, mode: KeyMode) =>
    (await store.createKey(parseNewKey({ name, mode }, Date.now()), undefined, cliAuthor("inkling up")))
      .token;
  return { live: await make("first key", "live"), sandbox: await make("first sandbox key", "test") };
}

/** Counts the active keys. */
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
  /** The keys that the first run has just created. */
  readonly created: FirstKeys | undefined;
  readonly live: number;
  readonly sandbox: number;
  /** The admin API's root token, if the first run has just created it. */
  readonly adminToken: string | undefined;
}

/** Formats the lines that show the new keys. */
export function secretLines({ created, adminToken }: Pick<KeysOf, "created" | "adminToken">): string[] {
  return [
    ...(created === undefined ? [] : [`  live     ${created.live}`, `  sandbox  ${created.sandbox}`]),
    ...(adminToken === undefined ? [] : [`  admin    ${adminToken}`]),
  ];
}

/** @returns the file's path, or undefined if there is nothing to save */
export function saveSecrets(keys: KeysOf, dataDir: string): string | undefined {
  const lines = secretLines(keys);
  if (lines.length === 0) return undefined;
  const path = join(dataDir, DATA_FOLDER.firstKeys);
  const head = "Created by the first run of `inkling up`. Store these elsewhere, then delete this file.";
  replaceFile(path, [`${[head, ...lines].join("\n")}\n`], { mode: OWNER_ONLY });
  return path;
}
