// context.ts: what a command gets: the settings in force, the terminal, and the signal to stop.

import { flagName, type SettingName, type Settings, settingRow } from "@inkling/contract";
import { type Command, Option } from "commander";
import type { Environment } from "../config/environment.ts";
import { typeOf } from "../config/setting-types.ts";
import { type LoadedSettings, loadSettings } from "../config/settings.ts";
import type { ExitCode } from "../terminal/errors.ts";
import type { Stopper } from "../terminal/stop.ts";
import { type Terminal, warn } from "../terminal/terminal.ts";

export interface Context {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly cwd: string;
  readonly version: string;
  readonly stopper: Stopper;
  /** The exit code, unless an error has another. */
  readonly ending: { exitCode: ExitCode };
}

/** Gives a command the flags of the settings it uses, and --config. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { type, help, default: standard = "", unset, secret } = settingRow(name);
    if (secret) continue;
    const { placeholder } = typeOf(type);
    const value = placeholder === undefined ? "" : ` <${placeholder}>`;
    const option = new Option(`${flagName(name)}${value}`, help);
    // Shown only: a default in commander would hide that the flag was not given.
    const shown = unset ?? (standard === false ? "" : String(standard));
    if (shown !== "") option.description += ` (default: ${shown})`;
    command.addOption(option);
  }
  return command.option("--config <file>", "settings file (default: inkling.toml here, if there is one)");
}

/**
 * Settings for a command that was called with `flags`; only those in `names` may come from there.
 * Warnings are shown at once.
 * @param defaults the command's own
 * @throws SettingsError
 */
export function settingsFor(
  context: Context,
  flags: Record<string, unknown>,
  names: readonly SettingName[],
  defaults?: Partial<Settings>,
): LoadedSettings {
  const taken = Object.fromEntries([...names, "config"].map((name) => [name, flags[name]]));
  const loaded = loadSettings({ flags: taken, env: context.env, cwd: context.cwd, defaults });
  for (const warning of loaded.warnings) {
    warn(context.terminal, warning);
  }
  return loaded;
}
