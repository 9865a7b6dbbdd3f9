// command.ts: runs a command with its context and its settings, adds the settings' flags, asks for a confirmation, and
// prints the result.

import { flagName, type SettingName, type Settings, settingRow } from "@inkling/contract";
import { type Command, Option } from "commander";
import type { Environment } from "../config/environment.ts";
import { typeOf } from "../config/setting-types.ts";
import { type LoadedSettings, loadSettings } from "../config/settings.ts";
import { CliError, type ExitCode } from "../terminal/errors.ts";
import type { Stopper } from "../terminal/stop.ts";
import { type Terminal, warn } from "../terminal/terminal.ts";

export interface Context {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly cwd: string;
  readonly version: string;
  readonly stopper: Stopper;
  /** Is standard input a pipe or a file? `inkling` without a value then reads values from it. */
  readonly hasInput?: boolean;
  /** The exit code to use, unless an error has its own. */
  readonly ending: { exitCode: ExitCode };
}

/** Short forms of flags, which are the same in every command. commander itself defines -h and -V. */
const SHORT_FLAGS: Readonly<Record<string, string>> = {
  "--attribution": "-a",
  "--config": "-c",
  "--data-dir": "-d",
  "--evidence": "-e",
  "--field": "-f",
  "--json": "-j",
  "--lookup": "-l",
  "--name": "-n",
  "--out": "-o",
  "--port": "-p",
};

/** Adds the short flags of {@link SHORT_FLAGS} to a command. */
function addShortFlags(command: Command): void {
  for (const option of command.options) {
    const short = option.short === undefined ? SHORT_FLAGS[option.long ?? ""] : undefined;
    if (short === undefined) continue;
    option.short = short;
    option.flags = `${short}, ${option.flags}`;
  }
}

/** Lets an option that takes a list be repeated: `--add a --add b` is `--add a,b`. */
export const joined = (text: string, before?: string): string =>
  before === undefined ? text : `${before},${text}`;

/** Adds the flags for a command's settings, --config, and the short forms of all its flags so far. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { type, help, default: standard = "", unset, secret, fileOnly } = settingRow(name);
    if (secret || fileOnly) continue;
    const { placeholder, isList } = typeOf(type);
    const value = placeholder === undefined ? "" : ` <${placeholder}>`;
    const option = new Option(`${flagName(name)}${value}`, help);
    // The default is only shown in the help. If commander filled in the default, a missing flag would look like a given
    // one.
    const shown = unset ?? (standard === false ? "" : String(standard));
    if (shown !== "") option.description += ` (default: ${shown})`;
    if (isList) option.argParser(joined);
    command.addOption(option);
  }
  command.option(
    "--config <file>",
    "settings file (default: inkling.toml in the current folder, if it exists)",
  );
  addShortFlags(command);
  return command;
}

/**
 * Returns the settings for a command that was called with `flags`. Only the settings in `names` may come from flags.
 * Prints warnings immediately.
 * @param defaults the command's own defaults
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

// biome-ignore lint/suspicious/noExplicitAny: commander's values, whose types follow from a command's options
export type Flags = Record<string, any>;

export interface Call extends LoadedSettings {
  readonly flags: Flags;
}

export interface Result {
  /** The result that is printed with --json. */
  readonly json: unknown;
  /** The text that is printed without --json. */
  readonly text: string | (() => string);
  readonly exitCode?: ExitCode;
}

export function printResult({ terminal, ending }: Context, flags: Flags, result: Result): void {
  const { json, text } = result;
  if (flags.json) terminal.out(JSON.stringify(json, null, 2));
  else terminal.out(typeof text === "string" ? text : text());
  if (result.exitCode !== undefined) ending.exitCode = result.exitCode;
}

/**
 * Sets the action of a command that prints by itself, and adds the flags of its settings.
 * @param defaults the command's own defaults
 */
export function addAction<Args extends (string | undefined)[]>(
  command: Command,
  context: Context,
  names: readonly SettingName[],
  run: (call: Call, ...args: Args) => void | Promise<void>,
  defaults?: Partial<Settings>,
): void {
  withSettings(command, names).action(async (...given: unknown[]) => {
    const flags = given.at(-2) as Flags; // commander passes the arguments, the flags and the command
    const loaded = settingsFor(context, flags, names, defaults);
    if (loaded.settings.feed.length > 0) (await import("./feeds.ts")).checkOwnFeeds(loaded);
    await run({ ...loaded, flags }, ...(given.slice(0, -2) as Args));
  });
}

/** Like {@link addAction}, for a command with --json. @param run returns undefined if there is nothing to print */
export function addResultAction<Args extends (string | undefined)[]>(
  command: Command,
  context: Context,
  names: readonly SettingName[],
  run: (call: Call, ...args: Args) => Result | undefined | Promise<Result | undefined>,
): void {
  command.option("--json", "print JSON");
  addAction<Args>(command, context, names, async (call, ...args) => {
    const result = await run(call, ...args);
    if (result !== undefined) printResult(context, call.flags, result);
  });
}

interface Refusals {
  /** The error without a terminal. */
  readonly unasked: string;
  /** The error if the answer is not yes. */
  readonly declined: string;
  /** How to confirm without a terminal. */
  readonly hint: string;
}

/**
 * Asks before a change that affects visitors or servers, or that needs an agreement.
 * @throws CliError if there is no terminal, or if the answer is not yes
 */
export async function confirm(
  { terminal }: Context,
  question: string,
  { unasked, declined, hint }: Refusals,
): Promise<void> {
  if (terminal.prompt === undefined) throw new CliError(unasked, hint);
  const answer = await terminal.prompt(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(declined, hint);
}
