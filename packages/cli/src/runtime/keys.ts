// keys.ts: the two keys and the admin token that the first run creates, and how a key is revoked.
//
// First keys are shown at a terminal. Otherwise what is printed may be a container's log, which others read and which is
// kept: then they are written to a file that only this user can read. A key can also be revoked while the database cannot
// be written: then through the server of the same data folder.
//
// err  what the database throws, if no server can be told either

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { AtomicFile, DATA_FOLDER, messageOf } from "@inkling/release-store";
import {
  type Actor,
  holdsMadeKeys,
  type Key,
  type KeyMode,
  type KeyState,
  keyState,
  parseNewKey,
  RevocationFile,
  readCopies,
  readKeySnapshot,
  type Store,
  StoreError,
} from "@inkling/server";
import { cliActor } from "../config/user.ts";
import { withExistingStore } from "./store.ts";

const OWNER_ONLY = 0o600;

interface FirstKeys {
  readonly live: string;
  readonly sandbox: string;
}

/**
 * Makes a live and a sandbox key in a store that never had any; undefined if it had, or the data folder knows keys: the
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

/** The active keys. */
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

/** @returns the path of the file; undefined if there is nothing to save */
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

export interface RevokedKey {
  readonly key: Key;
  /** stored: in the database; applied: by the running server, which stores it later; noted: no server has taken it. */
  readonly state: "stored" | "applied" | "noted";
  /** Why it is not stored. */
  readonly why: string | undefined;
}

/** A server looks once a second. */
const ANSWER_MS = 5_000;
const POLL_MS = 50;

/** @returns undefined if no such key is known */
export async function revokeKey(
  settings: Settings,
  id: string,
  by: Actor,
  missing: (store: Store) => Promise<never>,
): Promise<RevokedKey> {
  const inCopy = () => readCopies(settings.dataDir).tokens.find(({ key }) => key.id === id)?.key;
  try {
    return await withExistingStore(settings, async (store) => {
      const key = await store.revokeKey(id, by);
      if (key !== undefined) return { key, state: "stored", why: undefined };
      const copied = (await store.readKeyStamp()) === "new" ? inCopy() : undefined;
      if (copied === undefined) return await missing(store);
      return hand(settings, copied, by, "the database, which is empty, does not hold it");
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
    const key = inCopy();
    if (key === undefined) throw error;
    return hand(settings, key, by, error.message, error);
  }
}

/** Hands a revocation to the server of this data folder. @throws `cause` where its file cannot be written */
async function hand(
  { dataDir }: Settings,
  key: Key,
  by: Actor,
  why: string,
  cause?: StoreError,
): Promise<RevokedKey> {
  const file = new RevocationFile(join(dataDir, DATA_FOLDER.revocations));
  const at = Date.now();
  let slot: number;
  try {
    slot = file.add({ id: key.id, at, by }, "requested");
  } catch (error) {
    if (cause === undefined) throw error;
    const hint = `${cause.hint}. No server of this data folder could be told either: ${messageOf(error)}`;
    throw new StoreError(cause.code, cause.message, hint, cause.isReadOnly);
  }
  const revoked: Key = { ...key, revokedAt: at };
  for (const end = performance.now() + ANSWER_MS; performance.now() < end; await Bun.sleep(POLL_MS)) {
    const entry = file.read().find((one) => one.slot === slot && one.id === key.id);
    if (entry === undefined) return { key: revoked, state: "stored", why: undefined };
    if (entry.state === "applied") return { key: revoked, state: "applied", why };
  }
  return { key: revoked, state: "noted", why };
}
