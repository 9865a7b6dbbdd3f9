// answer-data.ts: what a command without a server answers from: the release in use and the overrides in force.
//
// out  overrides of the database; where it cannot be read, those of the data folder's copy, with a warning
// err  those of the release; none of the overrides: a lookup without them is better than none, and there is a warning

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { type LoadedRelease, Overrides } from "@inkling/engine";
import { DATA_FOLDER, messageOf, openServable } from "@inkling/release-store";
import type { Scope } from "@inkling/server";
import { databaseFile } from "../config/settings.ts";

/** A lookup should not wait long for a database that is unreachable. */
const TIMEOUT_MS = 2_000;

export interface AnswerData {
  readonly release: LoadedRelease;
  readonly overrides: Overrides;
  /** Flags without data, for these lookups. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

/** @param withOverrides false where none can apply: the database is not opened then */
export async function openAnswerData(
  settings: Settings,
  lookups: readonly Scope[],
  withOverrides = true,
): Promise<AnswerData> {
  const release = openServable(settings.dataDir);
  const { overrides, warnings } = withOverrides ? await loadOverrides(settings) : NO_OVERRIDES;
  const missing = [...new Set(lookups.flatMap((lookup) => release.states[lookup].missing))];
  return { release, overrides, missing, warnings: [...warnings, ...missing.map(missingText)] };
}

export const missingText = (flag: string) => `${flag} is unknown: no feed with it is loaded`;

type OverridesNow = Pick<AnswerData, "overrides" | "warnings">;
const NO_OVERRIDES: OverridesNow = { overrides: Overrides.NONE, warnings: [] };

async function loadOverrides(settings: Settings): Promise<OverridesNow> {
  const { databaseUrl, dataDir } = settings;
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return NO_OVERRIDES; // opening would make it
  try {
    // Loaded where there is something to read: this takes longer than a lookup.
    const { openStore } = await import("@inkling/server/store");
    const { overridesOf } = await import("@inkling/server/override-records");
    const store = await openStore(databaseUrl, { timeoutMs: TIMEOUT_MS });
    try {
      return { overrides: overridesOf((await store.overrides.load()).overrides), warnings: [] };
    } finally {
      await store.close();
    }
  } catch (error) {
    const reason = messageOf(error);
    const overrides = await copyOf(dataDir);
    return overrides === undefined
      ? { overrides: Overrides.NONE, warnings: [`${reason}; answered without overrides`] }
      : { overrides, warnings: [`${reason}; overrides are those of ${DATA_FOLDER.overrides}`] };
  }
}

async function copyOf(dataDir: string): Promise<Overrides | undefined> {
  try {
    const { readSnapshot } = await import("@inkling/server/overrides-file");
    const { overridesOf } = await import("@inkling/server/override-records");
    return overridesOf(readSnapshot(readFileSync(join(dataDir, DATA_FOLDER.overrides), "utf8")).overrides);
  } catch {
    return undefined; // there is none, or it is damaged
  }
}
