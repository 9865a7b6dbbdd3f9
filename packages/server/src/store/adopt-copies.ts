// adopt-copies.ts: after a database was lost, fills the new one with keys and overrides that exist only in the data
// folder's copies.
//
// in   keys.json and overrides.json, or copies of them that were moved aside (keys.before.json)
// out  keys with their ids and token hashes, overrides with their ids; an audit entry for each
// err  Error for a file that is not a copy; StoreError. Rows that were written remain, and the next run writes the rest
// note Existing rows do not change, including those of revoked keys and removed overrides.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Override } from "@inkling/engine";
import { DATA_FOLDER, isEmptyStamp } from "@inkling/release-store";
import type { Actor } from "../keys/actor.ts";
import type { KeyId } from "../keys/key.ts";
import type { TokenRecord } from "../keys/keyring.ts";
import { RevocationFile } from "../keys/revocation-file.ts";
import { readKeySnapshot } from "../keys/snapshot.ts";
import { readSnapshot } from "../overrides/file.ts";
import { readRemembered } from "./history.ts";
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

/** @returns how many keys and overrides were written */
export async function adoptCopies(
  store: Store,
  { tokens, overrides }: Copies,
  by: Actor,
): Promise<{ readonly keys: number; readonly overrides: number }> {
  const wasEmpty = isEmptyStamp(await store.readKeyStamp());
  const adopted = overrides.length === 0 ? [] : await store.overrides.adopt(overrides, by);
  const keys = tokens.length === 0 ? [] : await store.adoptKeys(tokens, by);
  // The history of an empty database starts here, so the operator has nothing left to confirm.
  if (wasEmpty) await store.confirmHistory(by);
  return { keys: keys.length, overrides: adopted.length };
}
