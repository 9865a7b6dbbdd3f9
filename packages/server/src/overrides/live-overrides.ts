// live-overrides.ts: the active overrides, in memory.
//
// in   the store, checked twice a second; the data folder's copy, for a start while the store is unreachable or empty
// out  `current`: an immutable snapshot, swapped when anything changed; `state` for metrics, status and logs
// err  none: a store that is unreachable, or empty instead of one that was not, leaves the overrides as they were; a
//      copy that cannot be read or written is an event
// cost one row read each half second and process

import { join } from "node:path";
import { type Override, Overrides } from "@inkling/engine";
import { DATA_FOLDER, EmptyDatabaseError, Live, SnapshotFile, storeSource } from "@inkling/release-store";
import { readSnapshot, snapshotText } from "./file.ts";
import { overridesOf } from "./record.ts";

/** A change counts within a second: half of it is the wait, the rest is for reading. */
const REFRESH_MS = 500;

export interface LoadedOverrides {
  /** Changes whenever any override does. */
  readonly stamp: string;
  /** Those that were not removed; some may have expired. */
  readonly overrides: readonly Override[];
}

interface OverrideSource {
  readStamp(): Promise<string>;
  load(): Promise<LoadedOverrides>;
}

export type OverrideEvent =
  /** Other overrides are active now. */
  | {
      readonly type: "loaded";
      readonly overrides: number;
      readonly from: "database" | "data folder";
      /** Of the data folder's copy. */
      readonly age_seconds?: number;
    }
  /** The database never had an override, and these are known: they remain active, and the copy is kept. */
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
  /** Runs before what the store holds now is applied: has it gone back to an earlier state? */
  readonly review?: () => Promise<void>;
}

export type LiveOverrides = Live<Overrides>;

export function liveOverrides(options: LiveOverridesOptions): LiveOverrides {
  const { store, dataDir, now = Date.now, refreshMs = REFRESH_MS, onEvent, review } = options;
  const snapshot = new SnapshotFile<Overrides>({
    path: join(dataDir, DATA_FOLDER.overrides),
    now,
    onFailure: (reason) => onEvent?.({ type: "copy-failed", reason }),
    parse: (text) => compiled(readSnapshot(text)),
    print: ({ version, value }) => snapshotText({ stamp: version, overrides: value.all }),
    idsOf: ({ all }) => all.map(({ id }) => id),
  });
  return new Live({
    initial: Overrides.NONE,
    source: storeSource({
      readStamp: () => store.readStamp(),
      load: async () => compiled(await store.load()),
      countLost: ({ all }) => all.filter(({ expiresAt = Infinity }) => expiresAt > now()).length,
      what: "an override",
      snapshot,
    }),
    apply: async (_, { from }) => {
      if (from === "source") await review?.();
    },
    onApplied: ({ all }, { before, from, isOtherOrigin, ageMs }) => {
      if (!isOtherOrigin && Bun.deepEquals(all, before.all)) return;
      const loaded = { type: "loaded", overrides: all.length } as const;
      if (from === "source") onEvent?.({ ...loaded, from: "database" });
      else onEvent?.({ ...loaded, from: "data folder", age_seconds: Math.round(ageMs / 1000) });
    },
    onChecked: (error, before) => {
      // That the database is unreachable is reported with the keys.
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
