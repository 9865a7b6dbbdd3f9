// decisions.ts: lists, shows, labels, counts and deletes stored decisions.

import { ACTIONS, DEGRADED_DATA, OUTCOMES, REASON_CODES } from "@inkling/contract";
import { canonicalMailbox, parseEmail, toAsciiDomain, visitorNetworkOf } from "@inkling/engine";
import {
  actionOfRule,
  DEFAULT_RULESET,
  factsRead,
  parseRuleset,
  type Ruleset,
  RulesetError,
  type Trace,
} from "@inkling/engine/assess";
import { DECISION_PAGES, type DecisionFilter, MAX_LABELLED, type RefOutcome } from "@inkling/store/decisions";
import { readHashKeys, traceHash } from "@inkling/store/decisions/hashes";
import { decisionJson } from "@inkling/store/decisions/record";
import { DAY_MS } from "@inkling/store/keys/day";
import { isoTime } from "@inkling/store/text/fields";
import { z } from "zod";
import { explanation } from "./assess.ts";
import { calibrate } from "./calibration.ts";
import type { OperationContext } from "./context.ts";
import {
  count,
  id,
  nextCursor,
  oneOf,
  operation,
  pageInput,
  type Resource,
  text,
  time,
} from "./operation.ts";
import { MAX_LINES, readOutcomeLine } from "./outcome-file.ts";
import { AdminProblem, found } from "./problem.ts";

const action = z.enum(ACTIONS);
const outcome = z.enum(OUTCOMES);
const facts = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
  .meta({ description: "The facts that rules read, by name. Unknown facts are omitted" });

const decision = z
  .strictObject({
    id: text,
    at: time,
    event: text,
    ref: z.string().nullable(),
    action,
    review: z.boolean(),
    score: z.number(),
    reasons: z.array(z.strictObject({ code: text, weight: z.number(), precision: z.number().optional() })),
    rule: text.nullable().meta({ description: "The first live rule that matched; null if none did" }),
    shadow: z.array(z.strictObject({ rule: text, action, review: z.literal(true).optional() })),
    degraded: z.array(z.enum(DEGRADED_DATA)),
    ruleset: count,
    data_version: text.meta({ description: "The data release" }),
    request_id: text.nullable().meta({ description: "The answer's `X-Request-Id`" }),
    trace_id: text.nullable().meta({ description: "The trace id of the caller's `traceparent`" }),
    facts,
    outcome: outcome.nullable(),
    outcome_at: time.nullable(),
    outcome_note: z.string().nullable().meta({ description: "Why an operator chose the outcome" }),
  })
  .meta({ id: "Decision" });

const explained = decision.extend(explanation).meta({ id: "ExplainedDecision" });

const counts = z.strictObject({
  stores_decisions: z
    .boolean()
    .meta({ description: "True if this server stores decisions (`INKLING_DECISIONS`)" }),
  days: z.array(
    z.strictObject({
      day: text.meta({ description: "UTC" }),
      action,
      count,
      legitimate: count,
      fraud: count,
    }),
  ),
});

const since = isoTime.optional().meta({ description: "Only decisions since this date (UTC) or time" });
const until = isoTime.optional().meta({ description: "Only decisions before this date (UTC) or time" });
const NETWORK = "must be an address, or a /24 (IPv4) or /48 (IPv6): decisions store no wider network";
const word = (most: number) => z.string().min(1).max(most).optional();

