// command.ts: how a command runs: its settings are read, and what it returns is printed.

import type { SettingName, Settings } from "@inkling/contract";
import type { Command } from "commander";
import type { LoadedSettings } from "../config/settings.ts";
import type { ExitCode } from "../terminal/errors.ts";
import { type Context, settingsFor, withSettings } from "./context.ts";

// biome-ignore lint/suspicious/noExplicitAny: commander's values, whose types follow from a command's options
export type Flags = Record<string, any>;

export interface Call extends LoadedSettings {
  readonly flags: Flags;
  /** Reads the settings again. @throws SettingsError */
  readonly read: () => LoadedSettings;
}

export interface Result {
  /** Printed with --json. */
  readonly json: unknown;
  /** Printed without. */
  readonly text: string | (() => string);
  readonly exitCode?: ExitCode;
}

export function printResult({ terminal, ending }: Context, flags: Flags, result: Result): void {
  const { json, text } = result;
  if (flags.json) terminal.out(JSON.stringify(json, null, 2));
  else terminal.out(typeof text === "string" ? text : text());
  if (result.exitCode !== undefined) ending.exitCode = result.exitCode;
}

/** Gives a command the flags of its settings, and its action. @param run returns nothing where it prints itself @param defaults its own */
export function addAction<Args extends (string | undefined)[]>(
  command: Command,
  context: Context,
  names: readonly SettingName[],
  // biome-ignore lint/suspicious/noConfusingVoidType: a run that prints itself ends without a return
  run: (call: Call, ...args: Args) => Result | void | Promise<Result | void>,
  defaults?: Partial<Settings>,
): void {
  withSettings(command, names).action(async (...given: unknown[]) => {
    const flags = given.at(-2) as Flags; // commander gives the arguments, the flags and the command
    const read = () => settingsFor(context, flags, names, defaults);
    const result = await run({ ...read(), flags, read }, ...(given.slice(0, -2) as Args));
    if (result) printResult(context, flags, result);
  });
}
