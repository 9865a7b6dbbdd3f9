// settings-table.ts: generates the table in docs/configuration.md from the rows of the settings.

import {
  flagName,
  SETTING_NAMES,
  type SettingName,
  settingRow,
  tomlKey,
  variableName,
} from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const HEAD = ["variable", "flag", "in `inkling.toml`", "default", "meaning"];

export const settingsTable = (): GeneratedSection[] => [
  {
    path: "docs/configuration.md",
    section: "settings",
    content: markdownTable(HEAD, SETTING_NAMES.map(line)),
  },
];

function line(name: SettingName): string[] {
  const { secret, fileOnly, named, help, docs = sentence(help) } = settingRow(name);
  return [
    fileOnly ? "none" : `\`${variableName(name)}${named ? "_NAME" : ""}\``,
    secret || fileOnly ? "none" : `\`${flagName(name)}\``,
    `\`${tomlKey(name)}\``,
    defaultText(name),
    docs,
  ];
}

function defaultText(name: SettingName): string {
  const { default: standard, unset } = settingRow(name);
  if (unset !== undefined) return unset;
  const text = typeof standard === "boolean" ? String(Number(standard)) : String(standard ?? "");
  return text === "" ? "none" : `\`${text}\``;
}

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
