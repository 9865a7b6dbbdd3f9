// settings-table.ts: generates the list in docs/configuration.md from the rows of the settings. It is not a table,
// because a table of five columns was wider than a screen.

import {
  flagName,
  SETTING_NAMES,
  type SettingName,
  settingRow,
  tomlKey,
  variableName,
} from "@inkling/contract";
import type { GeneratedSection } from "./generated.ts";

export const settingsTable = (): GeneratedSection[] => [
  {
    path: "docs/configuration.md",
    section: "settings",
    content: SETTING_NAMES.map(block).join("\n\n"),
  },
];

function block(name: SettingName): string {
  const { secret, fileOnly, named, help, docs = sentence(help) } = settingRow(name);
  const title = fileOnly ? tomlKey(name) : `${variableName(name)}${named ? "_NAME" : ""}`;
  const places = [
    ...(secret || fileOnly ? [] : [`flag \`${flagName(name)}\``]),
    `in the file \`${fileLine(name)}\``,
    ...(secret && !named ? [`or in \`credentials/${tomlKey(name)}\``] : []),
    `default: ${defaultText(name)}`,
  ];
  return `### \`${title}\`\n\n${docs}\n\n${sentence(places.join(", "))}`;
}

/** Returns a setting as a line of inkling.toml: with its default, or with a value of the same type. */
function fileLine(name: SettingName): string {
  const { default: standard, named, type } = settingRow(name);
  const key = tomlKey(name);
  if (type === "feeds") return `[[${key}]]`;
  if (named) return `[${key}]`;
  if (typeof standard === "boolean") return `${key} = true`;
  if (Array.isArray(standard)) return `${key} = ["…"]`;
  if (typeof type === "object" && "min" in type) return `${key} = ${standard ?? type.min}`;
  return `${key} = ${JSON.stringify(standard ?? "…")}`;
}

function defaultText(name: SettingName): string {
  const { default: standard, unset } = settingRow(name);
  if (unset !== undefined) return unset;
  const text = typeof standard === "boolean" ? String(Number(standard)) : String(standard ?? "");
  return text === "" ? "none" : `\`${text}\``;
}

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