const filters = {
  action: oneOf(ACTIONS).optional().meta({ description: "Only this action" }),
  event: word(64).meta({ description: "Only this event" }),
  rule: word(64).meta({
    description: "Only decisions that this rule made, or that it matched in shadow",
  }),
  reason: oneOf(REASON_CODES as [string, ...string[]])
    .optional()
    .meta({ description: "Only decisions with this reason" }),
  outcome: oneOf([...OUTCOMES, "none"])
    .optional()
    .meta({ description: "Only decisions with this outcome; `none` selects decisions without an outcome" }),
  ref: word(128).meta({ description: "Only decisions with this `ref`" }),
  request: word(64).meta({ description: "Only decisions of this request: its `X-Request-Id` or trace id" }),
  network: z
    .string()
    .optional()
    .transform((value, { issues }) => {
      const network = value === undefined ? undefined : visitorNetworkOf(value);
      if (value !== undefined && network === undefined)
        issues.push({ code: "custom", input: value, message: NETWORK });
      return network;
    })
    .meta({
      description:
        "Only decisions about this network, a /24 (IPv4) or /48 (IPv6), or about the network of this address",
    }),
  domain: word(255)
    .transform((value) => value && (toAsciiDomain(value) ?? value))
    .meta({ description: "Only decisions about email addresses in this domain" }),
  mailbox: word(512)
    .transform((value, { issues }) => {
      const host = value === undefined ? undefined : parseEmail(value).host;
      if (value !== undefined && host === undefined)
        issues.push({ code: "custom", input: value, message: "must be an email address" });
      return value === undefined || host === undefined ? undefined : canonicalMailbox(value, host);
    })
    .meta({ description: "Only decisions about the mailbox of this email address" }),
  account: word(128).meta({ description: "Only decisions with this `account`" }),
  since,
  until,
};

const DEFAULT_DAYS = 30;
const MAX_OUTCOMES_BYTES = 1024 * 1024;
const one = id("The decision's id");
const problems = ["DECISION_NOT_FOUND"] as const;

