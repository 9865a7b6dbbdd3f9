// store-source.ts: a table of the database as the source of a live value.
//
// err  EmptyDatabaseError where the table never had anything, and something is known that only it can have

import type { LiveSource } from "./live.ts";
import { isEmptyStamp, type Loaded } from "./loaded.ts";
import type { SnapshotFile } from "./snapshot-file.ts";

/** The database is empty instead of one that was not: what is known remains active. */
export class EmptyDatabaseError extends Error {
  /** How much of what is missing is known. */
  readonly known: number;
  constructor(known: number, what: string) {
    super(`the database never had ${what}, ${known} are known: is it the right one?`);
    this.name = "EmptyDatabaseError";
    this.known = known;
  }
}

interface StoreSourceOptions<T> {
  readonly readStamp: () => Promise<string>;
  readonly load: () => Promise<Loaded<T>>;
  /** How much of a value would be lost without it. */
  readonly countLost: (value: T) => number;
  /** What is counted, with its article: "a key". */
  readonly what: string;
  readonly snapshot: SnapshotFile<T> | undefined;
  /** Runs before a load; what it throws is a failed check. */
  readonly beforeLoad?: () => Promise<void>;
}

export function storeSource<T>(options: StoreSourceOptions<T>): LiveSource<T> {
  const { readStamp, load, countLost, what, snapshot, beforeLoad } = options;
  const refuseEmpty = (stamp: string, known: () => Loaded<T> | undefined) => {
    if (!isEmptyStamp(stamp)) return;
    const before = known();
    const lost = before === undefined || isEmptyStamp(before.version) ? 0 : countLost(before.value);
    if (lost === 0) return;
    snapshot?.keep();
    throw new EmptyDatabaseError(lost, what);
  };
  return {
    version: async (known) => {
      const stamp = await readStamp();
      refuseEmpty(stamp, known);
      await beforeLoad?.();
      return stamp;
    },
    load: async (known) => {
      const loaded = await load();
      refuseEmpty(loaded.version, known); // it may be another database by now
      return loaded;
    },
  };
}
