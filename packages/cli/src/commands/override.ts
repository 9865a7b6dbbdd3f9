// override.ts: `inkling override add | list | remove | export | import | audit` manages the operator's own verdicts.
//
// The command writes directly to the database, as `inkling keys` does. No server needs to run, and running
// servers apply the change within a second. The admin API does the same over HTTP (docs/overrides.md).

import { isInForce, OVERRIDE_FLAGS, type Override } from "@inkling/engine";
import {
  describeOverride,
  MAX_PAGE,
  overrideJson,
  overrideTarget,
  parseNewOverride,
  type Store,
} from "@inkling/store";
import { type Command, Option } from "commander";
import { cliAuthor } from "../config/user.ts";
import { addAction, type Context, type Flags } from "../runtime/command.ts";
import { expiryOf } from "../runtime/durations.ts";
import {
  AUTHOR,
  authorOf,
  checked,
  contextOf,
  FLAGS,
  flagAndVerdict,
  put,
  requireNote,
} from "../runtime/put-overrides.ts";
import { warnOfNewDatabase, withExistingStore } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";
import { table } from "../terminal/terminal.ts";
import { shortValue } from "./audit.ts";
import { addExport, addImport } from "./override-files.ts";

const SETTINGS = ["dataDir"] as const;

export function addOverride(program: Command, context: Context): void {
  const overrides = program
    .command("override")
    .description("override the verdict on an address, network, domain or email address");
  addAdd(overrides, context);
  addList(overrides, context);
  addRemove(overrides, context);
  addExport(overrides, context);
  addImport(overrides, context);
}

