// first-keys.ts: the two keys and the admin token that the first run creates.
//
// They are shown at a terminal. Otherwise what is printed may be a container's log, which others read and which is kept:
// then they are written to a file that only this user can read.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AtomicFile, DATA_FOLDER } from "@inkling/release-store";
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

const OWNER_ONLY = 0o600;

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

/** The lines that show them. */
export function secretLines({ made, adminToken }: Pick<KeysOf, "made" | "adminToken">): string[] {
  return [
    ...(made === undefined ? [] : [`  live     ${made.live}`, `  sandbox  ${made.sandbox}`]),
    ...(adminToken === undefined ? [] : [`  admin    ${adminToken}`]),
  ];
}

/** @returns the path of the file; undefined where there is nothing to save */
export function saveSecrets(keys: KeysOf, dataDir: string): string | undefined {
  const lines = secretLines(keys);
  if (lines.length === 0) return undefined;
  const path = join(dataDir, DATA_FOLDER.firstKeys);
  const file = new AtomicFile(path, OWNER_ONLY);
  const head = "Created by the first run of `inkling up`. Store these elsewhere, then delete this file.";
  file.write(`${[head, ...lines].join("\n")}\n`);
  file.commit();
  return path;
}
