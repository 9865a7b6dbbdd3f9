// adopt-copies.ts: after a database was lost, fills the new one with keys and overrides that exist only in the data
// folder's copies.
//
// in   keys.json and overrides.json, or copies of them that were moved aside (keys.before.json)
// out  keys with their ids and token hashes, overrides with their ids; an audit entry for each
// err  Error for a file that is not a copy; StoreError. Rows that were written remain, and the next run writes the rest
// note Existing rows do not change, including those of revoked keys and removed overrides.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Override } from "@inkling/engine";
import { DATA_FOLDER, isEmptyStamp } from "@inkling/release-store";
import { readRemembered } from "./history.ts";
import type { Actor } from "./keys/actor.ts";
import type { KeyId } from "./keys/key.ts";
import type { TokenRecord } from "./keys/keyring.ts";
import { RevocationFile } from "./keys/revocation-file.ts";
import { madeKeyIds, readKeySnapshot } from "./keys/snapshot.ts";
import { readSnapshot } from "./overrides/file.ts";
import type { Store } from "./store.ts";

export interface Copies {
  readonly tokens: readonly TokenRecord[];
  readonly overrides: readonly Override[];
}

/**
 * Reads the data folder's copies, without keys that were revoked on this host.
 * @throws Error for a file that is not a copy
 */
export function readCopies(dataDir: string): Copies {
  const files = [DATA_FOLDER.keys, DATA_FOLDER.overrides].map((name) => join(dataDir, name));
  return withoutRevoked(dataDir, files.filter(existsSync).map(readCopy));
}

/**
 * Does the same as {@link readCopies} with other files: copies that were moved aside.
 * @throws Error for a file that is not a copy
 */
export function readCopyFiles(dataDir: string, files: readonly string[]): Copies {
  return withoutRevoked(dataDir, files.map(readCopy));
}

function readCopy(path: string): Copies {
  const text = readFileSync(path, "utf8");
  try {
    return text.includes("inkling-override-snapshot")
      ? { tokens: [], overrides: readSnapshot(text).overrides }
      : { tokens: readKeySnapshot(text).tokens, overrides: [] };
  } catch (error) {
    throw new Error(`${path} is not a copy of keys or overrides`, { cause: error });
  }
}

function withoutRevoked(dataDir: string, copies: readonly Copies[]): Copies {
  const history = readRemembered(join(dataDir, DATA_FOLDER.databaseHistory));
  const pending = new RevocationFile(join(dataDir, DATA_FOLDER.revocations)).read();
  const revoked = new Set<KeyId>([...(history?.revoked ?? []), ...pending].map(({ id }) => id));
  return {
    tokens: copies.flatMap(({ tokens }) => tokens).filter(({ key }) => !revoked.has(key.id)),
    overrides: copies.flatMap(({ overrides }) => overrides),
  };
}

/**
 * Returns the keys and overrides that servers with this data folder have only from the copies, because the database is
 * empty.
 */
export async function onlyInCopies(store: Store, dataDir: string): Promise<Copies> {
  const [keyStamp, overrideStamp] = await Promise.all([store.readKeyStamp(), store.overrides.readStamp()]);
  const { tokens, overrides } = readCopies(dataDir);
  return {
    tokens: isEmptyStamp(keyStamp) ? tokens : [],
    overrides: isEmptyStamp(overrideStamp) ? overrides : [],
  };
}

/** A copy with keys or overrides that the database lacks. */
export interface Leftovers {
  readonly file: string;
  readonly keys: readonly KeyId[];
  readonly overrides: readonly string[];
}

const ASIDE = /^(keys|overrides)\.before(-\d+)?\.json$/;

/**
 * Finds what only files have that were moved aside. Leaves out keys that were revoked on this host, keys from settings,
 * and keys and overrides that have expired.
 * @param current names of current copies to check too, because no server may have moved them yet
 */
export async function findLeftovers(
  store: Store,
  dataDir: string,
  current: readonly string[],
): Promise<Leftovers[]> {
  const names = existsSync(dataDir) ? readdirSync(dataDir).sort() : [];
  const files = names.filter((name) => ASIDE.test(name) || current.includes(name));
  if (files.length === 0) return [];
  const keys = new Set((await store.listKeys()).map(({ id }) => id));
  const overrides = await store.overrides.readIds();
  return files
    .map((name) => leftoversIn(join(dataDir, name), dataDir, keys, overrides))
    .filter((found) => found.keys.length + found.overrides.length > 0);
}

function leftoversIn(
  file: string,
  dataDir: string,
  keys: ReadonlySet<KeyId>,
  overrides: ReadonlySet<string>,
): Leftovers {
  let copies: Copies = { tokens: [], overrides: [] };
  try {
    copies = readCopyFiles(dataDir, [file]);
  } catch {} // nothing can be adopted from a damaged file
  const now = Date.now();
  const tokens = copies.tokens.filter(({ key }) => (key.expiresAt ?? Infinity) > now);
  const made = new Set(madeKeyIds({ stamp: "", tokens }));
  return {
    file,
    keys: [...made].filter((id) => !keys.has(id)),
    overrides: copies.overrides
      .filter(({ id, expiresAt = Infinity }) => expiresAt > now && !overrides.has(id))
      .map(({ id }) => id),
  };
}

/** @returns how many keys and overrides were written */
export async function adoptCopies(
  store: Store,
  { tokens, overrides }: Copies,
  by: Actor,
): Promise<{ readonly keys: number; readonly overrides: number }> {
  const wasEmpty = isEmptyStamp(await store.readKeyStamp());
  // The history of an empty database starts here, so the operator has nothing left to confirm. The confirmation comes
  // first, because servers also read the database between the steps, and without it would report that it went back.
  if (wasEmpty) {
    const entry = { ...by, action: "database-confirmed", subject: "database" } as const;
    await store.overrides.record({ ...entry, before: undefined, after: undefined });
  }
  const adopted = overrides.length === 0 ? [] : await store.overrides.adopt(overrides, by);
  const keys = tokens.length === 0 ? [] : await store.adoptKeys(tokens, by);
  // Without keys to adopt, only this call changes the stamp that tells servers that the database is no longer empty.
  if (wasEmpty && tokens.length === 0) await store.confirmHistory(by);
  return { keys: keys.length, overrides: adopted.length };
}
