// rulesets.ts: checks, publishes, lists, shows and restores rulesets, and replays a draft against stored decisions.

import { ACTIONS, FACT_TYPES, hasRole, MAX_RULESET_BYTES, OUTCOMES } from "@inkling/contract";
import {
  decidingPart,
  parseRuleset,
  Replay,
  type ReplayReport,
  type Ruleset,
  RulesetError,
  runExamples,
} from "@inkling/engine/assess";
import { pastDecision } from "@inkling/store/decisions/record";
import { StoreError } from "@inkling/store/error";
import { DAY_MS } from "@inkling/store/keys/day";
import { isRulesetCursor, type NewRuleset } from "@inkling/store/rulesets";
import { type PublishedRuleset, rulesetJson } from "@inkling/store/rulesets/record";
import { isoTime } from "@inkling/store/text/fields";
import { z } from "zod";
import { readable, share, suggestRuleset } from "./calibration.ts";
import type { OperationContext } from "./context.ts";
import { count, nextCursor, operation, pageInput, type Resource, text, time } from "./operation.ts";
import { AdminProblem, found } from "./problem.ts";

/**
 * Maximum length of a ruleset in a body, in characters. It is generous, so that the parser can explain what is wrong
 * with a long text.
 */
export const rulesetText = z.string().max(512 * 1024, "is longer than 512 KiB");
const changed = {
  note: z
    .string()
    .max(500, "is longer than 500 characters")
    .default("")
    .meta({ description: "What changed and why, for the ruleset history; at most 500 characters" }),
  current: count.optional().meta({
    description:
      "The newest ruleset's number, as last read. If it has changed, the server returns 409 RULESET_CONFLICT",
  }),
};
const currentHelp = "publish only if this is still the newest ruleset, so that no other change is lost";
const id = (standard: "newest" | "previous") => ({
  id: z
    .string()
    .regex(/^([1-9]\d{0,8}|newest|previous)$/, "must be a ruleset's number, newest or previous")
    .default(standard)
    .meta({ description: "The ruleset's number, `newest` or `previous`" }),
});

const fields = {
  number: count,
  note: z.string(),
  author: text,
  created_at: time,
  restores: count.nullable().meta({ description: "The ruleset that a rollback restored" }),
};
const ruleset = z.strictObject({ ...fields, text: z.string() }).meta({ id: "Ruleset" });
const published = z
  .strictObject({
    ...fields,
    text: z.string(),
    created: z.boolean().meta({ description: "False if the newest ruleset already has this text" }),
  })
  .meta({ id: "RulesetPublished" });
const mistake = z.strictObject({ line: count, column: count, message: text });
const example = z.strictObject({
  name: text,
  passed: z.boolean(),
  expected: z.strictObject({ action: z.enum(ACTIONS).optional(), rules: z.array(text).optional() }),
  action: z.enum(ACTIONS),
  rules: z.array(text).meta({ description: "Every matching rule, live rules first" }),
});
const check = z.strictObject({
  mistakes: z.array(mistake),
  examples: z.array(example).meta({ description: "Empty if there are mistakes" }),
  rules: z.strictObject({ live: count, shadow: count }),
  facts: z.record(text, z.enum(FACT_TYPES)).meta({ description: "What callers may send in `facts`" }),
});

const action = z.enum(ACTIONS);
const examples = z
  .array(
    z.strictObject({
      id: text,
      at: time,
      ref: z.string().nullable(),
      event: z.string(),
      before: action,
      after: action,
      rule_before: text.nullable(),
      rule_after: text.nullable(),
      outcome: z.enum(OUTCOMES).nullable(),
    }),
  )
  .max(10)
  .meta({ description: "At most ten decisions that change, those labelled legitimate first" });
const replay = z.strictObject({
  summary: text.meta({ description: "The effect in one sentence, to show before publishing" }),
  decisions: count,
  changed: count,
  from: time.nullable().meta({ description: "Time of the oldest decision that was replayed" }),
  to: time.nullable().meta({ description: "Time of the newest decision that was replayed" }),
  outcomes: z.strictObject({ legitimate: count, fraud: count }),
  actions: z.array(
    z.strictObject({
      before: action,
      after: action,
      count,
      legitimate: count.meta({ description: "Number of these decisions that are labelled legitimate" }),
      examples,
    }),
  ),
  rules: z.array(
    z.strictObject({
      rule: text,
      mode: z.enum(["live", "shadow"]),
      action,
      matches: count,
      decides: count.meta({ description: "0 for a shadow rule" }),
      changes: count.meta({
        description:
          "Decisions that get a different action because of this rule; for a shadow rule, if it were live",
      }),
      precision: share,
      recall: share,
      examples,
    }),
  ),
  score: z.strictObject({ decides: count, changes: count }),
  reasons: z.array(
    z.strictObject({ reason: text, weight: z.number(), matches: count, precision: share, recall: share }),
  ),
  unknown_facts: z
    .array(z.strictObject({ fact: text, decisions: count }))
    .meta({ description: "Facts that rules read, with the number of decisions that lack them" }),
  stopped: z.enum(["limit", "time"]).nullable().meta({
    description: "Why older decisions were left out; null if all decisions since `since` were replayed",
  }),
});

