// command-table.ts: generates docs/commands.md from the tree of commands, and the list in docs/configuration.md from the
// rows of the settings. The list is not a table, because a table of five columns was wider than a screen.

import {
  flagName,
  SETTING_NAMES,
  type SettingName,
  settingRow,
  tomlKey,
  variableName,
} from "@inkling/contract";
import type { Argument, Command, Option } from "commander";
import { makeProgram } from "../../packages/cli/src/program.ts";
import { makeStyle } from "../../packages/cli/src/terminal/terminal.ts";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const program = await makeProgram({
  terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
  env: {},
  cwd: ".",
  version: "",
  stopper: { signal: new AbortController().signal, release: () => {} },
  ending: { exitCode: 0 },
});

/** Is the option `--config`, `--json` or the flag of a setting? The page describes these once for all commands. */
function isShared({ long, description }: Option): boolean {
  const setting = SETTING_NAMES.find((name) => flagName(name) === long);
  // `keys create --rate` has a setting's name, but is not a setting.
  return setting
    ? description.startsWith(settingRow(setting).help)
    : long === "--config" || long === "--json";
}

export function commandTable(): GeneratedSection[] {
  const content = program.commands.map((command) => section(command)).join("\n\n");
  const settings = SETTING_NAMES.map(settingBlock).join("\n\n");
  return [
    { path: "docs/commands.md", section: "commands", content },
    { path: "docs/configuration.md", section: "settings", content: settings },
  ];
}

/**
 * Returns the section of a top-level command: the commands under it, or the command itself, with the flags that are not
 * shared.
 */
function section(command: Command): string {
  const rows = runnable(command, "inkling").map(({ name, inner }) => [
    `\`${[name, ...inner.registeredArguments.map(argument)].join(" ")}\``,
    plain(inner.description()),
    inner.options
      .filter((option) => !option.hidden && !isShared(option))
      .map(({ flags }) => `\`${flags}\``)
      .join(", "),
  ]);
  return `### ${command.name()}\n\n${markdownTable(["command", "purpose", "flags"], rows)}`;
}

/** Returns the commands in a tree that do something themselves. A group only prints its help. */
function runnable(command: Command, above: string): { name: string; inner: Command }[] {
  const name = `${above} ${command.name()}`;
  const inner = command.commands.flatMap((each) => runnable(each, name));
  const isGroup = inner.length > 0 && command.registeredArguments.length === 0;
  return isGroup ? inner : [{ name, inner: command }, ...inner];
}

/** Formats an argument as in a usage line. */
function argument(one: Argument): string {
  const name = `${one.name().toUpperCase()}${one.variadic ? "…" : ""}`;
  return one.required ? name : `[${name}]`;
}

/** Escapes text that Markdown would read as HTML. */
const plain = (text: string) => text.replaceAll("<", "&lt;");

function settingBlock(name: SettingName): string {
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
