// live-settings.ts: the settings that a running server or builder goes by, and SIGHUP, which has them read again.
//
// in   flags and variables of the start, credentials and inkling.toml as they are now
// out  an entry of the audit trail; log events: settings-reloaded with what has changed, and what does so only with a restart; settings-refused
// err  none: if one setting is wrong, or a file that held something is gone or empty, all settings stay as they are

import { existsSync } from "node:fs";
import { SETTING_NAMES, type SettingName, type Settings, settingRow, tomlKey } from "@inkling/contract";
import { type RunningServer, StoreError } from "@inkling/server";
import type { LoadedSettings } from "../config/settings.ts";
import { SettingsError } from "../terminal/errors.ts";
import type { Stopper } from "../terminal/stop.ts";
import { noteSettings, type Role, settingsEntry } from "./known-settings.ts";

const isReloadable = (name: SettingName) => settingRow(name).reloadable === true;

export class LiveSettings {
  /** In force. */
  current: Settings;
  /** Whose settings they are. */
  readonly role: Role;
  private readonly read: () => LoadedSettings;
  /** The files that held something when the current settings were read. */
  private filled: LoadedSettings["filled"];
  private reloading = Promise.resolve();

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

  /** @param apply called with settings that are in force from now on */
  reloadOnHangUp(
    stopper: Stopper,
    { log, audited }: Pick<RunningServer, "log" | "audited">,
    apply: (settings: Settings) => Promise<void> = async () => {},
  ): void {
    stopper.onHangUp(() => {
      this.reloading = this.reloading.then(() => this.reload({ log, audited }, apply));
    });
  }

  private async reload(
    { log, audited }: Pick<RunningServer, "log" | "audited">,
    apply: (settings: Settings) => Promise<void>,
  ): Promise<void> {
    let loaded: LoadedSettings;
    try {
      loaded = this.read();
      this.refuseEmptied(loaded);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      log.error("settings-refused", { problems: error.problems, effect: "all settings stay as they are" });
      return;
    }
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
    try {
      if (changed.length === 0) await take();
      else await audited(settingsEntry("SIGHUP", changed, this.current, next), take);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.error("settings-refused", { problems: [error.message], effect: "all settings stay as they are" });
      return;
    }
    log.info("settings-reloaded", {
      changed: changed.map(tomlKey),
      need_restart: differing.filter((name) => !isReloadable(name)).map(tomlKey),
    });
  }

  /**
   * An editor that truncates a file before it writes leaves a moment without settings, which is not a choice of defaults.
   * @throws SettingsError
   */
  private refuseEmptied({ filled }: LoadedSettings): void {
    const emptied = [...this.filled].filter((path) => !filled.has(path));
    if (emptied.length === 0) return;
    throw new SettingsError(
      emptied.map(
        (path) =>
          `${path} is ${existsSync(path) ? "empty" : "gone"}, and held settings when it was last read: write it and send SIGHUP again, or restart to run without it`,
      ),
    );
  }
}