const DEFAULT_DAYS = 30;
const publishing = {
  status: 201,
  isCreated: ({ created }: z.input<typeof published>) => created,
  isIdempotent: false,
  refreshes: "rulesets",
  output: published,
} as const;
const maxBodyBytes = MAX_RULESET_BYTES;

export const RULESETS = {
  tag: "Rules",
  noun: "ruleset",
  command: {
    name: "rules",
    summary: "check, publish, compare and roll back rulesets for POST /v1/assess",
  },
  operations: {
    list_rulesets: operation({
      route: "GET rulesets",
      summary: "List published rulesets, newest first; the newest is active",
      docs: "published [rulesets](rulesets.md), newest first; the newest one is active. `limit`, `cursor`",
      input: pageInput(isRulesetCursor),
      output: z.strictObject({ rulesets: z.array(z.strictObject(fields)), ...nextCursor }),
      command: { words: "rules list", examples: ["inkling rules list"] },
      run: async ({ store }, page) => {
        const { items, next } = await store.rulesets.list(page);
        return { rulesets: items.map(rulesetJson), next_cursor: next ?? null };
      },
    }),
    publish_ruleset: operation({
      ...publishing,
      route: "POST rulesets",
      summary: "Publish a ruleset under the next number; all servers apply it within a second",
      docs: 'publishes `{"text":"…","note":"…","current":7}`; `current` is optional: the newest ruleset number that you have read. 200 if the newest ruleset already has this text',
      role: "analyst",
      audits: ["ruleset-published"],
      problems: ["RULESET_INVALID", "RULESET_CONFLICT"],
      maxBodyBytes,
      input: { text: rulesetText, ...changed },
      command: {
        words: "rules publish",
        arguments: ["text"],
        flags: { text: { name: "file" }, current: { help: currentHelp } },
        hasAuthor: true,
        notes: `The command shows how the ruleset would have decided about the stored decisions of the last 30 days, and asks.

If the ruleset has a mistake, or one of its examples fails, nothing is published.`,
        examples: [
          'inkling rules publish rules.toml --note "deny hosting sign-ups"',
          "inkling rules publish rules.toml --current 7 --yes",
        ],
      },
      run: async (context, { text, note, current }) => {
        const { store, token } = context;
        await context.checkSparingly(() => requireSound(text));
        if (token === undefined || hasRole(token.role, "admin"))
          return publish(context, { text, note, current });
        const newest = await store.rulesets.newest();
        if (!Bun.deepEquals(readable(newest, decidingPart), decidingPart(text)))
          throw new AdminProblem(
            "ROLE_REQUIRED",
            "The role `analyst` may change only shadow rules, rules that are off, and examples. This ruleset would decide differently; to publish it, use a token with the role `admin`.",
          );
        if (current !== undefined && current !== newest.number)
          throw new AdminProblem("RULESET_CONFLICT", `Ruleset ${newest.number} has been published since.`);
        return publish(context, { text, note, current: newest.number });
      },
    }),
    check_ruleset: operation({
      route: "POST rulesets/check",
      summary: "Check a ruleset: list each mistake with line and column, and run its examples",
      docs: "mistakes in `text`, with line and column, or the results of its examples",
      role: "read",
      maxBodyBytes,
      needsNoDatabase: true,
      input: { text: rulesetText },
      output: check,
      command: {
        words: "rules check",
        arguments: ["text"],
        flags: { text: { name: "file" } },
        notes: "The exit code is 1 if there is a mistake or an example fails.",
        examples: ["inkling rules check rules.toml", "git show HEAD:rules.toml | inkling rules check -"],
      },
      run: (context, { text }) => context.checkSparingly(() => checkRuleset(text)),
    }),
    replay_ruleset: operation({
      route: "POST rulesets/replay",
      summary: "How a ruleset would have changed the newest stored decisions; changes nothing",
      docs: "[replays](rulesets.md#replay) the draft in `text` over stored decisions since `since` (default 30 days). The replay stops after the newest 100,000 decisions or after 10 seconds; `stopped` shows which limit applied. `summary` describes the effect in one sentence",
      role: "read",
      problems: ["RULESET_INVALID"],
      maxBodyBytes,
      input: { text: rulesetText, since: isoTime.optional() },
      output: replay,
      run: async (context, { text, since = context.now() - DEFAULT_DAYS * DAY_MS }) =>
        replayStored(context, parseDraft(text), since),
    }),
    suggest_ruleset: suggestRuleset,
    get_ruleset: operation({
      route: "GET rulesets/{id}",
      summary: "Show a ruleset with its text",
      docs: "one ruleset, with its text. `newest` and `previous` are ids as well",
      problems: ["RULESET_NOT_FOUND"],
      input: id("newest"),
      output: ruleset,
      command: {
        words: "rules show",
        flags: { id: { name: "number" } },
        notes: "Without NUMBER, the command shows the newest ruleset.",
        examples: ["inkling rules show > rules.toml", "inkling rules show 6"],
      },
      run: async (context, { id }) => withText(await find(context, id)),
    }),
    restore_ruleset: operation({
      ...publishing,
      route: "POST rulesets/{id}/restore",
      summary: "Publish an older ruleset again under the next number",
      docs: "publishes the ruleset's text again, under the next number",
      audits: ["ruleset-rolled-back"],
      problems: ["RULESET_NOT_FOUND", "RULESET_INVALID", "RULESET_CONFLICT"],
      input: { ...id("previous"), ...changed },
      command: {
        words: "rules rollback",
        flags: { id: { name: "number" }, current: { help: currentHelp } },
        hasAuthor: true,
        notes: "Without NUMBER, the command publishes the previous ruleset.",
        examples: ["inkling rules rollback", "inkling rules rollback 5 --note 'too strict' --yes"],
      },
      run: async (context, { id, ...wanted }) => {
        const { number, text } = await find(context, id);
        parseDraft(text); // this version may reject a ruleset that an older version published
        return publish(context, { ...wanted, text, restores: number });
      },
    }),
  },
} as const satisfies Resource;

