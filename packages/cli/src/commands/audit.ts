// audit.ts: `inkling audit` lists who changed what, when, and through which interface. `inkling override audit` is its
// older name.

import { AUDIT_ACTIONS } from "@inkling/contract";
import { parseTime } from "@inkling/engine";
import { type AuditEntry, auditJson, MAX_PAGE, type OverrideJson, WAYS } from "@inkling/store";
import { type Command, Option } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { parseDuration } from "../runtime/durations.ts";
import { usage } from "../runtime/put-overrides.ts";
import { withExistingStore } from "../runtime/store.ts";
import { table } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;

/** @param parent the program, or `override`, to which the command originally belonged */
export function addAudit(parent: Command, context: Context): void {
  const command = parent
    .command("audit")
    .description("list who changed what, newest first")
    .addOption(new Option("--action <action>", "only this action").choices(AUDIT_ACTIONS))
    .addOption(
      new Option(
        "--way <way>",
        "only changes made in this way: through the admin API, the console, the command line or settings",
      ).choices(WAYS),
    )
    .option("--actor <name>", "only changes by this person or program")
    .option("--subject <id>", "only changes to this id, value or name, such as 185.220.101.1")
    .option("--since <time>", "only changes since 7d ago, 2027-01-31 or 2027-01-31T12:00:00Z")
    .option("--limit <number>", "how many entries", "50")
    .option("--json", "print JSON with the values before and after")
    .addHelpText(
      "after",
      `
WAY is api, console, cli (this command line) or file (settings that a server read at startup).
Entries from older versions, which did not record the way, have -.

Examples:
  inkling audit
  inkling audit --way cli --since 7d
  inkling audit --subject key_3fK9mB2xQ7vR1tYz --json
  inkling audit --action feed-disabled --limit 1000`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const limit = Number(flags.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw usage(`--limit must be a whole number from 1 to ${MAX_PAGE}`, "for example --limit 100");
    }
    const { action, way, actor, subject } = flags;
    const filter = { action, way, actor, subject, since: pastTime(flags.since, "--since", Date.now()) };
    const { items } = await withExistingStore(settings, (store) => store.overrides.audit({ limit }, filter));
    if (items.length === 0 && !flags.json) {
      const isFiltered = Object.values(filter).some((value) => value !== undefined);
      return context.terminal.err(`${isFiltered ? "No change matches." : "Nothing has changed yet."}\n`);
    }
    const head = ["WHEN", "WHO", "WAY", "WHAT", "ID", "ABOUT"];
    return { json: items.map(auditJson), text: table([head, ...items.map(rowOf)]) };
  });
}

const rowOf = ({ at, actor, way, action, subject, before, after }: AuditEntry) => [
  new Date(at).toISOString(),
  actor,
  way ?? "-",
  action,
  subject,
  action === "key-changed" ? changedText(before, after) : aboutText(after ?? before),
];

/**
 * Returns the time that a flag names. A duration counts back from now.
 * @param flag the flag's name with its dashes
 */
export function pastTime(text: string | undefined, flag: string, now: number): number | undefined {
  if (text === undefined) return undefined;
  const duration = parseDuration(text);
  if (duration !== undefined) return now - duration;
  const at = parseTime(text);
  if (at !== undefined) return at;
  const problem = `${flag} must be a duration such as 7d, a date or a time (UTC): it is ${JSON.stringify(text.slice(0, 60))}`;
  throw usage(problem, `for example ${flag} 7d, or ${flag} 2027-01-31`);
}

/** Earlier versions had overrides that muted a feed. Their entries contain `mute` instead of a flag. */
type AuditedOverride = Pick<OverrideJson, "kind" | "value"> & {
  readonly flag: string | null;
  readonly verdict: boolean | null;
  readonly mute?: string | null;
};

const shortEffect = ({ kind, value, flag, verdict, mute }: AuditedOverride) =>
  `${shortValue({ kind, value })} ${flag === null ? `mute ${mute}` : `${flag}=${verdict}`}`;

/**
 * Describes the subject: an override's value and effect, a key's name, or the release in use. For any other subject,
 * returns the members of its state, except `host`.
 */
function aboutText(about: unknown): string {
  if (typeof about !== "object" || about === null) return "";
  if ("value" in about) return shortEffect(about as AuditedOverride);
  const { name, current } = about as { readonly name?: unknown; readonly current?: unknown };
  if (name !== undefined || current !== undefined) return String(name ?? current ?? "");
  return Object.entries(about)
    .filter(([member]) => member !== "host")
    .map(([member, value]) => `${member}=${valueText(value)}`)
    .join(" ");
}

/** Returns a key's name, and each member that the change set, with its earlier value: "shop rate=200 (was 50)". */
function changedText(before: unknown, after: unknown): string {
  const [was, is] = [before, after] as readonly Readonly<Record<string, unknown>>[];
  const changes = Object.entries(is ?? {})
    .filter(([member, value]) => !Bun.deepEquals(value, was?.[member]))
    .map(([member, value]) => `${member}=${valueText(value)} (was ${valueText(was?.[member])})`);
  return [aboutText(is), ...changes].join(" ");
}

const valueText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Shortens the hash of an email address to 12 of its 64 characters, which are enough to identify it. */
export const shortValue = ({ kind, value }: Pick<OverrideJson, "kind" | "value">) =>
  kind === "email_hash" ? `email ${value.slice(0, 12)}…` : value;
