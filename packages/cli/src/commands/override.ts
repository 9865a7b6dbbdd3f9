// override.ts: `inkling override add | list | remove | export | import | audit`: the operator's own verdicts.
//
// The database is written directly, as `inkling keys` does: no server needs to run, and those that do know within a
// second. The admin API does the same over HTTP (docs/overrides.md).

import { readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { FEEDS } from "@inkling/compiler/feeds";
import { isInForce, type NewOverride, type Override } from "@inkling/engine";
import { openCurrent, replaceFile } from "@inkling/release-store";
import {
  auditJson,
  describeOverride,
  exportFile,
  MAX_PAGE,
  OverrideConflictError,
  type OverrideContext,
  OverrideInputError,
  type OverrideJson,
  overrideJson,
  parseNewOverride,
  parseOverrideFile,
  type Store,
} from "@inkling/server";
import type { Command } from "commander";
import type { Settings } from "../config/settings.ts";
import { userName } from "../config/user.ts";
import { addAction, type Flags } from "../runtime/command.ts";
import type { Context } from "../runtime/context.ts";
import { withExistingStore, withStore } from "../runtime/keys.ts";
import { CliError, EXIT, explainFileError } from "../terminal/errors.ts";
import { formatCount, table, warn } from "../terminal/terminal.ts";
import { expiryOf } from "./keys.ts";

const SETTINGS = ["dataDir"] as const;

export function addOverride(program: Command, context: Context): void {
  const overrides = program
    .command("override")
    .description(
      "your own verdict on an address, network, domain or email address: beats every feed, at once",
    );
  addAdd(overrides, context);
  addList(overrides, context);
  addRemove(overrides, context);
  addExport(overrides, context);
  addImport(overrides, context);
  addAudit(overrides, context);
}

const AUTHOR = ["--author <name>", "who decides this, for the audit trail (default: this user)"] as const;

function addAdd(overrides: Command, context: Context): void {
  const command = overrides
    .command("add <value>")
    .description("force a flag on or off, or mute a feed")
    .option("--flag <flag=verdict>", "is_abuser, is_proxy, is_tor_exit or disposable, =true or =false")
    .option("--mute <feed>", "ignore this feed for the value; `inkling data status` lists feeds")
    .option("--note <text>", "why (required); at most 500 characters")
    .option("--expires <time>", "when it ends: 30d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
    .option(...AUTHOR)
    .option("--force", "also a network wider than /16 (IPv6: /32), or a public suffix such as co.uk")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
VALUE is an address, a network, a domain (with all below it), or an email address, of which only a SHA-256 is kept.
The closest override wins: the longest prefix, the email address before its domain. Servers apply it within a second.
Adding it again changes its note and expiry. docs/overrides.md has more.

Examples:
  inkling override add 81.2.69.142 --flag is_tor_exit=false --note "our office" --expires 30d
  inkling override add 81.2.69.0/24 --flag is_abuser=true --note "ticket 4711"
  inkling override add 81.2.69.0/24 --mute ipsum-3 --note "too eager about this network"
  inkling override add example-shop.com --flag disposable=false --note "a customer"
  inkling override add someone@gmail.com --flag disposable=true --note "ticket 4712"`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, value: string) => {
    if (flags.note === undefined) {
      throw usage(
        "--note is missing: an override is kept with the reason for it",
        'for example --note "our office"',
      );
    }
    const wanted = checked("no override can be made like that", () => {
      const about = contextOf(settings, flags.author);
      return parseNewOverride(inputOf(value, flags, about.now), about);
    });
    const [write] = await put(settings, [wanted]);
    const { override, outcome } = write!; // one for each that is put
    return {
      json: { ...overrideJson(override), outcome },
      text: `${OUTCOMES[outcome]} ${override.id}: ${describeOverride(override)}, ${endOf(override)}.`,
    };
  });
}

const usage = (message: string, hint: string) => new CliError(message, hint, EXIT.usage);

const OUTCOMES = { added: "Added", changed: "Changed", unchanged: "There already:" } as const;

const endOf = ({ expiresAt }: Override) =>
  expiresAt === undefined ? "for good" : `until ${new Date(expiresAt).toISOString()}`;

/** The flags as the admin API's input. */
function inputOf(value: string, flags: Flags, now: number): Record<string, unknown> {
  const [flag, verdict, ...rest] = typeof flags.flag === "string" ? flags.flag.split("=") : [];
  if (flag !== undefined && (rest.length > 0 || (verdict !== "true" && verdict !== "false"))) {
    const given = JSON.stringify(flags.flag.slice(0, 60));
    throw usage(
      `--flag must be a flag, "=" and true or false: it is ${given}`,
      "for example --flag is_tor_exit=false",
    );
  }
  return {
    value,
    ...(flag === undefined ? {} : { flag, verdict: verdict === "true" }),
    ...(flags.mute === undefined ? {} : { mute: flags.mute }),
    note: flags.note,
    ...(flags.expires === undefined ? {} : { expires_at: expiryOf(flags.expires, now) }),
    ...(flags.force ? { force: true } : {}),
  };
}

/** The author, the time, the feeds of the release in use, and all feeds. */
function contextOf(settings: Settings, author: unknown): OverrideContext {
  const feeds = openCurrent(settings.dataDir)?.manifest.feeds;
  return { now: Date.now(), author: authorOf(author), feeds, everyFeed: FEEDS.map(({ id }) => id) };
}

const authorOf = (author: unknown) => (typeof author === "string" && author !== "" ? author : userName());

const FLAG_OF: Readonly<Record<string, string>> = {
  value: "VALUE",
  verdict: "--flag",
  expires_at: "--expires",
  override: "override",
};

/** Runs `read`. @throws CliError for what it refuses, with flags in place of members */
function checked<T>(title: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OverrideInputError)) throw error;
    const lines = error.problems.map((problem) => {
      const [name, ...rest] = problem.split(": ");
      if (rest.length === 0) return `  ${problem}`;
      const what = rest.join(": ");
      return `  ${FLAG_OF[name!] ?? nameOf(name!)}: ${name === "expires_at" ? withDuration(what) : what}`;
    });
    throw usage([`${title}:`, ...lines].join("\n"), hintFor(error));
  }
}

const HINTS = {
  INVALID: "`npx inkling override add --help` shows examples",
  TOO_WIDE: "--force, if this is meant",
  CONTRADICTS: "leave one of the two rows out",
} as const;

const hintFor = ({ code, needsForce }: OverrideInputError) =>
  code === "INVALID" && needsForce
    ? `--force takes what is too wide, if that is meant; ${HINTS.INVALID}`
    : HINTS[code];

/** Only the command line accepts durations; a file and the API have times. */
const withDuration = (problem: string) =>
  problem.replace(/^must be a time /, "must be a duration such as 30d, a time ");

/** Members of a file keep their path: "overrides.3.note". */
const nameOf = (name: string) => (/^[a-z]+$/.test(name) ? `--${name}` : name);

async function put(settings: Settings, wanted: readonly NewOverride[], author?: string) {
  try {
    return await withStore(settings, (store) => store.overrides.put(wanted, author ?? wanted[0]!.author));
  } catch (error) {
    if (!(error instanceof OverrideConflictError)) throw error;
    const [first, ...more] = error.problems;
    throw new CliError([first, ...more.map((problem) => `  ${problem}`)].join("\n"), error.hint);
  }
}

function addList(overrides: Command, context: Context): void {
  const command = overrides
    .command("list")
    .description("the overrides in force")
    .option("--all", "with those that were removed or have expired")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling override list\n  inkling override list --all --json");
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const all = await withExistingStore(settings, (store) => everyOverride(store, flags.all === true));
    if (all.length === 0 && !flags.json) {
      return context.terminal.err("There are no overrides; `npx inkling override add` makes one.\n");
    }
    return { json: all.map(overrideJson), text: () => listText(all, Date.now()) };
  });
}

function listText(all: readonly Override[], now: number): string {
  const rows = all.map((override) => {
    const { id, effect, author, note } = override;
    const shown = effect.type === "flag" ? `${effect.flag}=${effect.verdict}` : `mute ${effect.feed}`;
    return [id, shortValue(override), shown, stateOf(override, now), author, note];
  });
  return table([["ID", "VALUE", "EFFECT", "STATE", "AUTHOR", "NOTE"], ...rows]);
}

const shortEffect = ({ kind, value, flag, verdict, mute }: OverrideJson) =>
  `${shortValue({ kind, value })} ${flag === null ? `mute ${mute}` : `${flag}=${verdict}`}`;

/** The subject of an audit entry: an override, a key by its name, the release in use. */
function aboutText(about: unknown): string {
  if (typeof about !== "object" || about === null) return "";
  if ("value" in about) return shortEffect(about as OverrideJson);
  const { name, current } = about as { readonly name?: unknown; readonly current?: unknown };
  return String(name ?? current ?? "");
}

async function everyOverride(store: Store, ended: boolean): Promise<Override[]> {
  const all: Override[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.overrides.list({ limit: MAX_PAGE, cursor }, ended);
    all.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}

/** A hash has 64 characters: the first 12 identify it. */
const shortValue = ({ kind, value }: Pick<OverrideJson, "kind" | "value">) =>
  kind === "email_hash" ? `email ${value.slice(0, 12)}…` : value;

function stateOf(override: Override, now: number): string {
  if (isInForce(override, now)) return endOf(override);
  return override.removedAt === undefined ? "expired" : "removed";
}

function addRemove(overrides: Command, context: Context): void {
  const command = overrides
    .command("remove <id>")
    .description("end an override, within a second in every server")
    .option(...AUTHOR)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling override remove ovr_3fK9mB2xQ7vR1tYz");
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const actor = authorOf(flags.author);
    const override = await withExistingStore(settings, (store) => store.overrides.remove(id, actor));
    if (override === undefined) {
      const hint = "`npx inkling override list` shows the ids of all overrides";
      throw new CliError(`there is no override ${id}`, hint);
    }
    return { json: overrideJson(override), text: `Removed ${override.id}: ${describeOverride(override)}.` };
  });
}

function addExport(overrides: Command, context: Context): void {
  const command = overrides
    .command("export [file]")
    .description("all overrides in force as one JSON file (default: -, which is standard output)")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling override export overrides.json\n  inkling override export | jq .",
    );
  addAction(command, context, SETTINGS, async ({ settings }, file = "-") => {
    const { overrides } = await withExistingStore(settings, (store) => store.overrides.load());
    const text = JSON.stringify(exportFile(overrides, Date.now()), null, 2);
    if (file === "-") return context.terminal.out(text);
    fileWork(file, () => writeExport(file, `${text}\n`));
    context.terminal.err(`Wrote ${formatCount(overrides.length)} overrides to ${file}.\n`);
  });
}

function addImport(overrides: Command, context: Context): void {
  const command = overrides
    .command("import <file>")
    .description("put the overrides of an exported file in force: all of them, or none")
    .option(...AUTHOR)
    .option("--force", "also networks and domains that are too wide otherwise")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Overrides that are in force already are left alone, so a file can be imported again. Nothing is removed.

Examples:
  inkling override import overrides.json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, file: string) => {
    const input = jsonOf(file);
    const about = contextOf(settings, flags.author);
    const read = checked(`${file} cannot be imported`, () =>
      parseOverrideFile(input, about, flags.force === true),
    );
    const writes = await put(settings, read.overrides, about.author);
    showWarnings(context, read.warnings);
    const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
    const result = {
      added: count("added"),
      changed: count("changed"),
      unchanged: count("unchanged"),
      expired: read.expired,
    };
    const counts = Object.entries(result).map(([outcome, number]) => `${formatCount(number)} ${outcome}`);
    return { json: result, text: `Imported ${file}: ${counts.join(", ")}.` };
  });
}

const MOST_WARNINGS = 20;

/** Mutes without effect here are kept all the same: they apply once the feed is in use. */
function showWarnings({ terminal }: Context, warnings: readonly string[]): void {
  for (const warning of warnings.slice(0, MOST_WARNINGS)) warn(terminal, warning);
  const more = warnings.length - MOST_WARNINGS;
  if (more > 0) warn(terminal, `and ${formatCount(more)} more mutes without effect`);
}

function jsonOf(file: string): unknown {
  const text = fileWork(file, () => readFileSync(file, "utf8"));
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "`npx inkling override export` writes such a file";
    throw usage(`${file} is not JSON: ${(error as Error).message}`, hint);
  }
}

function fileWork<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** By rename, so that a file that is there stays whole until the new one is. */
function writeExport(file: string, text: string): void {
  const known = statSync(file, { throwIfNoEntry: false });
  if (known?.isFile() === false) {
    writeFileSync(file, text); // a pipe or device; a folder is refused
    return;
  }
  const target = known === undefined ? file : realpathSync(file); // a link stays one
  replaceFile(target, [text], { mode: 0o600 });
}

function addAudit(overrides: Command, context: Context): void {
  const command = overrides
    .command("audit")
    .description("who changed what, newest first: overrides, keys, data and the admin token")
    .option("--limit <number>", "how many entries", "50")
    .option("--json", "print JSON, with before and after")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling override audit\n  inkling override audit --limit 1000 --json",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const limit = Number(flags.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw usage(`--limit must be a whole number from 1 to ${MAX_PAGE}`, "for example --limit 100");
    }
    const { items } = await withExistingStore(settings, (store) => store.overrides.audit({ limit }));
    if (items.length === 0 && !flags.json) return context.terminal.err("Nothing was changed yet.\n");
    const rows = items.map(({ at, actor, action, subject, before, after }) => {
      return [new Date(at).toISOString(), actor, action, subject, aboutText(after ?? before)];
    });
    return { json: items.map(auditJson), text: table([["WHEN", "WHO", "WHAT", "ID", "ABOUT"], ...rows]) };
  });
}
