// command-table.ts: generates docs/commands.md from the tree of commands.

import { flagName, SETTING_NAMES, settingRow } from "@inkling/contract";
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
  return [{ path: "docs/commands.md", section: "commands", content }];
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
