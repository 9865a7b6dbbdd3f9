// assess.ts: assesses visitors for the operator.
//
// An operator's decisions are neither stored nor counted, and they appear neither in the log nor in the audit trail.
// `inkling assess` is written by hand: it needs neither server nor database.

import { ACTIONS, DECISION, DECISION_INPUT, keysOf, MAX_RULESET_BYTES } from "@inkling/contract";
import { z } from "zod";
import { schemaOf } from "./answer-schemas.ts";
import { operation, type Resource, text } from "./operation.ts";
import { running } from "./problem.ts";
import { rulesetText } from "./rulesets.ts";

/** What explains a decision. */
export const explanation = {
  facts_read: z.array(text).meta({
    description: "Names of the facts that the matching rules and the reasons read",
  }),
  rule_action: z.enum(ACTIONS).nullable().meta({
    description:
      "The action of `rule`, or null. The decision's action is stricter if the score decided, because the rule has `at_least`, or `on_missing`",
  }),
};
const assessed = z.strictObject({
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
  ...explanation,
});

export const ASSESS = {
  tag: "Rules",
  operations: {
    assess_visitor: operation({
      route: "POST assess",
      summary:
        "Assess a visitor, and return the facts, the evidence and what would change the decision; not counted as usage",
      docs: "assesses `visitor` with the newest ruleset, or with the draft in `text`",
      role: "read",
      problems: ["DATA_NOT_LOADED", "RULESET_INVALID"],
      needsNoDatabase: true,
      maxBodyBytes: MAX_RULESET_BYTES,
      input: {
        visitor: z.unknown().meta({
          description: `The visitor, as in \`POST /v1/assess\`: an object with ${keysOf(DECISION_INPUT.fields).join(", ")}`,
        }),
        text: rulesetText.optional().meta({ description: "Use this ruleset instead of the newest one" }),
      },
      output: assessed,
      run: async ({ lookups }, { visitor, text }) =>
        (await running(lookups).assess(visitor, text)) as z.output<typeof assessed>,
    }),
  },
} as const satisfies Resource;
