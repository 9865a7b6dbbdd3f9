// config.ts: `inkling config` prints the active settings and where each value comes from.

import { SETTING_NAMES, type SettingName, settingRow, tomlKey } from "@inkling/contract";
import type { Command } from "commander";
import { exampleFile, type LoadedSettings, shown, variableText } from "../config/settings.ts";
import { type Context, printResult, settingsFor, withSettings } from "../runtime/command.ts";
import { table } from "../terminal/terminal.ts";

export function addConfig(program: Command, context: Context): void {
  const command = program
    .command("config")
    .description("print the active settings, and where each comes from")
    .option("--json", "print JSON")
    .option("--example", "print a commented inkling.toml with every setting")
    .addHelpText(
      "after",
      `
Flags override INKLING_* variables, variables override inkling.toml, and inkling.toml overrides defaults.

Examples:
  inkling config
  inkling config --example > example.toml
  INKLING_PORT=9000 inkling config --json`,
    )
    .action((flags) => {
      if (flags.example) return context.terminal.out(exampleFile().trimEnd());
      const loaded = settingsFor(context, flags, SETTING_NAMES);
      printResult(context, flags, { json: configJson(loaded), text: configTable(loaded) });
    });
  withSettings(command, SETTING_NAMES);
}

function configJson(loaded: LoadedSettings) {
  const settings = SETTING_NAMES.map((name) => [
    tomlKey(name),
    { value: shown(name, loaded.settings), from: loaded.origins[name], variable: placeOf(name) },
  ]);
  return { file: loaded.file ?? null, settings: Object.fromEntries(settings) };
}

/** Returns a setting's environment variable, or null if only the file may set it. */
const placeOf = (name: SettingName) => (settingRow(name).fileOnly ? null : variableText(name));

/** Returns a value in the form that an environment variable would have; for a feed, its id. */
function cell(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "-";
  if (Array.isArray(value)) return value.map((each) => each.id ?? each).join();
  return typeof value === "boolean" ? String(Number(value)) : String(value);
}

function configTable(loaded: LoadedSettings): string {
  const rows = SETTING_NAMES.map((name) => {
    const origin = loaded.origins[name];
    return [
      placeOf(name) ?? `${tomlKey(name)} (inkling.toml)`,
      cell(shown(name, loaded.settings)),
      origin === "file" ? (loaded.file ?? origin) : origin,
    ];
  });
  return table([["SETTING", "VALUE", "FROM"], ...rows]);
}