export const DECISIONS = {
  tag: "Decisions",
  noun: "decision",
  command: {
    name: "decisions",
    summary: "list, label, export and delete stored decisions of POST /v1/assess",
  },
  operations: {
    list_decisions: operation({
      route: "GET decisions",
      summary: "List stored decisions, newest first",
      docs: "[stored decisions](decisions.md#stored-decisions), newest first. `action`, `event`, `rule`, `reason`, `outcome`, `ref`, `request`, `network`, `domain`, `mailbox`, `account`, `since`, `until`, `limit`, `cursor`. After two seconds, a page ends early, even without decisions; `next_cursor` continues the search",
      input: { ...filters, ...pageInput((cursor) => DECISION_PAGES.isCursor(cursor)) },
      output: z.strictObject({ decisions: z.array(decision), ...nextCursor }),
      command: {
        words: "decisions list",
        flags: { limit: { help: "how many decisions" } },
        examples: [
          "inkling decisions list --action deny --since 7d",
          "inkling decisions list --rule no-hosting-sign-ups",
          "inkling decisions list --reason proxy --outcome legitimate",
          "inkling decisions list --network 81.2.69.142 --since 1d",
          "inkling decisions list --mailbox jane@example.com",
          "inkling decisions list --ref user-81 --json",
        ],
      },
      run: async ({ store, settings }, { limit, cursor, mailbox, account, ...filter }) => {
        const hashed: DecisionFilter = {
          mailbox: hashesOf(settings, "mailbox", mailbox),
          account: hashesOf(settings, "account", account),
        };
        const { items, next } = await store.decisions.list({ limit, cursor }, { ...filter, ...hashed });
        return { decisions: items.map(decisionJson), next_cursor: next ?? null };
      },
    }),
    count_decisions: operation({
      route: "GET decisions/counts",
      summary: "Stored decisions and their outcomes by day and action, newest first",
      docs: "number of decisions and outcomes by day and action, and whether this server stores decisions. `event`, `since` (default 30 days), `until`",
      input: { event: filters.event, since, until },
      output: counts,
      run: async ({ store, settings, now }, { event, since = now() - DEFAULT_DAYS * DAY_MS, until }) => {
        const rows = await store.decisions.count({ event, since, until });
        const days = rows.map(({ day, ...row }) => ({
          day: new Date(day).toISOString().slice(0, 10),
          ...row,
        }));
        return { stores_decisions: settings.decisions, days };
      },
    }),
    calibrate_decisions: calibrate,
    review_decisions: operation({
      route: "GET decisions/review",
      summary: "List the decisions that a rule sent to review and that have no outcome, oldest first",
      docs: "decisions with `review` and without an outcome, oldest first, and how many there are (counted up to 1,000). `limit`",
      input: { limit: pageInput(() => true).limit },
      output: z.strictObject({ decisions: z.array(explained), waiting: count }),
      command: {
        words: "decisions review",
        flags: { limit: { help: "how many decisions" } },
        examples: ["inkling decisions review --limit 10"],
      },
      run: async (context, { limit }) => {
        const { items, waiting } = await context.store.decisions.queued(limit);
        return { decisions: await explain(context, items.map(decisionJson)), waiting };
      },
    }),
    import_outcomes: operation({
      route: "POST decisions/outcomes",
      summary: "Report outcomes by `ref`, such as a list of chargebacks, and say what became of each line",
      docs: `labels decisions from [lines of a file](decisions.md#outcomes-from-a-file), at most ${MAX_LINES}: \`ref,outcome,at\` or a JSON object. \`problems\` lists the lines that labelled nothing, or not everything. Optional \`replace\``,
      role: "analyst",
      audits: ["decisions-labelled"],
      maxBodyBytes: MAX_OUTCOMES_BYTES,
      input: {
        lines: z.array(z.string()).max(MAX_LINES, `has more than ${MAX_LINES} lines`).meta({
          description:
            "`ref,outcome,at` as CSV, or a JSON object with these fields. `ref` may also be a decision's id, and `at` may be missing",
        }),
        replace: z
          .boolean("must be true or false")
          .default(false)
          .meta({ description: "Replace outcomes that differ, and remove them where the outcome is `none`" }),
      },
      output: z.strictObject({
        labelled: count.meta({ description: "Decisions that got an outcome" }),
        problems: z.array(
          z.strictObject({
            line: count.meta({ description: "The line's position in `lines`, from 1" }),
            problem: z.enum(["wrong", "unknown", "already_labelled"]),
            message: text,
          }),
        ),
      }),
      run: async ({ store, decisions, by, now }, { lines, replace }) => {
        await decisions.flush(); // the lines may be about decisions that are not stored yet
        const problems: {
          line: number;
          problem: "wrong" | "unknown" | "already_labelled";
          message: string;
        }[] = [];
        const wanted: (RefOutcome & { readonly line: number })[] = [];
        for (const [i, given] of lines.entries()) {
          const read = readOutcomeLine(given, now());
          if (typeof read === "string") problems.push({ line: i + 1, problem: "wrong", message: read });
          else if (read !== undefined) wanted.push({ ...read, line: i + 1 });
        }
        const results = await store.decisions.labelRefs(wanted, replace, by);
        for (const [i, { found, labelled, kept }] of results.entries()) {
          const { line, outcome, at } = wanted[i]!;
          const before = at === undefined ? "" : " at or before `at`";
          if (found === 0)
            problems.push({ line, problem: "unknown", message: `no stored decision${before} has this ref` });
          else if (found > MAX_LABELLED)
            problems.push({
              line,
              problem: "wrong",
              message: `more than ${MAX_LABELLED} decisions have this ref; use the decisions' ids`,
            });
          else if (kept > 0)
            problems.push({
              line,
              problem: "already_labelled",
              message: `${kept} of ${found} kept another outcome; \`replace\` replaces it`,
            });
          else if (labelled === 0)
            problems.push({
              line,
              problem: "already_labelled",
              message: outcome === null ? "has no outcome" : `already labelled ${outcome}`,
            });
        }
        const labelled = results.reduce((sum, one) => sum + one.labelled, 0);
        return { labelled, problems: problems.sort((a, b) => a.line - b.line) };
      },
    }),
    get_decision: operation({
      route: "GET decisions/{id}",
      summary: "Show a stored decision with its facts",
      docs: "one stored decision",
      problems,
      input: one,
      output: explained,
      command: { words: "decisions show", examples: ["inkling decisions show asm_4Qw8ZbN2rT6yKd1M"] },
      run: async (context, { id }) => {
        const stored = found(await context.store.decisions.find(id), "DECISION_NOT_FOUND");
        return (await explain(context, [decisionJson(stored)]))[0]!; // as many as it was given
      },
    }),
    set_decision_outcome: operation({
      route: "POST decisions/{id}/outcome",
      summary: "Report the outcome of a decision; a new outcome replaces the old one",
      docs: 'labels a decision: `{"outcome":"legitimate"}` or `"fraud"`, optionally with a `note`; `"none"` removes the outcome',
      role: "analyst",
      audits: ["decision-labelled"],
      problems,
      input: {
        ...one,
        outcome: oneOf([...OUTCOMES, "none"]),
        note: z
          .string()
          .trim()
          .max(500, "is longer than 500 characters")
          .optional()
          .meta({ description: "Why; at most 500 characters" }),
      },
      output: decision,
      command: {
        words: "decisions outcome",
        arguments: ["outcome"],
        notes: `OUTCOME is ${OUTCOMES.join(", ")} or none, which removes the outcome.`,
        examples: [
          "inkling decisions outcome asm_4Qw8ZbN2rT6yKd1M fraud",
          'inkling decisions outcome asm_4Qw8ZbN2rT6yKd1M legitimate --note "confirmed by phone"',
        ],
      },
      run: async ({ store, decisions, by }, { id, outcome, note }) => {
        const chosen = outcome === "none" ? null : outcome;
        const result = await decisions.label(id, chosen, undefined, by, note || undefined);
        if (result === "unreachable") throw new AdminProblem("DATABASE_UNREACHABLE");
        const labelled = result === "labelled" ? await store.decisions.find(id) : undefined;
        return decisionJson(found(labelled, "DECISION_NOT_FOUND"));
      },
    }),
    delete_decisions: operation({
      route: "DELETE decisions",
      summary: "Delete the decisions for a `ref`, or all decisions before a time",
      docs: "deletes the decisions for `ref`, or all decisions `before` a time",
      audits: ["decisions-deleted"],
      input: {
        ref: word(128).meta({ description: "All decisions with this `ref`" }),
        before: isoTime.optional().meta({ description: "All decisions before this date (UTC) or time" }),
      },
      output: z.strictObject({ deleted: count }),
      command: {
        words: "decisions delete",
        hasAuthor: true,
        examples: ["inkling decisions delete --ref REF", "inkling decisions delete --before TIME"],
      },
      run: async ({ store, decisions, by }, { ref, before }) => {
        if ((ref === undefined) === (before === undefined))
          throw new AdminProblem("PARAMETER_INVALID", "Send either `ref` or `before`.");
        await decisions.flush(); // the caller may mean decisions that are not stored yet
        return {
          deleted: await store.decisions.delete(ref === undefined ? { before: before! } : { ref }, by),
        };
      },
    }),
  },
} as const satisfies Resource;

