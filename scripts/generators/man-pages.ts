// man-pages.ts: writes a manual page for each command, from the same rows as its --help.
//
// in   the tree of commands, a date
// out  pages by name, such as "inkling" and "inkling-keys-create", in the format of man(7)

import type { Command } from "commander";
import { makeProgram } from "../../packages/cli/src/program.ts";
import { makeStyle } from "../../packages/cli/src/terminal/terminal.ts";

/** Escapes text for roff: backslashes, hyphens, and control characters at the start of a line. */
const roff = (text: string) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1");

const tagged = (term: string, text: string) => `.TP\n.B ${roff(term)}\n${roff(text)}\n`;
const section = (title: string, body: string) => (body === "" ? "" : `.SH ${title}\n${body}`);

/** Creates the tree of commands, which must only be read. */
export const commandTree = (version: string): Promise<Command> =>
  makeProgram({
    terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
    env: {},
    cwd: ".",
    version,
    stopper: { signal: new AbortController().signal, onHangUp: () => {}, release: () => {} },
    ending: { exitCode: 0 },
  });

export function manPages(program: Command, version: string, date: string): Map<string, string> {
  const pages = new Map<string, string>();
  const add = (command: Command, parents: readonly string[]) => {
    const path = [...parents, command.name()];
    pages.set(path.join("-"), manPage(command, path, version, date));
    for (const inner of visible(command)) add(inner, path);
  };
  add(program, []);
  return pages;
}

const visible = (command: Command) =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((inner) => inner.name() !== "help");

function manPage(command: Command, path: readonly string[], version: string, date: string): string {
  const help = command.createHelp();
  const inner = visible(command).map((one) =>
    tagged(`${path.join("-")}-${one.name()}(1)`, one.description()),
  );
  const values = help.visibleArguments(command).map((one) => tagged(one.name(), one.description));
  const flags = help.visibleOptions(command).map((one) => tagged(one.flags, help.optionDescription(one)));
  const more = textAfter(command);
  return [
    `.TH ${path.join("-").toUpperCase()} 1 ${date} "Inkling ${version}" "User Commands"\n`,
    section("NAME", `${roff(path.join("-"))} \\- ${roff(command.description())}\n`),
    section("SYNOPSIS", `.B ${roff(path.join(" "))}\n${roff(command.usage())}\n`),
    section("ARGUMENTS", values.join("")),
    section("COMMANDS", inner.join("")),
    section("OPTIONS", flags.join("")),
    section("NOTES", more === "" ? "" : `.nf\n${roff(more)}\n.fi\n`),
    section(
      "FILES",
      tagged("/etc/inkling/inkling.toml", "Settings of the service and of its commands.") +
        tagged("/etc/inkling/credentials", "Its secrets, a file each.") +
        tagged("/var/lib/inkling", "Its data."),
    ),
    section("SEE ALSO", `${path.length > 1 ? ".BR inkling (1),\n" : ""}.I /usr/share/doc/inkling/docs\n`),
  ].join("");
}

/** Returns the notes and examples that --help prints after the lists. */
function textAfter(command: Command): string {
  let whole = "";
  command.configureOutput({
    writeOut: (text) => {
      whole += text;
    },
  });
  command.outputHelp();
  return whole
    .slice(command.helpInformation().length)
    .replace(/^In a clone .*\n/m, "")
    .trim();
}
