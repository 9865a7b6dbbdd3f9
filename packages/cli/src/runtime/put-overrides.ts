// put-overrides.ts: handles overrides that a command creates: adds the author and time, explains mistakes, and writes
// the overrides to the database.

import type { Settings } from "@inkling/contract";
import { type NewOverride, OVERRIDE_FLAGS } from "@inkling/engine";
import { OverrideConflictError, type OverrideContext, OverrideInputError } from "@inkling/store";
import { cliAuthor, userName } from "../config/user.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { withStore } from "./store.ts";

export const AUTHOR = ["--author <name>", "author for the audit trail (default: this user)"] as const;

export const usage = (message: string, hint: string) => new CliError(message, hint, EXIT.usage);

export const contextOf = (author: unknown): OverrideContext => ({
  now: Date.now(),
  author: authorOf(author),
});

export const authorOf = (author: unknown) =>
  typeof author === "string" && author !== "" ? author : userName();

/** "is_abuser, … or disposable" */
export const FLAGS = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(OVERRIDE_FLAGS);

/** Reads `--flag`. @throws CliError */
export function flagAndVerdict(given: unknown): { readonly flag: string; readonly verdict: boolean } {
  const example = "for example --flag is_tor_exit=false";
  if (typeof given !== "string") throw usage("--flag is missing: every override sets a flag", example);
  const [flag = "", verdict, ...rest] = given.split("=");
  if (rest.length > 0 || (verdict !== "true" && verdict !== "false")) {
    const shown = JSON.stringify(given.slice(0, 60));
    throw usage(`--flag must be a flag, "=" and true or false: it is ${shown}`, example);
  }
  return { flag, verdict: verdict === "true" };
}

/** @throws CliError if `--note` is missing */
export function requireNote(note: unknown): void {
  if (note === undefined)
    throw usage("--note is missing: every override needs a reason", 'for example --note "our office"');
}

const FLAG_OF: Readonly<Record<string, string>> = {
  value: "VALUE",
  verdict: "--flag",
  expires_at: "--expires",
  override: "override",
  overrides: "overrides",
};

/**
 * Runs `read`, and explains mistakes in terms of flags.
 * @param expires the flag as it was given
 * @throws CliError if `read` refuses the input; the message names flags instead of members
 */
export function checked<T>(title: string, read: () => T, expires?: string): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OverrideInputError)) throw error;
    const lines = error.problems.map((problem) => {
      const [name, ...rest] = problem.split(": ");
      if (rest.length === 0) return `  ${problem}`;
      const what = rest.join(": ").replaceAll("`", "");
      if (name !== "expires_at") return `  ${FLAG_OF[name!] ?? nameOf(name!)}: ${what}`;
      const given = expires === undefined ? "" : ` ${JSON.stringify(expires.slice(0, 60))}`;
      return `  ${FLAG_OF[name]}${given}: ${withDuration(what)}`;
    });
    throw usage([`${title}:`, ...lines].join("\n"), hintFor(error));
  }
}

const HINTS = {
  INVALID: "`inkling override add --help` shows examples",
  TOO_WIDE: "use --force if this is intended",
  CONTRADICTS: "remove one of the two rows",
} as const;

const hintFor = ({ code, needsForce }: OverrideInputError) =>
  code === "INVALID" && needsForce
    ? `--force accepts values that are too wide; ${HINTS.INVALID}`
    : HINTS[code];

/** Only the command line accepts durations. Files and the API accept only times and dates. */
const withDuration = (problem: string) =>
  problem.replace(/^must be a date /, "must be a duration such as 30d, a date ");

/** The members of a file keep their paths, such as "overrides.3.note". */
const nameOf = (name: string) => (/^[a-z]+$/.test(name) ? `--${name}` : name);

export async function put(settings: Settings, wanted: readonly NewOverride[], author?: string) {
  try {
    return await withStore(settings, (store) =>
      store.overrides.put(wanted, cliAuthor(author ?? wanted[0]!.author)),
    );
  } catch (error) {
    if (!(error instanceof OverrideConflictError)) throw error;
    const [first, ...more] = error.problems;
    throw new CliError([first, ...more.map((problem) => `  ${problem}`)].join("\n"), error.hint);
  }
}
