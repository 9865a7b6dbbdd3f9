// rulesets.ts: checks, publishes, lists, shows and restores rulesets over the admin API, and assesses visitors for the
// operator.
//
// err  AdminProblem, StoreError; ProcessFailed if the child process exits without a decision
// src  docs/rulesets.md, docs/admin-api.md
// note An operator's decisions are neither stored nor counted, and they appear neither in the log nor in the audit
//      trail.

import { ACTIONS, ADMIN_PATH, DECISION, FACT_TYPES, hasRole } from "@inkling/contract";
import { decidingPart, parseRuleset, type Ruleset, RulesetError, runExamples } from "@inkling/engine/assess";
import { isRulesetCursor, RulesetConflictError } from "@inkling/store/rulesets";
import { type PublishedRuleset, rulesetJson } from "@inkling/store/rulesets/record";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { schemaOf } from "../lookup/answer-schemas.ts";
import { assessVisitor, type Caller } from "../lookup/operator-lookup.ts";
import { Turns } from "../text/turns.ts";
import {
  type AdminContext,
  type AdminHandlers,
  count,
  handler,
  nextCursor,
  pageQuery,
  text,
  time,
} from "./handler.ts";
import { callerOf, openCurrent, orRateLimited } from "./lookup.ts";

/**
 * Maximum length of a ruleset in a body, in characters. It is generous, so that the parser can explain what is wrong
 * with a long text.
 */
export const rulesetText = z.string().max(512 * 1024, "is longer than 512 KiB");
const note = z.string().max(500, "is longer than 500 characters").default("");
const current = count.optional().meta({
  description:
    "The newest ruleset's number, as last read. If it has changed, the server returns 409 RULESET_CONFLICT",
});

const members = {
  number: count,
  note: z.string(),
  author: text,
  created_at: time,
  restores: count.nullable().meta({ description: "The ruleset that a rollback restored" }),
};
export const rulesetAnswer = z.strictObject({ ...members, text: z.string() }).meta({ id: "Ruleset" });
export const rulesetsAnswer = z.strictObject({ rulesets: z.array(z.strictObject(members)), ...nextCursor });
const mistake = z.strictObject({ line: count, column: count, message: text });
const example = z.strictObject({
  name: text,
  passed: z.boolean(),
  expected: z.strictObject({ action: z.enum(ACTIONS).optional(), rules: z.array(text).optional() }),
  action: z.enum(ACTIONS),
  rules: z.array(text).meta({ description: "Every matching rule, live rules first" }),
});
export const checkAnswer = z.strictObject({
  mistakes: z.array(mistake),
  examples: z.array(example).meta({ description: "Empty if there are mistakes" }),
  rules: z.strictObject({ live: count, shadow: count }),
  facts: z.record(text, z.enum(FACT_TYPES)).meta({ description: "What callers may send in `facts`" }),
});
export const visitorAnswer = z.strictObject({
  decision: schemaOf(DECISION),
  alternatives: z
    .array(
      z.strictObject({
        without: z.union([
          z.strictObject({ reason: text }),
          z.strictObject({ rule: text }),
          z.strictObject({ on_missing: z.enum(ACTIONS) }),
        ]),
        score: z.number(),
        action: z.enum(ACTIONS),
      }),
    )
    .meta({
      description:
        "The decision without each reason, without the rule that decided, and without `on_missing` if it decided because data is missing",
    }),
  thresholds: z
    .strictObject({ challenge: z.number(), deny: z.number() })
    .meta({ description: "The scores at and above which this ruleset challenges and denies" }),
});

