// keys.ts: `inkling keys create | list | update | trace | revoke | rotate`.

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
} from "@inkling/server";
import type { Command } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context, type Flags, type Result } from "../runtime/command.ts";
import { revokeKey } from "../runtime/keys.ts";
import { warnOfNewDatabase, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { addKeyList } from "./key-list.ts";

const SETTINGS = ["dataDir"] as const;
const SHOWN_ONCE = "It is shown this once: only its hash is kept.";
const IN_FORCE = "A running server accepts it within a second.";

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
    .option("--burst <number>", "lookups at once (default: twice the rate, or the server's)")
    .option("--quota <number>", "lookups per UTC day (default: no limit)")
    .option("--expires <time>", "when it ends: 90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
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
    const issued = await withStore(settings, (store) => store.createKey(wanted, undefined, cliActor()));
    const remark = `Created ${describe(issued.key)}. ${SHOWN_ONCE}${isFirst ? "" : ` ${IN_FORCE}`}`;
    return issuedResult(context, flags, issued, remark);
  });
}

function parseKey(flags: Flags) {
  const now = Date.now();
  return checkedInput("no key can be made like that:", "keys create", () =>
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
 * What `parse` returns.
 * @param argument the member that is an argument of the command; all others are flags
 * @throws CliError with every problem, by flag
 */
export function checkedInput<T>(title: string, command: string, parse: () => T, argument?: string): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof KeyInputError)) throw error;
    const problems = error.problems.map((problem) => {
      if (argument !== undefined && problem.startsWith(`${argument}:`)) return `  ${problem}`;
      const named = problem.replace(/^expires_at/, "expires").replace(/^traced_until/, "for");
      return `  --${named.replace("must be a time such as", "must be 90d or the like, a time such as")}`;
    });
    throw new CliError(
      [title, ...problems].join("\n"),
      `\`npx @inkling/cli ${command} --help\` shows examples`,
      EXIT.usage,
    );
  }
}

/** A duration from now as a time; anything else is left to the schema. */
export function expiryOf(value: unknown, now: number): unknown {
  const duration = typeof value === "string" ? parseDuration(value) : undefined;
  return duration === undefined ? value : new Date(now + duration).toISOString();
}

/** Text that is no number remains text, so that the schema refuses it. */
const numberOf = (value: unknown) =>
  typeof value === "string" && /^[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : value;

/** What can be changed, by flag: the member of the admin API, the word that removes the setting, what it is then. */
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
    .option("--burst <number>", "lookups at once; default = twice the rate, or the server's")
    .option("--quota <number>", "lookups per UTC day, or none")
    .option("--expires <time>", "when it ends: 90d, 2027-01-31 or 2027-01-31T12:00:00Z, or never")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Settings that are not named stay as they are.

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
    const change = checkedInput("the key cannot be changed like that:", "keys update", () =>
      parseKeyChange(body, now),
    );
    const key = await changed(settings, id, (store) => store.changeKey(id, change, cliActor()));
    return {
      json: keyJson(key, now),
      text: `Updated ${describe(key)}. A running server applies it within a second.`,
    };
  });
}

/** A member of the admin API's body. */
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
    .option("--for <duration>", "how long, at most 7d: 30m, 24h (default: 24h)")
    .option("--off", "end it now")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Each worker logs a line "key-traced" for each network in each minute: the /24 of an IPv4 address, the /48 of an IPv6
address, never the address. It ends by itself, and the audit trail says who asked for it.

