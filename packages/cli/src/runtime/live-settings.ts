// live-settings.ts: the settings of a running server or builder. On SIGHUP, the process reads them again.
//
// in   flags and variables as of startup; credentials and inkling.toml as they are now
// out  an audit entry; log events: settings-reloaded with the settings that changed and those that need a restart;
//      settings-refused; settings-not-noted and audit-not-stored if a record cannot be written
// err  none: if one setting is wrong, or a file that had content is missing or empty, all settings remain unchanged
//
// The data folder's settings/PORT.json or settings/build.json contains the settings of the last start. A start with
// different settings therefore adds an audit entry, as a reload does. Secrets are stored as salted SHA-256 hashes,
// which show only whether they changed. If the data folder is read-only, or is new for each start, there are no earlier
// settings to compare with.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SETTING_NAMES, type SettingName, type Settings, settingRow, tomlKey } from "@inkling/contract";
import { DATA_FOLDER, Live, makeFolder, messageOf, replaceFile } from "@inkling/release-store";
import type { RunningServer } from "@inkling/server";
import type { HostEntry } from "@inkling/store";
import { StoreError } from "@inkling/store/error";
import { z } from "zod";
import { type LoadedSettings, shown } from "../config/settings.ts";
import { SettingsError } from "../terminal/errors.ts";
import type { Stopper } from "../terminal/stop.ts";

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

const entryOf = (actor: string, before: object, after: object): HostEntry => ({
  actor,
  way: "file",
  action: "settings-changed",
  subject: "settings",
  before,
  after,
});

/** Returns the audit entry for settings that a running server applies. */
function settingsEntry(
  actor: string,
  names: readonly SettingName[],
  before: Settings,
  after: Settings,
): HostEntry {
  const values = (settings: Settings, secret: string) =>
    Object.fromEntries(names.map((name) => [tomlKey(name), auditValue(name, settings, secret)]));
  return entryOf(actor, values(before, "set"), values(after, "changed"));
}

/**
 * Records what differs from the last start or reload. A failure is logged, and the next start retries.
 */
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
  return entryOf("start", Object.fromEntries(before), Object.fromEntries(after));
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

const isReloadable = (name: SettingName) => settingRow(name).reloadable === true;

export class LiveSettings {
  /** The active settings. */
  current: Settings;
  /** Which process uses these settings. */
  readonly role: Role;
  private readonly read: () => LoadedSettings;
  /** The files that had content when the current settings were read. */
  private filled: LoadedSettings["filled"];

  constructor(
    { settings, filled }: Pick<LoadedSettings, "settings" | "filled">,
    read: () => LoadedSettings,
    role: Role = settings.port,
  ) {
    this.current = settings;
    this.filled = filled;
    this.role = role;
    this.read = read;
  }

  /** @param apply called with the settings that are active from now on */
  reloadOnHangUp(
    stopper: Stopper,
    { log, audited }: Pick<RunningServer, "log" | "audited">,
    apply: (settings: Settings) => Promise<void> = async () => {},
  ): void {
    const live = new Live<LoadedSettings | undefined>({
      initial: undefined,
      source: { load: () => ({ version: "", value: this.readWhole() }) },
      apply: async (loaded) => {
        if (loaded !== undefined) await this.take(loaded, { log, audited }, apply);
      },
      onChecked: (error) => {
        if (error === undefined) return;
        if (!(error instanceof SettingsError || error instanceof StoreError)) throw error;
        const problems = error instanceof SettingsError ? error.problems : [error.message];
        log.error("settings-refused", { problems, effect: "no setting changes" });
      },
    });
    stopper.onHangUp(() => void live.refresh());
  }

  private async take(
    loaded: LoadedSettings,
    { log, audited }: Pick<RunningServer, "log" | "audited">,
    apply: (settings: Settings) => Promise<void>,
  ): Promise<void> {
    if (loaded.settings.feed.length > 0) (await import("./feeds.ts")).checkOwnFeeds(loaded);
    const wanted = loaded.settings;
    const differing = SETTING_NAMES.filter((name) => !Bun.deepEquals(wanted[name], this.current[name]));
    const changed = differing.filter(isReloadable);
    const taken = Object.fromEntries(changed.map((name) => [name, wanted[name]]));
    const next = { ...this.current, ...taken };
    const take = async () => {
      this.current = next;
      this.filled = loaded.filled;
      await apply(next);
      if (changed.length > 0) noteSettings(next, this.role, log);
    };
    if (changed.length === 0) await take();
    else await audited(settingsEntry("SIGHUP", changed, this.current, next), take);
    log.info("settings-reloaded", {
      changed: changed.map(tomlKey),
      need_restart: differing.filter((name) => !isReloadable(name)).map(tomlKey),
    });
  }

  /**
   * Reads the settings and refuses a file that became empty or disappeared. An editor that truncates a file before
   * writing leaves the file empty for a moment. That does not mean that the operator chose defaults.
   * @throws SettingsError
   */
  private readWhole(): LoadedSettings {
    const loaded = this.read();
    const emptied = [...this.filled].filter((path) => !loaded.filled.has(path));
    if (emptied.length === 0) return loaded;
    throw new SettingsError(
      emptied.map(
        (path) =>
          `${path} is ${existsSync(path) ? "empty" : "gone"}, but it had settings when it was last read: restore it and send SIGHUP again, or restart to run without it`,
      ),
    );
  }
}
