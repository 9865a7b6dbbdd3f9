// config.ts: `inkling config`: the active settings and where each came from.

import { SETTING_NAMES, type SettingName, settingRow, tomlKey } from "@inkling/contract";
import type { Command } from "commander";
import { exampleFile, type LoadedSettings, shown, variableText } from "../config/settings.ts";
import { type Context, printResult, settingsFor, withSettings } from "../runtime/command.ts";
import { table } from "../terminal/terminal.ts";

export function addConfig(program: Command, context: Context): void {
  const command = program
    .command("config")
    .description("print the settings that apply, and where each comes from")
    .option("--json", "print JSON")
    .option("--example", "print a commented inkling.toml with every setting")
    .addHelpText(
      "after",
      `
Flags go before INKLING_* variables, those before inkling.toml, those before defaults.

Examples:
  inkling config
  inkling config --example > inkling.toml
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

/** The variable that a setting may stand in. */
const placeOf = (name: SettingName) => (settingRow(name).fileOnly ? null : variableText(name));

/** As it would stand in a variable; of a feed its id. */
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
