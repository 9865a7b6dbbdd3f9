// commands.ts: causes the mistakes in settings and commands, each on a command line.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SETTING_NAMES, variableName } from "@inkling/contract";
import type { Command } from "commander";
import { runHere } from "../../packages/cli/src/program.testing.ts";
import { commandTree } from "../harness/command-tree.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

export interface Mistake {
  readonly line: string;
  readonly code: number;
  readonly text: string;
}

const folder = temporaryFolder();

/**
 * Runs `config` with each setting set to a value that is valid only for paths, then with a list that has two mistakes.
 */
export async function settingMistakes(): Promise<Mistake[]> {
  const mistakes: Mistake[] = [];
  for (const name of SETTING_NAMES) {
    const variable = variableName(name);
    const { err, code } = await runHere(["config"], { env: { [variable]: "?!" }, cwd: folder });
    if (err !== "") mistakes.push({ line: `${variable}='?!' inkling config`, code, text: plain(err) });
  }
  const env = { INKLING_TRUSTED_PROXIES: "10.0.0.0/8,10.0.0.1/8,x" };
  const { err, code } = await runHere(["config"], { env, cwd: folder });
  mistakes.push({
    line: `INKLING_TRUSTED_PROXIES='${env.INKLING_TRUSTED_PROXIES}' inkling config`,
    code,
    text: plain(err),
  });
  return mistakes;
}

/** Commands that would serve, build, read standard input, or report about this machine. */
const LONG = [
  "up",
  "serve",
  "build",
  "data update",
  "hosts",
  "feeds export-mirror",
  "health",
  "doctor",
  "grep",
];

const TABLE = [
  "",
  "lokup",
  "8.8.8.8",
  "8.8.8.8.8",
  "8.8.8.8/33",
  "AS60729",
  "mailinator.com x",
  "8.8.8.8 --field contry",
  "up --prot 1",
  "up --port 0 --rate no",
  "up --config nowhere.toml",
  "up --data-dir a-file",
  "data update --mirror nowhere",
  "keys create --rate x --scopes mail --networks 10.0.0.1/8 --expires soon",
  "overrides add 10.0.0.1/8 --flag is_proxy=true --note x",
  "overrides add 8.8.8.8 --flag is_prxy=true --note x",
  "overrides add 8.8.8.8 --flag is_proxy=true",
  "health --port 1",
  "restore used.backup",
] as const;

/**
 * Runs each command with an unknown flag, without its arguments, and with ids that do not exist. Then runs the lines of
 * the table.
 */
export async function commandMistakes(): Promise<Mistake[]> {
  writeFileSync(join(folder, "a-file"), "");
  const lines = leaves(await commandTree("0.0.0")).flatMap(([path, values]) => [
    `${path} --nonsense`,
    ...(LONG.includes(path) ? [] : [path, ...(values === "" ? [] : [`${path} ${values}`])]),
  ]);
  const mistakes: Mistake[] = [];
  for (const line of [...lines, ...TABLE]) {
    // Each command has its own folder, so that none finds what another has created.
    const cwd = join(folder, `run-${mistakes.length}-${line.length}`);
    if (!existsSync(cwd)) mkdirSync(cwd);
    if (line.includes("a-file")) writeFileSync(join(cwd, "a-file"), "");
    if (line.startsWith("restore used")) await makeUsed(cwd);
    const { err, code } = await runHere(line.split(" ").filter(Boolean), {
      env: { INKLING_OFFLINE: "1" },
      cwd,
    });
    if (code !== 0) mistakes.push({ line: `inkling ${line}`.trim(), code, text: plain(err, cwd) });
  }
  return mistakes;
}

async function makeUsed(cwd: string): Promise<void> {
  for (const line of ["keys create --name x", "backup used.backup"]) {
    const { code, err } = await runHere(line.split(" "), { cwd });
    if (code !== 0) throw new Error(err);
  }
}

/** Commands without subcommands, each with a text for every required argument. */
function leaves(command: Command, path = ""): [path: string, values: string][] {
  if (command.commands.length > 0)
    return command.commands.flatMap((inner) => leaves(inner, `${path} ${inner.name()}`.trim()));
  const needed = command.registeredArguments.filter(({ required }) => required);
  return [[path, needed.map(() => "x").join(" ")]];
}

/** Returns the text without parts that differ from run to run. */
function plain(text: string, cwd = folder): string {
  return text
    .replaceAll(cwd, "DIR")
    .replaceAll(folder, "DIR")
    .replace(/\bthis is user \d+/g, "this is user N")
    .trimEnd();
}
