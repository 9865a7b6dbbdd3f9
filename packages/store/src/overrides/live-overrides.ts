// live-overrides.ts: the active overrides, in memory.
//
// If the store is unreachable or unexpectedly empty, the overrides remain active. Cost: the process with the database
// connection reads one row every half second.

import { join } from "node:path";
import type { EventLog } from "@inkling/contract";
import { DATA_FOLDER, EMPTY_HINT, EmptyDatabaseError, Live, SnapshotFile, storeSource } from "@inkling/data";
import { type Override, Overrides } from "@inkling/engine";
import type { EpochMs } from "../keys/key.ts";
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
  /** The database's address, without its password. */
  readonly label: string;
  readStamp(): Promise<string>;
  load(): Promise<LoadedOverrides>;
}

interface LiveOverridesOptions {
  readonly store: OverrideSource;
  readonly dataDir: string;
  readonly now?: () => EpochMs;
  readonly refreshMs?: number;
  readonly log?: EventLog;
  /** Called when the set of active overrides has changed. */
  readonly onChange?: () => void;
}

export type LiveOverrides = Live<Overrides>;

export function liveOverrides(options: LiveOverridesOptions): LiveOverrides {
  const { store, dataDir, now = Date.now, refreshMs = REFRESH_MS, log, onChange } = options;
  const onFailure = (reason: string) => log?.error("overrides-copy-failed", { reason });
  const snapshot = new SnapshotFile<Overrides>({
    path: join(dataDir, DATA_FOLDER.overrides),
    now,
    onFailure,
    parse: (text) => compiled(readSnapshot(text, onFailure)),
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
      const age = from === "source" ? {} : { age_seconds: Math.round(ageMs / 1000) };
      const source = from === "source" ? "database" : "data folder";
      log?.info("overrides-loaded", { overrides: all.length, from: source, ...age });
      onChange?.();
    },
    onChecked: (error, before) => {
      // The keyring already reports that the database is unreachable.
      if (!(error instanceof EmptyDatabaseError) || before instanceof EmptyDatabaseError) return;
      const { label: database } = store;
      log?.error("database-empty", { database, overrides_in_copy: error.known, hint: EMPTY_HINT });
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