export const RULESET_HANDLERS = {
  list_rulesets: handler({
    query: pageQuery(isRulesetCursor),
    answer: rulesetsAnswer,
    run: async ({ store }, { query }) => {
      const page = await store.rulesets.list(query);
      return { document: { rulesets: page.items.map(rulesetJson), next_cursor: page.next ?? null } };
    },
  }),
  get_ruleset: handler({
    answer: rulesetAnswer,
    run: async (context, { id }) => ({ document: withText(await find(context, id)) }),
  }),
  check_ruleset: handler({
    body: { schema: z.strictObject({ text: rulesetText }).meta({ id: "RulesetText" }) },
    answer: checkAnswer,
    run: async (_, { body, request, token }) => ({
      document: await sparingly(callerOf(request, token), () => checked(body.text)),
    }),
  }),
  publish_ruleset: handler({
    body: { schema: z.strictObject({ text: rulesetText, note, current }).meta({ id: "NewRuleset" }) },
    answer: rulesetAnswer,
    run: async (context, { body, by, request, token }) => {
      await sparingly(callerOf(request, token), () => requireSound(body.text));
      if (token !== undefined && hasRole(token.role, "admin"))
        return publish(context, (store) => store.publish(body, by));
      const newest = await context.store.rulesets.newest();
      if (!Bun.deepEquals(decidingPart(newest.text), decidingPart(body.text)))
        throw new AdminProblem(
          "ROLE_REQUIRED",
          "The role `analyst` may change only shadow rules, rules that are off, and examples. This ruleset would decide differently; to publish it, use a token with the role `admin`.",
        );
      if (body.current !== undefined && body.current !== newest.number)
        throw new AdminProblem("RULESET_CONFLICT", `Ruleset ${newest.number} has been published since.`);
      return publish(context, (store) => store.publish({ ...body, current: newest.number }, by));
    },
  }),
  restore_ruleset: handler({
    body: { schema: z.strictObject({ note, current }).meta({ id: "RestoredRuleset" }) },
    answer: rulesetAnswer,
    run: async (context, { id, body, by }) => {
      const { number, text } = await find(context, id);
      parseDraft(text); // this version may reject a ruleset that an older version published
      return publish(context, (store) => store.publish({ ...body, text, restores: number }, by));
    },
  }),
  assess_visitor: handler({
    body: {
      schema: z
        .strictObject({
          visitor: z.unknown().meta({ description: "The visitor, as in `POST /v1/assess`" }),
          text: rulesetText.optional().meta({ description: "Use this ruleset instead of the newest one" }),
        })
        .meta({ id: "AssessVisitor" }),
    },
    answer: visitorAnswer,
    run: async (context, { body, request, token }) => ({
      document: await assessForOperator(context, body.visitor, body.text, callerOf(request, token)),
    }),
  }),
} satisfies AdminHandlers;

const withText = (ruleset: PublishedRuleset) => ({ ...rulesetJson(ruleset), text: ruleset.text });

async function find({ store }: AdminContext, id: string): Promise<PublishedRuleset> {
  const found = await store.rulesets.find(Number(id));
  if (found === undefined) throw new AdminProblem("RULESET_NOT_FOUND");
  return found;
}

async function publish(
  { store, rulesetCache }: AdminContext,
  work: (store: AdminContext["store"]["rulesets"]) => Promise<PublishedRuleset>,
) {
  const before = await store.rulesets.newest();
  const published = await work(store.rulesets).catch((error: unknown) => {
    if (error instanceof RulesetConflictError)
      throw new AdminProblem("RULESET_CONFLICT", `${error.message}.`);
    throw error;
  });
  await rulesetCache.refresh();
  const document = withText(published);
  if (published.number === before.number) return { status: 200, document };
  return { document, headers: { Location: `${ADMIN_PATH}rulesets/${published.number}` } };
}

const turns = new Turns({ running: 1, waitingPerOwner: 4 });

/**
 * Runs one check of a ruleset at a time, and then rests for three times as long as the check took. The longest text takes
 * 40 ms, so however many checks are waiting, this thread keeps three quarters of its time for other work.
 * @throws AdminProblem RATE_LIMITED; the errors of `check`
 */
function sparingly<T>({ owner, signal }: Caller, check: () => T): Promise<T> {
  return orRateLimited(
    turns.take(owner, signal, async () => {
      const start = performance.now();
      try {
        return check();
      } finally {
        await Bun.sleep(3 * (performance.now() - start));
      }
    }),
  );
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
    ({ name, action, rules }) => `${name}: got ${action}; rules: ${rules.join(", ") || "none"}`,
  );
  throw new AdminProblem(
    "RULESET_INVALID",
    "An example in the ruleset does not give its expected result.",
    lines,
  );
}

function checked(text: string) {
  try {
    const ruleset = parseRuleset(text);
    const rules = { live: ruleset.live.length, shadow: ruleset.shadow.length };
    return { mistakes: [], examples: runExamples(ruleset), rules, facts: ruleset.schema.declared };
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    return { mistakes: error.mistakes, examples: [], rules: { live: 0, shadow: 0 }, facts: {} };
  }
}

async function assessForOperator(
  { releases, overrideCache, rulesetCache, now }: AdminContext,
  visitor: unknown,
  draft: string | undefined,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  if (draft !== undefined) await sparingly(caller, () => parseDraft(draft));
  const { number, text } = rulesetCache.current;
  const source = { release, overrides: overrideCache.current, now: now() };
  const ruleset = draft === undefined ? { number, text } : { number: 0, text: draft };
  const found = assessVisitor(source, visitor, ruleset);
  if ("refused" in found)
    throw new AdminProblem("BODY_INVALID", "The visitor cannot be assessed.", found.refused);
  return found;
}
