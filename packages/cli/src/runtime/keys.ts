// keys.ts: creates the two keys and the admin token of the first run, and revokes keys.
//
// The first keys are shown only on a terminal. Other output may go to a container's log, which is kept and can be read
// by other people. In that case the keys are written to a file that only this user can read. A key can be revoked even
// if the database cannot be written to: the server on the same data folder then revokes it.
//
// err  the database's error, if the revocation cannot be passed to a server either

import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { AtomicFile, DATA_FOLDER, messageOf } from "@inkling/release-store";
import {
  type Actor,
  type Key,
  type KeyMode,
  type KeyState,
  keyState,
  parseNewKey,
  RevocationFile,
  readCopies,
  type Store,
  StoreError,
} from "@inkling/store";
import { cliActor } from "../config/user.ts";
import { knowsKeys, withExistingStore } from "./store.ts";

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
    (await store.createKey(parseNewKey({ name, mode }, Date.now()), undefined, cliActor("inkling up"))).token;
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
  readonly made: FirstKeys | undefined;
  readonly live: number;
  readonly sandbox: number;
  /** The admin API's root token, if the first run has just created it. */
  readonly adminToken: string | undefined;
}

/** Formats the lines that show the new keys. */
export function secretLines({ made, adminToken }: Pick<KeysOf, "made" | "adminToken">): string[] {
  return [
    ...(made === undefined ? [] : [`  live     ${made.live}`, `  sandbox  ${made.sandbox}`]),
    ...(adminToken === undefined ? [] : [`  admin    ${adminToken}`]),
  ];
}

/** @returns the file's path, or undefined if there is nothing to save */
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
  /**
   * stored: in the database; already: in the database before this revocation; applied: by the running server,
   * which stores it later; noted: no server has confirmed it.
   */
  readonly state: "stored" | "already" | "applied" | "noted";
  /** Why the revocation is not stored. */
  readonly why: string | undefined;
}

/**
 * Milliseconds to wait for a server. The server reads the file once a second, but may first wait for the lock that kept
 * this command from the database.
 */
const ANSWER_MS = 15_000;
const POLL_MS = 50;

/** @returns the revoked key, and how far the revocation has progressed */
export async function revokeKey(
  settings: Settings,
  id: string,
  by: Actor,
  missing: (store: Store) => Promise<never>,
): Promise<RevokedKey> {
  const inCopy = () => readCopies(settings.dataDir).tokens.find(({ key }) => key.id === id)?.key;
  try {
    return await withExistingStore(settings, async (store) => {
      const at = Date.now();
      const key = await store.revokeKey(id, by, at);
      if (key !== undefined)
        return { key, state: key.revokedAt === at ? "stored" : "already", why: undefined };
      const copied = (await store.readKeyStamp()) === "new" ? inCopy() : undefined;
      if (copied === undefined) return await missing(store);
      return hand(settings, copied, by, "the database is empty");
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
    const key = inCopy();
    if (key === undefined) throw error;
    return hand(settings, key, by, error.message, error);
  }
}

/**
 * Passes a revocation to the server on this data folder.
 * @throws if the revocation file cannot be written: `cause` with another hint, or the file's error if there is no
 *   `cause`
 */
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
    const hint = `${cause.hint}. The command could not inform this data folder's server either: ${messageOf(error)}`;
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