/** Returns the hashes of a value by which stored decisions can be found. @throws AdminProblem without a key of hashes */
function hashesOf(settings: OperationContext["settings"], trace: Trace, value: string | undefined) {
  if (value === undefined) return undefined;
  const keys = readHashKeys(settings);
  if (keys.length > 0) return keys.map((key) => traceHash(key, trace, value));
  throw new AdminProblem(
    "PARAMETER_INVALID",
    `Decisions contain only a hash of the ${trace}, and its key is missing here. A server creates it with INKLING_DECISIONS=1; hosts of a group need the same INKLING_MEMORY_KEY.`,
  );
}

type DecisionJson = ReturnType<typeof decisionJson>;

/** Adds the facts that the matching rules and the reasons read, and the action of the decision's rule. */
async function explain(context: OperationContext, decisions: readonly DecisionJson[]) {
  const rulesets = new Map<number, Ruleset>();
  for (const { ruleset } of decisions)
    if (!rulesets.has(ruleset)) rulesets.set(ruleset, await readRuleset(context, ruleset));
  return decisions.map((one) => {
    const ruleset = rulesets.get(one.ruleset)!;
    return { ...one, facts_read: factsRead(one, ruleset), rule_action: actionOfRule(one, ruleset) };
  });
}

/** Without the ruleset, or if this version rejects it, only the reasons count. They are the same in every ruleset. */
async function readRuleset({ store, checkSparingly }: OperationContext, number: number): Promise<Ruleset> {
  const published = await store.rulesets.find(number);
  if (published === undefined) return DEFAULT_RULESET;
  return checkSparingly(() => parseRuleset(published.text)).catch((error: unknown) => {
    if (!(error instanceof RulesetError)) throw error;
    return DEFAULT_RULESET;
  });
}
