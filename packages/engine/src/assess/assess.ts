// assess.ts: facts and a ruleset -> the action, with the reasons for it.
//
// Order: the first live rule that matches decides; without one the score does, by two thresholds. The score is
// 1 - product of (1 - weight) over the reasons. It is no probability.

import {
  ACTIONS,
  type Action,
  type DegradedData,
  REPUTATION_FLAGS,
  type ReasonCode,
} from "@inkling/contract";
import type { Condition } from "./condition.ts";
import type { FactSchema, Facts } from "./facts.ts";
import type { Example, LiveRule, Reason, Ruleset, ShadowRule } from "./ruleset.ts";

export interface Assessment {
  readonly action: Action;
  /** A rule wants a person to look. */
  readonly review: boolean;
  /** From 0 to 1, rounded to two digits. */
  readonly score: number;
  readonly reasons: readonly { readonly code: ReasonCode; readonly weight: number }[];
  /** Name of the rule that decided; null: the score did. */
  readonly rule: string | null;
  /** What rules in shadow would have decided, from the top. */
  readonly shadow: readonly { readonly rule: string; readonly action: Action; readonly review?: true }[];
  /** What of the data is missing. */
  readonly degraded: readonly DegradedData[];
  readonly ruleset: number;
}

/** Data whose absence counts: without it a visitor with a flag looks like one without. */
const FLAG_DATA: ReadonlySet<DegradedData> = new Set([...REPUTATION_FLAGS, "disposable"]);

/** @param degraded data that the release lacks, of the lookups that were asked for */
export function assess(facts: Facts, ruleset: Ruleset, degraded: readonly DegradedData[]): Assessment {
  const { live, reasons: all, schema, thresholds, onMissing, number } = ruleset;
  const reasons = all.filter(({ condition }) => condition.matches(facts));
  const score = scoreOf(reasons);
  const decided = decide(live, facts);
  const unread = decided === undefined ? live : live.slice(0, live.indexOf(decided));
  const lacks = (part: { readonly condition: Condition }, data: readonly DegradedData[]) =>
    data.length > 0 && readsAny(part.condition, schema, data);
  const flags = degraded.filter((data) => FLAG_DATA.has(data));
  // A rule that read no data might have matched; so might a reason, if the score decides.
  const isOpen =
    unread.some((rule) => lacks(rule, degraded)) ||
    (decided === undefined && all.some((reason) => lacks(reason, flags)));
  const action = decided?.then ?? actionOf(score, thresholds);
  return {
    action: isOpen ? stricter(action, onMissing) : action,
    review: decided?.review ?? false,
    score: Math.round(score * 100) / 100,
    reasons: reasons.map(({ code, weight }) => ({ code, weight })),
    rule: decided?.name ?? null,
    shadow: shadowOf(ruleset.shadow, facts),
    degraded,
    ruleset: number,
  };
}

/** The rule that decides. By its type it never sees one in shadow. */
function decide(rules: readonly LiveRule[], facts: Facts): LiveRule | undefined {
  return rules.find(({ condition }) => condition.matches(facts));
}

function shadowOf(rules: readonly ShadowRule[], facts: Facts): Assessment["shadow"] {
  return rules
    .filter(({ condition }) => condition.matches(facts))
    .map(({ name, then, review }) => ({ rule: name, action: then, ...(review && { review }) }));
}

function scoreOf(reasons: readonly Reason[]): number {
  return 1 - reasons.reduce((innocent, { weight }) => innocent * (1 - weight), 1);
}

/** Floating point must not put 1 - (1 - 0.5) below 0.5. */
const SLACK = 1e-9;

function actionOf(score: number, { challenge, deny }: Ruleset["thresholds"]): Action {
  if (score + SLACK >= deny) return "deny";
  return score + SLACK >= challenge ? "challenge" : "allow";
}

const stricter = (a: Action, b: Action): Action => (ACTIONS.indexOf(a) < ACTIONS.indexOf(b) ? b : a);

function readsAny({ reads }: Condition, { fields }: FactSchema, data: readonly DegradedData[]): boolean {
  for (const index of reads) {
    const lacking = fields[index]?.data;
    if (lacking !== undefined && data.includes(lacking)) return true;
  }
  return false;
}

/** How an example of a ruleset came out. */
export interface ExampleResult {
  readonly name: string;
  readonly passed: boolean;
  /** What the example expects; undefined if it leaves that open. */
  readonly expected: Pick<Example, "action" | "rules">;
  readonly action: Action;
  /** Every rule that matches, live ones first. */
  readonly rules: readonly string[];
}

/** Runs the examples in a ruleset's file. */
export function runExamples(ruleset: Ruleset): readonly ExampleResult[] {
  return ruleset.examples.map(({ name, facts, action: wanted, rules: wantedRules }) => {
    const { action } = assess(facts, ruleset, []);
    const rules = [...ruleset.live, ...ruleset.shadow]
      .filter(({ condition }) => condition.matches(facts))
      .map((rule) => rule.name);
    const isRight = wanted === undefined || wanted === action;
    const passed = isRight && (wantedRules ?? []).every((rule) => rules.includes(rule));
    return { name, passed, expected: { action: wanted, rules: wantedRules }, action, rules };
  });
}
