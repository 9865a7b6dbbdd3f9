// live-overrides.ts: the active overrides, in memory.
//
// If the store is unreachable or unexpectedly empty, the overrides remain active. Cost: the process with the database
// connection reads one row every half second.

import { join } from "node:path";
import type { EventLog } from "@inkling/contract";
import { DATA_FOLDER, EMPTY_HINT, EmptyDatabaseError, Live, SnapshotFile, storeSource } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import type { EpochMs } from "./keys/key.ts";
import { readSnapshot, snapshotText } from "./overrides/file.ts";
import { overridesOf } from "./overrides/record.ts";
import type { LoadedOverrides, OverrideStore } from "./overrides.ts";
import type { Store } from "./store.ts";

/** A change applies within a second. Half of that second is the wait, and the rest allows for reading. */
const REFRESH_MS = 500;

interface LiveOverridesOptions {
  readonly store: {
    readonly overrides: Pick<OverrideStore, "readStamp" | "load">;
    readonly database: Pick<Store["database"], "label">;
  };
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
      readStamp: () => store.overrides.readStamp(),
      load: async () => compiled(await store.overrides.load()),
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
      const database = store.database.label;
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
