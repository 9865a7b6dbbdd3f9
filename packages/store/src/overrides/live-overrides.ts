// live-overrides.ts: the active overrides, in memory.
//
// If the store is unreachable or unexpectedly empty, the overrides remain active; a copy that cannot be read or written
// causes an event. Cost: the process with the database connection reads one row every half second.

import { join } from "node:path";
import { DATA_FOLDER, EmptyDatabaseError, Live, SnapshotFile, storeSource } from "@inkling/data";
import { type Override, Overrides } from "@inkling/engine";
import { readSnapshot, snapshotText } from "./file.ts";
import { overridesOf } from "./record.ts";

/** A change applies within a second. Half of that second is the wait, and the rest allows for reading. */
const REFRESH_MS = 500;

export interface LoadedOverrides {
  /** Changes whenever any override changes. */
  readonly stamp: string;
  /** Overrides that were not removed. Some may have expired. */
  readonly overrides: readonly Override[];
}

interface OverrideSource {
  readStamp(): Promise<string>;
  load(): Promise<LoadedOverrides>;
}

export type OverrideEvent =
  /** The set of active overrides has changed. */
  | {
      readonly type: "loaded";
      readonly overrides: number;
      readonly from: "database" | "data folder";
      /** Age of the data folder's copy in seconds. */
      readonly age_seconds?: number;
    }
  /**
   * The database has never contained an override, but this server has some. They remain active, and the copy is kept.
   */
  | { readonly type: "database-empty"; readonly overrides_in_copy: number }
  /** The copy cannot be read or written. */
  | { readonly type: "copy-failed"; readonly reason: string };

interface LiveOverridesOptions {
  readonly store: OverrideSource;
  readonly dataDir: string;
  /** Epoch ms. */
  readonly now?: () => number;
  readonly refreshMs?: number;
  readonly onEvent?: (event: OverrideEvent) => void;
}

export type LiveOverrides = Live<Overrides>;

export function liveOverrides(options: LiveOverridesOptions): LiveOverrides {
  const { store, dataDir, now = Date.now, refreshMs = REFRESH_MS, onEvent } = options;
  const snapshot = new SnapshotFile<Overrides>({
    path: join(dataDir, DATA_FOLDER.overrides),
    now,
    onFailure: (reason) => onEvent?.({ type: "copy-failed", reason }),
    parse: (text) => compiled(readSnapshot(text, (reason) => onEvent?.({ type: "copy-failed", reason }))),
    print: ({ version, value }) => snapshotText({ stamp: version, overrides: value.all }),
  });
  return new Live({
    initial: Overrides.NONE,
    source: storeSource({
      readStamp: () => store.readStamp(),
      load: async () => compiled(await store.load()),
      countLost: ({ all }) => all.filter(({ expiresAt = Infinity }) => expiresAt > now()).length,
      what: "an override",
    }),
    onApplied: ({ all }, { before, from, isOtherOrigin, ageMs }) => {
      if (!isOtherOrigin && Bun.deepEquals(all, before.all)) return;
      const loaded = { type: "loaded", overrides: all.length } as const;
      if (from === "source") onEvent?.({ ...loaded, from: "database" });
      else onEvent?.({ ...loaded, from: "data folder", age_seconds: Math.round(ageMs / 1000) });
    },
    onChecked: (error, before) => {
      // The keyring already reports that the database is unreachable.
      if (error instanceof EmptyDatabaseError && !(before instanceof EmptyDatabaseError)) {
        onEvent?.({ type: "database-empty", overrides_in_copy: error.known });
      }
    },
    pollMs: refreshMs,
    snapshot,
    now,
  });
}

const compiled = ({ stamp, overrides }: LoadedOverrides) => ({
  version: stamp,
  value: overridesOf(overrides),
});