Examples:
  inkling keys trace key_3fK9mB2xQ7vR1tYz
  inkling keys trace key_3fK9mB2xQ7vR1tYz --for 2h
  inkling keys trace key_3fK9mB2xQ7vR1tYz --off`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    if (flags.off && flags.for !== undefined)
      throw new CliError("--off and --for exclude each other", "give one of them", EXIT.usage);
    const now = Date.now();
    const until = flags.off ? null : expiryOf(flags.for ?? "24h", now);
    const change = checkedInput("the key cannot be traced like that:", "keys trace", () =>
      parseKeyChange({ traced_until: until }, now),
    );
    const key = await changed(settings, id, (store) => store.changeKey(id, change, cliActor()));
    const text =
      key.tracedUntil === undefined
        ? `Not traced any more: ${describe(key)}.`
        : `Traced until ${new Date(key.tracedUntil).toISOString()}: ${describe(key)}. Each server logs "key-traced" with the network, from within a second.`;
    return { json: keyJson(key, now), text };
  });
}

function addRevoke(keys: Command, context: Context): void {
  const command = keys
    .command("revoke <id>")
    .description("revoke a key for good, within a second on every server")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling keys revoke key_3fK9mB2xQ7vR1tYz");
  addAction(command, context, SETTINGS, async ({ settings }, id: string) => {
    const { key, state, why } = await revokeKey(settings, id, cliActor(), (store) => noSuchKey(store, id));
    return {
      json: { ...keyJson(key, Date.now()), stored: state === "stored", applied: state !== "noted" },
      text: `${REVOKED[state](describe(key))}${why === undefined ? "" : ` Reason: ${why}.`}`,
      ...(state === "noted" && { exitCode: EXIT.error }),
    };
  });
}

const REVOKED = {
  stored: (key: string) => `Revoked ${key}; stored.`,
  applied: (key: string) =>
    `Revoked ${key} on the running server; not stored yet. The server stores it, and tells other hosts, once the database can be written. A restart keeps it.`,
  noted: (key: string) =>
    `No running server of this data folder has taken the revocation of ${key}. It is noted there, and applies when one starts.`,
} as const;

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "24h" as milliseconds; undefined if it is no duration. */
export function parseDuration(text: string): number | undefined {
  const parts = /^([0-9]{1,6})(s|m|h|d)$/.exec(text);
  return parts ? Number(parts[1]) * UNITS_MS[parts[2]!]! : undefined;
}

function addRotate(keys: Command, context: Context): void {
  const command = keys
    .command("rotate <id>")
    .description("give a key a new token; the old token remains valid for a while")
    .option("--overlap <duration>", "how long the old text stays valid: 0s, 30m, 24h, 7d", "24h")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  inkling keys rotate key_3fK9mB2xQ7vR1tYz
  inkling keys rotate key_3fK9mB2xQ7vR1tYz --overlap 0s      it leaked: end the old text now`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, id: string) => {
    const overlap = parseDuration(flags.overlap);
    if (overlap === undefined) {
      const problem = `--overlap must be a number and s, m, h or d: it is "${flags.overlap}"`;
      throw new CliError(problem, "for example --overlap 24h", EXIT.usage);
    }
    const until = Date.now() + overlap;
    const issued = await changed(settings, id, (store) => store.rotateKey(id, until, cliActor()));
    const end = `The old one ends ${overlap === 0 ? "now" : `at ${new Date(until).toISOString()}`}.`;
    return issuedResult(
      context,
      flags,
      issued,
      `New text for ${describe(issued.key)}. ${SHOWN_ONCE} ${IN_FORCE} ${end}`,
    );
  });
}

/** The key alone goes to standard output, so that a shell can assign it. */
function issuedResult(
  { terminal }: Context,
  flags: Flags,
  { key, token }: IssuedKey,
  remark: string,
): Result {
  if (!flags.json) terminal.err(`${remark}\n`);
  return { json: { ...keyJson(key, Date.now()), token }, text: token };
}

/** What `change` returns. @throws CliError when there is no such key */
function changed<T>(
  settings: Settings,
  id: string,
  change: (store: Store) => Promise<T | undefined>,
): Promise<T> {
  return withExistingStore(settings, async (store) => (await change(store)) ?? (await noSuchKey(store, id)));
}

/** @throws CliError always: names are not unique; the message has the ids */
async function noSuchKey(store: Store, id: string): Promise<never> {
  const named = (await store.listKeys()).filter(
    ({ name, revokedAt }) => name === id && revokedAt === undefined,
  );
  throw new CliError(
    `there is no key ${id} that is in force`,
    named.length > 0
      ? `give its id: ${named.map((key) => `${key.id} is named ${id}`).join(", ")}`
      : "`npx @inkling/cli keys list` shows the ids of all keys",
  );
}

const describe = (key: Key) => `${key.mode === "test" ? "sandbox" : "live"} key ${key.id} "${key.name}"`;