const withText = (ruleset: PublishedRuleset) => ({ ...rulesetJson(ruleset), text: ruleset.text });

async function find({ store: { rulesets } }: OperationContext, id: string): Promise<PublishedRuleset> {
  const isNamed = id === "newest" || id === "previous";
  const number = isNamed ? (await rulesets.newest()).number - (id === "newest" ? 0 : 1) : Number(id);
  return found(await rulesets.find(number), "RULESET_NOT_FOUND");
}

async function publish({ store: { rulesets }, by }: OperationContext, wanted: NewRuleset) {
  const before = await rulesets.newest();
  const published = await rulesets.publish(wanted, by).catch((error: unknown) => {
    if (!(error instanceof StoreError && error.code === "CONFLICT")) throw error;
    throw new AdminProblem("RULESET_CONFLICT", `${error.message}.`, [], { cause: error });
  });
  return { ...withText(published), created: published.number > before.number };
}

/** Parses a ruleset. @throws AdminProblem that lists every mistake */
export function parseDraft(text: string): Ruleset {
  try {
    return parseRuleset(text);
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    throw new AdminProblem("RULESET_INVALID", undefined, error.message.split("\n"));
  }
}

/** Runs the ruleset's examples. @throws AdminProblem if the ruleset has mistakes, or if an example fails */
function requireSound(text: string): void {
  const failed = runExamples(parseDraft(text)).filter(({ passed }) => !passed);
  if (failed.length === 0) return;
  const lines = failed.map(
    ({ name, action, rules }) =>
      `The example "${name}" gives ${action}, rules ${rules.join(", ") || "none"}. Correct the rule, or what the example expects.`,
  );
  throw new AdminProblem(
    "RULESET_INVALID",
    "An example in the ruleset does not give its expected result.",
    lines,
  );
}

/** Returns every mistake in a ruleset, or the results of its examples. */
export function checkRuleset(text: string) {
  try {
    const ruleset = parseRuleset(text);
    const rules = { live: ruleset.live.length, shadow: ruleset.shadow.length };
    return { mistakes: [], examples: runExamples(ruleset), rules, facts: ruleset.schema.declared };
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    return { mistakes: error.mistakes, examples: [], rules: { live: 0, shadow: 0 }, facts: {} };
  }
}

/** Limits of one replay: number of decisions, and duration in milliseconds. */
const MAX_REPLAYED = 100_000;
const MAX_REPLAY_MS = 10_000;
const PAGE = 250;

interface StoredReplay extends ReplayReport {
  /** Why older decisions were left out; null if all decisions since `since` were replayed. */
  readonly stopped: "limit" | "time" | null;
}

/**
 * Replays the newest stored decisions. It yields after each page, because this process may also answer lookups.
 * @param since epoch ms
 */
async function replayStored(
  { store: { decisions }, elapsed }: OperationContext,
  draft: Ruleset,
  since: number,
): Promise<StoredReplay> {
  const replayed = new Replay(draft);
  const end = elapsed() + MAX_REPLAY_MS;
  let stopped: StoredReplay["stopped"] = null;
  let cursor: string | undefined;
  for (let read = 0; ; ) {
    const page = await decisions.list({ limit: PAGE, cursor }, { since });
    for (const row of page.items) replayed.add(pastDecision(row));
    read += page.items.length;
    cursor = page.next;
    if (cursor === undefined) break;
    stopped = read >= MAX_REPLAYED ? "limit" : elapsed() >= end ? "time" : null;
    if (stopped !== null) break;
    await Bun.sleep(0);
  }
  return { ...replayed.report, stopped };
}
