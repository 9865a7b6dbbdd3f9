// keys.ts: implements `inkling keys create | list | update | trace | revoke | rotate`.

import type { Settings } from "@inkling/contract";
import {
  type IssuedKey,
  type Key,
  KeyInputError,
  keyJson,
  parseKeyChange,
  parseNewKey,
  SCOPES,
  type Store,
  StoreError,
} from "@inkling/store";
import type { Command } from "commander";
import { cliAuthor } from "../config/user.ts";
import { addAction, type Context, type Flags, type Result } from "../runtime/command.ts";
import { expiryOf, overlapOf } from "../runtime/durations.ts";
import { revokeHere } from "../runtime/keys.ts";
import { warnOfNewDatabase, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { formatCount } from "../terminal/terminal.ts";
import { addKeyList } from "./key-list.ts";

const SETTINGS = ["dataDir"] as const;
const SHOWN_ONCE = "It is shown only once: Inkling keeps only its hash.";
const IN_FORCE = "A running server accepts it within a second, and returns 401 until then.";

export function addKeys(program: Command, context: Context): void {
  const keys = program.command("keys").description("create, list, update, trace, rotate and revoke API keys");
  addCreate(keys, context);
  addKeyList(keys, context);
  addUpdate(keys, context);
  addTrace(keys, context);
  addRevoke(keys, context);
  addRotate(keys, context);
}

const collect = (value: string, before: string[] = []) => [...before, ...value.split(",").filter(Boolean)];

function addCreate(keys: Command, context: Context): void {
  const command = keys
    .command("create")
    .description("create a key; standard output has only its token")
    .option("--name <text>", "what the key is for", "unnamed")
    .option("--sandbox", "a sandbox key (ink_test_…): fixed answers, see docs/sandbox.md")
    .option("--scopes <list>", `what it may do: ${SCOPES.join(", ")} (default: all)`, collect)
    .option("--networks <list>", "networks that its callers must come from (default: any)", collect)
    .option("--rate <number>", "lookups per second; 0 = no limit (default: the server's)")
    .option("--burst <number>", "burst size in lookups (default: twice the rate, or the server's)")
    .option("--quota <number>", "lookups per UTC day (default: no limit)")
    .option("--expires <time>", "when it expires: 90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  inkling keys create --name checkout
  inkling keys create --name signup --scopes email --networks 10.0.0.0/8 --expires 90d
  KEY=$(inkling keys create --sandbox --name tests)`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const wanted = parseKey(flags);
    const isFirst = warnOfNewDatabase(settings, context.terminal);
    const issued = await withStore(settings, (store) => store.createKey(wanted, undefined, cliAuthor()));
    const remark = `Created ${describe(issued.key)}. ${SHOWN_ONCE}${isFirst ? "" : ` ${IN_FORCE}`}`;
    return issuedResult(context, flags, issued, remark);
  });
}

function parseKey(flags: Flags) {
  const now = Date.now();
  return checkedInput("Cannot create this key:", "keys create", flags, () =>
    parseNewKey(
      {
        name: flags.name,
        mode: flags.sandbox ? "test" : "live",
        scopes: flags.scopes,
        networks: flags.networks,
        rate: numberOf(flags.rate),
        burst: numberOf(flags.burst),
        quota: numberOf(flags.quota),
        expires_at: expiryOf(flags.expires, now),
      },
      now,
    ),
  );
}

/**
 * Returns the result of `parse`, and explains its errors in terms of flags.
 * @param flags the flags as they were given
 * @param argument the member that is an argument of the command; all others are flags
 * @throws CliError with every problem, by flag
 */
export function checkedInput<T>(
  title: string,
  command: string,
  flags: Flags,
  parse: () => T,
  argument?: string,
): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof KeyInputError)) throw error;
    const problems = error.problems.map((problem) => {
      const plain = problem
        .replaceAll("`", "")
        .replace("must be a date such as", "must be a duration such as 90d, a date such as");
      if (argument !== undefined && problem.startsWith(`${argument}:`)) return `  ${plain}`;
      const named = plain.replace(/^expires_at/, "expires").replace(/^traced_until/, "for");
      const given = /[`"]/.test(problem) ? undefined : flags[/^\w+/.exec(named)?.[0] ?? ""];
      const shown = given === undefined ? "" : ` ${JSON.stringify(String(given).slice(0, 60))}`;
      return `  --${named.replace(":", `${shown}:`)}`;
    });
    throw new CliError(
      [title, ...problems].join("\n"),
      `\`inkling ${command} --help\` shows examples`,
      EXIT.usage,
    );
  }
}

/** Leaves text that is not a number as text, so that the schema refuses it. */
const numberOf = (value: unknown) =>
  typeof value === "string" && /^[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : value;

/**
 * The flags that change a key. For each flag: the member in the admin API, the word that removes the setting, and the
 * value that is sent for this word.
 */
const CHANGES: Readonly<Record<string, readonly [member: string, word?: string, removed?: unknown]>> = {
  name: ["name"],
  scopes: ["scopes", "all", SCOPES],
  networks: ["networks", "any", []],
  rate: ["rate", "default", null],
  burst: ["burst", "default", null],
  quota: ["quota", "none", null],
  expires: ["expires_at", "never", null],
};

function addUpdate(keys: Command, context: Context): void {
  const command = keys
    .command("update <id>")
    .description("change a key's name, scopes, networks, limits or expiry; its token remains the same")
    .option("--name <text>", "what the key is for")
    .option("--scopes <list>", `what it may do: ${SCOPES.join(", ")}, or all`, collect)
    .option("--networks <list>", "networks that its callers must come from, or any", collect)
    .option("--rate <number>", "lookups per second; 0 = no limit; default = the server's")
    .option("--burst <number>", "burst size in lookups; default = twice the rate, or the server's")
    .option("--quota <number>", "lookups per UTC day, or none")
    .option("--expires <time>", "when it expires: 90d, 2027-01-31 or 2027-01-31T12:00:00Z, or never")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Settings that you do not name do not change.

Examples:
  inkling keys update key_3fK9mB2xQ7vR1tYz --rate 50 --burst 100
  inkling keys update key_3fK9mB2xQ7vR1tYz --name signup --scopes email --networks 10.0.0.0/8,192.0.2.7/32
  inkling keys update key_3fK9mB2xQ7vR1tYz --expires never --quota none`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const now = Date.now();
    const given = Object.keys(CHANGES).filter((flag) => flags[flag] !== undefined);
    if (given.length === 0) {
      const all = Object.keys(CHANGES).map((flag) => `--${flag}`);
      throw new CliError("nothing to update", `name at least one of ${all.join(", ")}`, EXIT.usage);
    }
    const body = Object.fromEntries(given.map((flag) => changeOf(flag, flags[flag], now)));
    const change = checkedInput("Cannot change the key:", "keys update", flags, () =>
      parseKeyChange(body, now),
    );
    const key = await changed(settings, id, (store) => store.changeKey(id, change, cliAuthor()));
    return {
      json: keyJson(key, now),
      text: `Updated ${describe(key)}. A running server applies it within a second.${burstNote(key, flags)}`,
    };
  });
}

/** Returns a note that the burst size does not change, if it is above the default of twice the new rate. */
function burstNote({ rate, burst }: Key, flags: Flags): string {
  if (flags.rate === undefined || flags.burst !== undefined) return "";
  if (!rate || burst === undefined || burst <= 2 * rate) return "";
  return `\nIts burst size is still ${formatCount(burst)}; \`--burst default\` makes it twice the rate.`;
}

/** Converts a flag to a member of the admin API's request body. */
function changeOf(flag: string, value: unknown, now: number): readonly [member: string, value: unknown] {
  const [member, word, removed] = CHANGES[flag]!;
  if (word !== undefined && String(value) === word) return [member, removed];
  if (flag === "expires") return [member, expiryOf(value, now)];
  return [member, flag === "name" ? value : numberOf(value)];
}

function addTrace(keys: Command, context: Context): void {
  const command = keys
    .command("trace <id>")
    .description("log the networks that use a key, to investigate a leak")
    .option("--for <duration>", "how long, such as 30m or 24h, at most 7d (default: 24h)")
    .option("--off", "stop tracing now")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Once a minute, each worker logs a "key-traced" line for each network: the /24 of an IPv4 address or the /48 of an IPv6
address, never the address itself. Tracing ends automatically, and the audit trail records who started it.

Examples:
  inkling keys trace key_3fK9mB2xQ7vR1tYz
  inkling keys trace key_3fK9mB2xQ7vR1tYz --for 2h
  inkling keys trace key_3fK9mB2xQ7vR1tYz --off`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    if (flags.off && flags.for !== undefined)
      throw new CliError("--off and --for cannot be combined", "use only one of them", EXIT.usage);
    const now = Date.now();
    const until = flags.off ? null : expiryOf(flags.for ?? "24h", now);
    const change = checkedInput("Cannot trace the key:", "keys trace", flags, () =>
      parseKeyChange({ traced_until: until }, now),
    );
    const key = await changed(settings, id, (store) => store.changeKey(id, change, cliAuthor()));
    const text =
      key.tracedUntil === undefined
        ? `No longer traced: ${describe(key)}.`
        : `Traced until ${new Date(key.tracedUntil).toISOString()}: ${describe(key)}. Within a second, each server starts logging "key-traced" with the network.`;
    return { json: keyJson(key, now), text };
  });
}

function addRevoke(keys: Command, context: Context): void {
  const command = keys
    .command("revoke <id>")
    .description("permanently revoke a key on every server within a second")
    .option(
      "--here",
      "while the database is unreachable: make only the servers on this data folder refuse it",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
With --here, the command writes the key into the file "revoked" in the data folder, and does not use the database.
Repeat it on each host. When the database is reachable again, revoke the key without --here.

Examples:
  inkling keys revoke key_3fK9mB2xQ7vR1tYz
  inkling keys revoke key_3fK9mB2xQ7vR1tYz --here`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    if (flags.here) return revokedHere(settings, id);
    const at = Date.now();
    const revoke = async (store: Store) =>
      (await store.revokeKey(id, cliAuthor(), at)) ?? noSuchKey(store, id);
    const key = await withExistingStore(settings, revoke).catch((error: unknown) => suggestHere(error, id));
    const isNew = key.revokedAt === at;
    const time = new Date(key.revokedAt ?? at).toISOString();
    return {
      json: keyJson(key, Date.now()),
      text: isNew ? `Revoked ${describe(key)}.` : `Already revoked at ${time}: ${describe(key)}.`,
    };
  });
}

