// known-settings.ts: the settings that a server or builder went by last, so that a start with others is in the audit
// trail, as a reload is.
//
// in   the settings in force; settings/PORT.json or settings/build.json in the data folder
// out  an entry of the audit trail with what differs; the file as it is now
// note Secrets are in the file as salted SHA-256, to see that they changed. Where the data folder cannot be written, or
//      is new with each start, there is nothing to compare with.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SETTING_NAMES, type SettingName, type Settings, settingRow, tomlKey } from "@inkling/contract";
import { DATA_FOLDER, makeFolder, messageOf, replaceFile } from "@inkling/release-store";
import { type HostEntry, type RunningServer, StoreError } from "@inkling/server";
import { z } from "zod";
import { shown } from "../config/settings.ts";

const OWNER_ONLY = 0o600;
const knownSettings = z.object({
  salt: z.string(),
  settings: z.record(z.string(), z.object({ mark: z.string(), shown: z.unknown() })),
});
type Known = z.output<typeof knownSettings>;
/** The port of a server: several may share a data folder. */
export type Role = number | "build";

const fileOf = ({ dataDir }: Settings, role: Role) => join(dataDir, DATA_FOLDER.knownSettings(String(role)));

/** Of a secret an entry has only that it changed. */
function auditValue(name: SettingName, settings: Settings, secret: string): unknown {
  return settingRow(name).secret && settings[name] !== undefined ? secret : shown(name, settings);
}

const entryOf = (actor: string, before: object, after: object): HostEntry => ({
  actor,
  way: "file",
  action: "settings-changed",
  subject: "settings",
  before,
  after,
});

/** The entry for settings that a running server takes over. */
export function settingsEntry(
  actor: string,
  names: readonly SettingName[],
  before: Settings,
  after: Settings,
): HostEntry {
  const values = (settings: Settings, secret: string) =>
    Object.fromEntries(names.map((name) => [tomlKey(name), auditValue(name, settings, secret)]));
  return entryOf(actor, values(before, "set"), values(after, "changed"));
}

/** Records what differs from the last start or reload. What goes wrong is logged, and tried again by the next start. */
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

/** Notes the settings in force; those of a read-only data folder are not known to the next start. */
export function noteSettings(settings: Settings, role: Role, log: Pick<RunningServer["log"], "error">): void {
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
    if (["EROFS", "EACCES", "EPERM"].includes(code)) return; // `data-folder-read-only` is in the log
    log.error("settings-not-noted", { reason: messageOf(error) });
  }
}

/** Undefined where nothing differs, or nothing is known of an earlier start. */
function startEntry(settings: Settings, role: Role): HostEntry | undefined {
  const known = readKnown(fileOf(settings, role));
  if (known === undefined) return undefined;
  // A setting that the earlier version did not have is none that was changed.
  const changed = SETTING_NAMES.filter((name) => {
    const row = known.settings[tomlKey(name)];
    return row !== undefined && row.mark !== markOf(name, settings, known.salt);
  });
  if (changed.length === 0) return undefined;
  const before = changed.map((name) => [tomlKey(name), known.settings[tomlKey(name)]!.shown ?? null]);
  const after = changed.map((name) => [tomlKey(name), auditValue(name, settings, "changed")]);
  return entryOf("start", Object.fromEntries(before), Object.fromEntries(after));
}

function readKnown(path: string): Known | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return knownSettings.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined; // damaged: as at a first start, and written anew
  }
}

const markOf = (name: SettingName, settings: Settings, salt: string) =>
  createHash("sha256")
    .update(`${salt}${JSON.stringify(settings[name]) ?? ""}`)
    .digest("hex");
