// answer.ts: a decision about a visitor, as programs get it, and what would have changed it.

import type { Action, AssessmentAnswer, DegradedData, ReasonCode } from "@inkling/contract";
import { type Assessment, assess } from "./assess.ts";
import type { Facts } from "./facts.ts";
import type { Ruleset } from "./ruleset.ts";
import type { VisitorAnswers } from "./visitor.ts";

/** What `include` adds to an answer. */
export interface Included {
  readonly facts?: { readonly values: Facts; readonly ruleset: Ruleset } | undefined;
  readonly evidence?: VisitorAnswers | undefined;
}

/** @param dataVersion id of the release */
export function assessmentAnswer(
  id: string,
  decision: Assessment,
  dataVersion: string,
  { facts, evidence }: Included,
): AssessmentAnswer {
  return {
    id,
    ...decision,
    data_version: dataVersion,
    ...(facts !== undefined && { facts: namedFacts(facts.values, facts.ruleset) }),
    ...(evidence?.address !== undefined && {
      ip: {
        ...(evidence.place !== undefined && { geolocate: evidence.place }),
        ...(evidence.reputation !== undefined && { reputation: evidence.reputation }),
      },
    }),
    ...(evidence?.email !== undefined && { email: evidence.email }),
  };
}

/** By name, without those that are not known. */
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

/** What a visitor would get without one of the reasons, or without the rule that decided. */
export interface Alternative {
  readonly without: { readonly reason: ReasonCode } | { readonly rule: string };
  readonly score: number;
  readonly action: Action;
}

/** For each reason, and for the rule that decided, in that order. */
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
