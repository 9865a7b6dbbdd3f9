// recorded-settings.ts: records in the audit trail what changed in the settings since the last start.
//
// The data folder's settings/PORT.json or settings/build.json contains the settings of the last start. Secrets are
// stored as salted SHA-256 hashes, which show only whether they changed. If the data folder is read-only, or is new for
// each start, there are no earlier settings to compare with.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SETTING_NAMES, type SettingName, type Settings, settingRow, tomlKey } from "@inkling/contract";
import { DATA_FOLDER, makeFolder, messageOf, replaceFile } from "@inkling/data";
import type { RunningServer } from "@inkling/server";
import type { HostEntry } from "@inkling/store";
import { StoreError } from "@inkling/store/error";
import { z } from "zod";
import { shown } from "../config/settings.ts";

const OWNER_ONLY = 0o600;
const knownSettings = z.object({
  salt: z.string(),
  settings: z.record(z.string(), z.object({ mark: z.string(), shown: z.unknown() })),
});
type Known = z.output<typeof knownSettings>;
/** A server's port, because several servers may share a data folder. */
type Role = number | "build";

const fileOf = ({ dataDir }: Settings, role: Role) => join(dataDir, DATA_FOLDER.knownSettings(String(role)));

/** Returns the value for an audit entry. For a secret, the entry contains only "set" or "changed". */
function auditValue(name: SettingName, settings: Settings, secret: string): unknown {
  return settingRow(name).secret && settings[name] !== undefined ? secret : shown(name, settings);
}

/** Records what differs from the last start. A failure is logged, and the next start retries. */
export async function recordStart(
  settings: Settings,
  role: Role,
  { log, audited }: Pick<RunningServer, "log" | "audited">,
): Promise<void> {
  const entry = startEntry(settings, role);
  try {
    if (entry === undefined) noteSettings(settings, role, log);
    else await audited(entry, async () => noteSettings(settings, role, log));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.error("audit-not-stored", { action: entry?.action, reason: error.message });
  }
}

/** Records the active settings for the next start. In a read-only data folder, it records nothing. */
function noteSettings(settings: Settings, role: Role, log: Pick<RunningServer["log"], "error">): void {
  const path = fileOf(settings, role);
  const salt = randomBytes(16).toString("hex");
  const rows = SETTING_NAMES.map((name) => {
    const row = { mark: markOf(name, settings, salt), shown: auditValue(name, settings, "set") };
    return [tomlKey(name), row];
  });
  const text = JSON.stringify({ salt, settings: Object.fromEntries(rows) }, null, 2);
  try {
    makeFolder(dirname(path));
    replaceFile(path, [`${text}\n`], { mode: OWNER_ONLY });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["EROFS", "EACCES", "EPERM"].includes(code)) return; // `data-folder-read-only` has already been logged
    log.error("settings-not-noted", { reason: messageOf(error) });
  }
}

/**
 * Returns the audit entry for a start with different settings; undefined if nothing differs, or if there is no record
 * of an earlier start.
 */
function startEntry(settings: Settings, role: Role): HostEntry | undefined {
  const known = readKnown(fileOf(settings, role));
  if (known === undefined) return undefined;
  // A setting that did not exist in the earlier version counts as unchanged.
  const changed = SETTING_NAMES.filter((name) => {
    const row = known.settings[tomlKey(name)];
    return row !== undefined && row.mark !== markOf(name, settings, known.salt);
  });
  if (changed.length === 0) return undefined;
  const before = changed.map((name) => [tomlKey(name), known.settings[tomlKey(name)]!.shown ?? null]);
  const after = changed.map((name) => [tomlKey(name), auditValue(name, settings, "changed")]);
  return {
    author: "start",
    source: "file",
    action: "settings-changed",
    subject: "settings",
    before: Object.fromEntries(before),
    after: Object.fromEntries(after),
  };
}

function readKnown(path: string): Known | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return knownSettings.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined; // the file is damaged, so treat this as the first start and write the file again
  }
}

const markOf = (name: SettingName, settings: Settings, salt: string) =>
  createHash("sha256")
    .update(`${salt}${JSON.stringify(settings[name]) ?? ""}`)
    .digest("hex");
