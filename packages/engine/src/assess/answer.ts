// answer.ts: converts a decision about a visitor to the answer that programs receive. It also computes the decision
// without each of its reasons, and without its rule.

import type { Action, AssessmentAnswer, DegradedData, ReasonCode } from "@inkling/contract";
import { type Assessment, assess } from "./assess.ts";
import type { Facts } from "./facts.ts";
import type { Ruleset } from "./ruleset.ts";
import type { ExplainedAnswers } from "./visitor.ts";

/** Optional parts of an answer, chosen by `include`. */
export interface Included {
  readonly facts?: { readonly values: Facts; readonly ruleset: Ruleset } | undefined;
  readonly evidence?: ExplainedAnswers | undefined;
}

/**
 * @param dataVersion id of the release
 * @param didYouMean the email address that the visitor probably meant
 */
export function assessmentAnswer(
  id: string,
  decision: Assessment,
  dataVersion: string,
  didYouMean: string | undefined,
  { facts, evidence }: Included,
): AssessmentAnswer {
  return {
    id,
    ...decision,
    data_version: dataVersion,
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
    ...(facts !== undefined && { facts: namedFacts(facts.values, facts.ruleset) }),
    ...evidence,
  };
}

/** @returns the known facts, keyed by name */
export function namedFacts(
  facts: Facts,
  { schema }: Pick<Ruleset, "schema">,
): Readonly<Record<string, unknown>> {
  const named: Record<string, unknown> = {};
  for (const { name, index } of schema.fields) {
    const value = facts[index];
    if (value !== undefined) named[name] = value;
  }
  return named;
}

/** The score and action that a visitor would get without one of the reasons, or without the rule that decided. */
export interface Alternative {
  readonly without: { readonly reason: ReasonCode } | { readonly rule: string };
  readonly score: number;
  readonly action: Action;
}

/** @returns one alternative for each reason, then one for the rule that decided */
export function alternatives(
  facts: Facts,
  ruleset: Ruleset,
  degraded: readonly DegradedData[],
): readonly Alternative[] {
  const { reasons, rule } = assess(facts, ruleset, degraded);
  const outcomeOf = (changed: Partial<Ruleset>) => {
    const { score, action } = assess(facts, { ...ruleset, ...changed }, degraded);
    return { score, action };
  };
  const withoutReason = reasons.map(({ code }) => ({
    without: { reason: code },
    ...outcomeOf({ reasons: ruleset.reasons.filter((reason) => reason.code !== code) }),
  }));
  if (rule === null) return withoutReason;
  const withoutRule = outcomeOf({ live: ruleset.live.filter(({ name }) => name !== rule) });
  return [...withoutReason, { without: { rule }, ...withoutRule }];
}
