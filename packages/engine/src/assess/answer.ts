// answer.ts: converts a decision about a visitor to the answer that programs receive. It also computes the decision
// without each of its reasons, and without its rule, and the facts behind it.

import type { Action, DecisionAnswer, DegradedData, ReasonCode } from "@inkling/contract";
import { assess, type Decision } from "./assess.ts";
import type { Facts } from "./facts.ts";
import { historyAnswer, type Memories } from "./history.ts";
import type { Ruleset } from "./ruleset.ts";
import type { ExplainedAnswers } from "./visitor.ts";

/** Optional parts of an answer, chosen by `include`. */
interface Included {
  readonly facts?: { readonly values: Facts; readonly ruleset: Ruleset } | undefined;
  readonly evidence?: ExplainedAnswers | undefined;
  /** What the server remembers about the visitor. */
  readonly memories?: Memories | undefined;
}

/**
 * @param dataVersion id of the release
 * @param didYouMean the email address that the visitor probably meant
 */
export function decisionAnswer(
  id: string,
  decision: Decision,
  dataVersion: string,
  didYouMean: string | undefined,
  { facts, evidence, memories }: Included,
): DecisionAnswer {
  const history = memories && historyAnswer(memories);
  return {
    id,
    ...decision,
    data_version: dataVersion,
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
    ...(history !== undefined && { history }),
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

/**
 * The score and action that a visitor would get without one of the reasons, without the rule that decided, or without
 * `on_missing`.
 */
export interface Alternative {
  readonly without:
    | { readonly reason: ReasonCode }
    | { readonly rule: string }
    | { readonly on_missing: Action };
  readonly score: number;
  readonly action: Action;
}

/**
 * @returns one alternative for each reason, then one for the rule that decided, then one for `on_missing` if it decided
 */
export function alternatives(
  facts: Facts,
  ruleset: Ruleset,
  degraded: readonly DegradedData[],
): readonly Alternative[] {
  const { action, reasons, rule } = assess(facts, ruleset, degraded);
  const outcomeOf = (changed: Partial<Ruleset>) => {
    const { score, action } = assess(facts, { ...ruleset, ...changed }, degraded);
    return { score, action };
  };
  const withoutReason = reasons.map(({ code }) => ({
    without: { reason: code },
    ...outcomeOf({ reasons: ruleset.reasons.filter((reason) => reason.code !== code) }),
  }));
  const complete = assess(facts, ruleset, []); // as if no data were missing
  return [
    ...withoutReason,
    ...(rule === null
      ? []
      : [{ without: { rule }, ...outcomeOf({ live: ruleset.live.filter(({ name }) => name !== rule) }) }]),
    ...(complete.action === action
      ? []
      : [{ without: { on_missing: ruleset.onMissing }, score: complete.score, action: complete.action }]),
  ];
}

interface Explained {
  readonly rule: string | null;
  readonly shadow: readonly { readonly rule: string }[];
  readonly reasons: readonly { readonly code: string }[];
}

/** Returns the names of the facts that a decision's matching rules and its reasons read. */
export function factsRead({ rule, shadow, reasons }: Explained, ruleset: Ruleset): string[] {
  const names = new Set([rule, ...shadow.map((one) => one.rule)]);
  const codes = new Set(reasons.map(({ code }) => code));
  const matched = [
    ...[...ruleset.live, ...ruleset.shadow].filter(({ name }) => names.has(name)),
    ...[...ruleset.reasons, ...ruleset.unweighted].filter(({ code }) => codes.has(code)),
  ];
  const read = new Set(matched.flatMap(({ condition }) => [...condition.reads]));
  return ruleset.schema.fields.filter(({ index }) => read.has(index)).map(({ name }) => name);
}

/** Returns the action of the decision's rule. The decision's action is stricter if the score or `on_missing` decided. */
export const actionOfRule = ({ rule }: Pick<Explained, "rule">, { live }: Ruleset): Action | null =>
  live.find(({ name }) => name === rule)?.then ?? null;
