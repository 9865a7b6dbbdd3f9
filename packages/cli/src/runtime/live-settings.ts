// live-settings.ts: the settings that a running server or builder goes by, and SIGHUP, which has them read again.
//
// in   flags and variables of the start, credentials and inkling.toml as they are now
// out  an entry of the audit trail; log events: settings-reloaded with what has changed, and what does so only with a restart; settings-refused
// err  none: where one setting is wrong, all stay as they are

import { type RunningServer, StoreError } from "@inkling/server";
import { type SettingName, tomlKey } from "../config/setting-table.ts";
import type { LoadedSettings, Settings } from "../config/settings.ts";
import { SettingsError } from "../terminal/errors.ts";
import type { Stopper } from "../terminal/stop.ts";
import { noteSettings, type Role, settingsEntry } from "./known-settings.ts";

/** What a server or its next build takes over; all others are read at a start. */
const LIVE = [
  "mirror",
  "offline",
  "maxmindAccountId",
  "maxmindLicenseKey",
  "abuseipdbKey",
  "ip2locationToken",
  "ipinfoToken",
  "rate",
  "burst",
  "trustedProxies",
  "maxConnections",
  "dnsServers",
  "dnsExclude",
  "logLevel",
] as const satisfies readonly SettingName[];

export class LiveSettings {
  /** In force. */
  current: Settings;
  /** Whose settings they are. */
  readonly role: Role;
  private readonly read: () => LoadedSettings;
  private reloading = Promise.resolve();

  constructor(settings: Settings, read: () => LoadedSettings, role: Role = settings.port) {
    this.current = settings;
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
    let wanted: Settings;
    try {
      wanted = this.read().settings;
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      log.error("settings-refused", { problems: error.problems, effect: "all settings stay as they are" });
      return;
    }
    const names = Object.keys(wanted) as SettingName[];
    const differing = names.filter((name) => !Bun.deepEquals(wanted[name], this.current[name]));
    const isLive = (name: SettingName) => LIVE.some((live) => live === name);
    const changed = differing.filter(isLive);
    const taken = Object.fromEntries(LIVE.map((name) => [name, wanted[name]]));
    const next = { ...this.current, ...taken };
    const take = async () => {
      this.current = next;
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
      need_restart: differing.filter((name) => !isLive(name)).map(tomlKey),
    });
  }
}
