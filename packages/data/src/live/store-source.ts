// store-source.ts: makes a database table the source of a live value.

import type { LiveSource } from "./live.ts";
import { isEmptyStamp, type Loaded } from "./snapshot-file.ts";

/** What an operator can do about an {@link EmptyDatabaseError}. */
export const EMPTY_HINT =
  "check INKLING_DATABASE_URL, or restore a backup; to start with an empty database, delete keys.json and overrides.json, and restart";

/** The database is empty, but an earlier database was not. The known values remain active. */
export class EmptyDatabaseError extends Error {
  /** Number of known values that are missing from the database. */
  readonly known: number;
  constructor(known: number, what: string) {
    super(`the database never had ${what}, but ${known} are known: check that it is the right database`);
    this.name = "EmptyDatabaseError";
    this.known = known;
  }
}

interface StoreSourceOptions<T> {
  readonly readStamp: () => Promise<string>;
  /** @param active the active value, if it came from this store */
  readonly load: (active: Loaded<T> | undefined, isWhole: boolean) => Promise<Loaded<T>>;
  /** Counts what would be lost if this value were missing from the database. */
  readonly countLost: (value: T) => number;
  /** The name of the counted objects, with an article: "a key". */
  readonly what: string;
  /** Runs in each check, after the stamp is read and before a possible load. If it throws, the check fails. */
  readonly beforeLoad?: () => Promise<void>;
}

export function storeSource<T>(options: StoreSourceOptions<T>): LiveSource<T> {
  const { readStamp, load, countLost, what, beforeLoad } = options;
  const refuseEmpty = (stamp: string, known: () => Loaded<T> | undefined) => {
    if (!isEmptyStamp(stamp)) return;
    const before = known();
    const lost = before === undefined || isEmptyStamp(before.version) ? 0 : countLost(before.value);
    if (lost === 0) return;
    throw new EmptyDatabaseError(lost, what);
  };
  return {
    version: async (known) => {
      const stamp = await readStamp();
      refuseEmpty(stamp, known);
      await beforeLoad?.();
      return stamp;
    },
    load: async (known, active, isWhole) => {
      const loaded = await load(active, isWhole);
      refuseEmpty(loaded.version, known); // the database may have changed since the stamp was read
      return loaded;
    },
  };
}
