// assess.ts: assesses visitors for the operator over the admin API.
//
// An operator's decisions are neither stored nor counted, and they appear neither in the log nor in the audit trail.

import { ACTIONS, DECISION } from "@inkling/contract";
import { parseDraft, rulesetText } from "@inkling/operations/rulesets";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { schemaOf } from "../lookup/answer-schemas.ts";
import { assessVisitor, type Caller } from "../lookup/operator-lookup.ts";
import { Turns } from "../sharing/turns.ts";
import { type AdminContext, type AdminHandlers, handler, text } from "./handler.ts";
import { callerOf, openCurrent, orRateLimited } from "./lookup.ts";

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

export const ASSESS_HANDLERS = {
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

const turns = new Turns({ running: 1, waitingPerOwner: 4 });

/**
 * Runs one check of a ruleset at a time, and then rests for three times as long as the check took. The longest text takes
 * 40 ms, so however many checks are waiting, this thread keeps three quarters of its time for other work.
 * @throws AdminProblem RATE_LIMITED; the errors of `check`
 */
export function checkSparingly<T>({ owner, signal }: Caller, check: () => T): Promise<T> {
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

async function assessForOperator(
  { releases, overrideCache, rulesetCache, now }: AdminContext,
  visitor: unknown,
  draft: string | undefined,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  if (draft !== undefined) await checkSparingly(caller, () => parseDraft(draft));
  const { number, text } = rulesetCache.current;
  const source = { release, overrides: overrideCache.current, now: now() };
  const ruleset = draft === undefined ? { number, text } : { number: 0, text: draft };
  const found = assessVisitor(source, visitor, ruleset);
  if ("refused" in found)
    throw new AdminProblem("BODY_INVALID", "The visitor cannot be assessed.", found.refused);
  return found;
}