function revokedHere(settings: Settings, id: string): Result {
  const key = revokeHere(settings, id);
  const name = key === undefined ? `the key ${id}, which this host has no copy of` : describe(key);
  return {
    json: { id, revoked_here: true },
    text: `Servers on ${settings.dataDir} refuse ${name}, within a second. Other hosts accept it until you repeat this command there. When the database is reachable again, run \`inkling keys revoke ${id}\`.`,
  };
}

/** @throws the error; if the database is unreachable, its hint also says how to revoke the key on this host */
function suggestHere(error: unknown, id: string): never {
  if (!(error instanceof StoreError) || error.code !== "UNREACHABLE") throw error;
  const hint = `${error.hint}. Until then, \`inkling keys revoke ${id} --here\` makes this host refuse the key; repeat it on each host`;
  throw new StoreError(error.code, error.message, hint, error.isReadOnly);
}

function addRotate(keys: Command, context: Context): void {
  const command = keys
    .command("rotate <id>")
    .description("give a key a new token; the old token remains valid for a while")
    .option("--overlap <duration>", "how long the old token remains valid: 0s, 30m, 24h, 7d", "24h")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  inkling keys rotate key_3fK9mB2xQ7vR1tYz
  inkling keys rotate key_3fK9mB2xQ7vR1tYz --overlap 0s      the token leaked: it expires now`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const overlap = overlapOf(flags);
    const until = Date.now() + overlap;
    const issued = await changed(settings, id, (store) => store.rotateKey(id, until, cliAuthor()));
    const end = `The old token expires ${overlap === 0 ? "now" : `at ${new Date(until).toISOString()}`}.`;
    return issuedResult(
      context,
      flags,
      issued,
      `New token for ${describe(issued.key)}. ${SHOWN_ONCE} ${IN_FORCE} ${end}`,
    );
  });
}

/** Prints only the token to standard output, so that a shell can assign it. `--json` adds the key's members. */
function issuedResult(
  { terminal }: Context,
  flags: Flags,
  { key, token }: IssuedKey,
  remark: string,
): Result {
  if (!flags.json) terminal.err(`${remark}\n`);
  return { json: { ...keyJson(key, Date.now()), token }, text: token };
}

/**
 * Returns what `change` returns.
 * @throws CliError if there is no such key
 */
function changed<T>(
  settings: Settings,
  id: string,
  change: (store: Store) => Promise<T | undefined>,
): Promise<T> {
  return withExistingStore(settings, async (store) => (await change(store)) ?? (await noSuchKey(store, id)));
}

/** @throws CliError always. If the id is the name of a key, the message lists the ids, because names are not unique. */
async function noSuchKey(store: Store, id: string): Promise<never> {
  const named = (await store.listKeys()).filter(
    ({ name, revokedAt }) => name === id && revokedAt === undefined,
  );
  throw new CliError(
    `there is no active key ${id}`,
    named.length > 0
      ? `use the id: ${named.map((key) => `${key.id} is named ${id}`).join(", ")}`
      : "`inkling keys list` shows all key ids",
  );
}

const describe = (key: Key) => `${key.mode === "test" ? "sandbox" : "live"} key ${key.id} "${key.name}"`;
