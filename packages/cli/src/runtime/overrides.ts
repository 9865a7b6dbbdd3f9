// overrides.ts: the overrides in force, for look-ups without a server.
//
// in   the settings
// out  those of the database; where it cannot be read those of the data folder's copy, with a remark for people
// err  none thrown: a look-up without overrides is better than none, and says so

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Overrides } from "@inkling/engine";
import { openStore, overridesOf, readSnapshot, SNAPSHOT_FILE } from "@inkling/server";
import type { Settings } from "../config/settings.ts";
import { databaseFile } from "./keys.ts";

/** A look-up should not wait long for a database that is away. */
const TIMEOUT_MS = 2_000;

export interface OverridesNow {
  readonly overrides: Overrides;
  /** What is to be said about them. */
  readonly remark: string | undefined;
}

export async function overridesNow(settings: Settings): Promise<OverridesNow> {
  const { databaseUrl, dataDir } = settings;
  // Looking must not make a database.
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return { overrides: Overrides.NONE, remark: undefined };
  try {
    const store = await openStore(databaseUrl, { timeoutMs: TIMEOUT_MS });
    try {
      return { overrides: overridesOf((await store.overrides.load()).overrides), remark: undefined };
    } finally {
      await store.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const overrides = copyOf(dataDir);
    const instead =
      overrides === undefined ? "answered without overrides" : `overrides are those of ${SNAPSHOT_FILE}`;
    return { overrides: overrides ?? Overrides.NONE, remark: `${reason}; ${instead}` };
  }
}

function copyOf(dataDir: string): Overrides | undefined {
  try {
    return overridesOf(readSnapshot(readFileSync(join(dataDir, SNAPSHOT_FILE), "utf8")).overrides);
  } catch {
    return undefined; // there is none, or it is damaged: the remark says that there are no overrides
  }
}