function addAdd(overrides: Command, context: Context): void {
  const command = overrides
    .command("add <value>")
    .description("add an override, which sets a flag regardless of the feeds")
    .option("--flag <flag=verdict>", `${FLAGS}, =true or =false`)
    .option("--note <text>", "why (required); at most 500 characters")
    .option("--expires <time>", "when it expires: 30d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
    .option(...AUTHOR)
    .option("--force", "accept a network wider than /16 (IPv6: /32), or a public suffix such as co.uk")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
VALUE is an address, a network, a domain (including its subdomains), or an email address, which is stored only as a
SHA-256 hash. The most specific override wins: the longest prefix, or the email address before its domain. Servers apply
it within a second. Adding it again changes its note and expiry. See docs/overrides.md.

Examples:
  inkling override add 81.2.69.142 --flag is_tor_exit=false --note "our office" --expires 30d
  inkling override add 81.2.69.0/24 --flag is_abuser=true --note "ticket 4711"
  inkling override add example-shop.com --flag disposable=false --note "a customer"
  inkling override add someone@gmail.com --flag disposable=true --note "ticket 4712"`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, value: string) => {
    requireNote(flags.note);
    const read = () => {
      const about = contextOf(flags.author);
      return parseNewOverride(inputOf(value, flags, about.now), about);
    };
    const wanted = checked("Cannot create this override", read, flags.expires);
    warnOfNewDatabase(settings, context.terminal);
    const [write] = await put(settings, [wanted]);
    const { override, outcome } = write!; // one result for each override
    return {
      json: { ...overrideJson(override), outcome },
      text: `${OUTCOMES[outcome]} ${override.id}: ${describeOverride(override)}, ${endOf(override)}.`,
    };
  });
}

const OUTCOMES = { added: "Added", changed: "Changed", unchanged: "There already:" } as const;

const endOf = ({ expiresAt }: Override) =>
  expiresAt === undefined ? "for good" : `until ${new Date(expiresAt).toISOString()}`;

/** Returns the flags as input for the admin API. */
function inputOf(value: string, flags: Flags, now: number): Record<string, unknown> {
  return {
    value,
    ...flagAndVerdict(flags.flag),
    note: flags.note,
    ...(flags.expires === undefined ? {} : { expires_at: expiryOf(flags.expires, now) }),
    ...(flags.force ? { force: true } : {}),
  };
}

function addList(overrides: Command, context: Context): void {
  const command = overrides
    .command("list")
    .description("list active overrides")
    .option("--all", "include removed and expired overrides")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling override list\n  inkling override list --all --json");
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const all = await withExistingStore(settings, (store) => everyOverride(store, flags.all === true));
    if (all.length === 0 && !flags.json) {
      return context.terminal.err("There are no overrides; `inkling override add` creates one.\n");
    }
    return {
      json: all.map(overrideJson),
      text: () => listText(all, Date.now()),
    };
  });
}

function listText(all: readonly Override[], now: number): string {
  const rows = all.map((override) => {
    const { id, flag, verdict, author, note } = override;
    return [id, shortValue(override), `${flag}=${verdict}`, stateOf(override, now), author, note];
  });
  return table([["ID", "VALUE", "EFFECT", "STATE", "AUTHOR", "NOTE"], ...rows]);
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

function stateOf(override: Override, now: number): string {
  if (isInForce(override, now)) return endOf(override);
  return override.removedAt === undefined ? "expired" : "removed";
}

function addRemove(overrides: Command, context: Context): void {
  const command = overrides
    .command("remove <override...>")
    .description("remove overrides on every server within a second")
    .addOption(
      new Option("--flag <flag...>", "for values with several overrides: which to remove").choices(
        OVERRIDE_FLAGS,
      ),
    )
    .option(...AUTHOR)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
OVERRIDE is the id of an override, or its value. If several overrides have that value, --flag must name the flags whose
overrides are removed. If one of the overrides does not exist, none is removed.

Examples:
  inkling override remove ovr_3fK9mB2xQ7vR1tYz
  inkling override remove 81.2.69.142
  xargs inkling override remove --flag is_proxy is_abuser -- < addresses.txt    undo an import`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, given: unknown) => {
    const words = given as readonly string[]; // commander passes `<override...>` as a list
    const by = cliAuthor(authorOf(flags.author));
    const removed = await withExistingStore(settings, async (store) => {
      const all = await everyOverride(store, true);
      const ids = new Set(words.flatMap((word) => idsOf(all, word, flags.flag)));
      const overrides: Override[] = [];
      for (const id of ids) overrides.push((await store.overrides.remove(id, by))!); // idsOf has found each id
      return overrides;
    });
    return {
      json: removed.map(overrideJson),
      text: removed.map((override) => `Removed ${override.id}: ${describeOverride(override)}.`).join("\n"),
    };
  });
}

/**
 * Returns the id of the override with this id, or the ids of the active overrides with this value.
 * @param all all overrides, including removed and expired ones
 * @param flags what commander passes for `--flag <flag...>`: only overrides of these flags count
 * @throws CliError if there is no such override, or if several overrides have the value and there is no `--flag`
 */
function idsOf(all: readonly Override[], idOrValue: string, flags: unknown): string[] {
  const target = overrideTarget(idOrValue);
  const wanted = flags as readonly string[] | undefined;
  const found = all.filter((one) => {
    if (wanted !== undefined && !wanted.includes(one.flag)) return false;
    if (target === undefined) return one.id === idOrValue;
    return one.kind === target.kind && one.value === target.value && isInForce(one, Date.now());
  });
  if (found.length > 1 && wanted === undefined) {
    const ids = found.map((override) => `${override.id} (${override.flag}=${override.verdict})`);
    throw new CliError(
      `${found.length} overrides have the value ${idOrValue}`,
      `name their flags with --flag, or remove one by its id: ${ids.join(", ")}`,
    );
  }
  if (found.length > 0) return found.map(({ id }) => id);
  const which = wanted === undefined ? "" : ` of ${wanted.join(" or ")}`;
  throw new CliError(
    `there is no override ${idOrValue}${which}`,
    "`inkling override list` shows all overrides",
  );
}
