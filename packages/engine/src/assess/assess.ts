// assess.ts: decides the action from facts and a ruleset, and lists the reasons for it.
//
// The first live rule that matches decides. If none matches, the score and two thresholds decide. They also decide if
// the rule only sets the mildest action ("at least") and the score's action is stricter. The score is 1 - the product
// of (1 - weight) over all reasons. It is not a probability.

import {
  ACTIONS,
  type Action,
  type DegradedData,
  REPUTATION_FLAGS,
  type ReasonCode,
} from "@inkling/contract";
import type { Condition } from "./condition.ts";
import type { FactSchema, Facts } from "./facts.ts";
import type { Example, LiveRule, Reason, Rule, Ruleset, ShadowRule } from "./ruleset.ts";

export interface Decision {
  readonly action: Action;
  /** True if `rule` asks for a person to review the visitor. */
  readonly review: boolean;
  /** From 0 to 1, rounded to two decimal places. */
  readonly score: number;
  readonly reasons: readonly {
    readonly code: ReasonCode;
    readonly weight: number;
    /** How often the reason was right (calibration.ts). */
    readonly precision?: number;
  }[];
  /**
   * Name of the first live rule that matched; null if none did. The score decides nevertheless if it is stricter and the
   * rule has `at_least`. If data is missing, `on_missing` may be stricter than both.
   */
  readonly rule: string | null;
  /** What the matching shadow rules would have decided, in the order of the file. */
  readonly shadow: readonly { readonly rule: string; readonly action: Action; readonly review?: true }[];
  /** The data that was missing. */
  readonly degraded: readonly DegradedData[];
  readonly ruleset: number;
}

/** Data behind flags and memory. Without it, a visitor with a bad record looks like any other visitor. */
const FLAG_DATA: ReadonlySet<DegradedData> = new Set([...REPUTATION_FLAGS, "disposable", "history"]);

/** @param degraded data that the release lacks and that the requested lookups need */
export function assess(facts: Facts, ruleset: Ruleset, degraded: readonly DegradedData[]): Decision {
  const { live, reasons: all, thresholds, onMissing, number } = ruleset;
  const reasons = all.filter(({ condition }) => condition.matches(facts));
  const score = scoreOf(reasons);
  const decided = decide(live, facts);
  const scored = actionOf(score, thresholds);
  const isOpen = degraded.length > 0 && couldChange(ruleset, decided, degraded);
  const action = decided === undefined ? scored : actionBy(decided, scored);
  return {
    action: isOpen ? stricter(action, onMissing) : action,
    review: decided?.review ?? false,
    score: Math.round(score * 100) / 100,
    reasons: reasons.map(({ code, weight }) => ({ code, weight })),
    rule: decided?.name ?? null,
    shadow: shadowOf(ruleset.shadow, facts, scored),
    degraded,
    ruleset: number,
  };
}

/**
 * Returns whether the missing data might have changed which rule matches, or a reason if the score counts. The rule that
 * decided counts as well: without data, `!ip.is_proxy` matches everybody.
 */
function couldChange(
  { live, reasons, schema }: Ruleset,
  decided: LiveRule | undefined,
  degraded: readonly DegradedData[],
): boolean {
  const asked = decided === undefined ? live : live.slice(0, live.indexOf(decided) + 1);
  const flags = degraded.filter((data) => FLAG_DATA.has(data));
  return (
    asked.some(({ condition }) => readsAny(condition, schema, degraded)) ||
    ((decided === undefined || decided.atLeast) &&
      reasons.some(({ condition }) => readsAny(condition, schema, flags)))
  );
}

/** Returns the rule that decides, if there is one. The parameter's type keeps shadow rules out. */
function decide(rules: readonly LiveRule[], facts: Facts): LiveRule | undefined {
  return rules.find(({ condition }) => condition.matches(facts));
}

/** @param scored the action that the score would choose */
function actionBy({ then, atLeast }: Rule, scored: Action): Action {
  return atLeast ? stricter(then, scored) : then;
}

function shadowOf(rules: readonly ShadowRule[], facts: Facts, scored: Action): Decision["shadow"] {
  return rules
    .filter(({ condition }) => condition.matches(facts))
    .map((rule) => ({
      rule: rule.name,
      action: actionBy(rule, scored),
      ...(rule.review && { review: rule.review }),
    }));
}

function scoreOf(reasons: readonly Reason[]): number {
  return 1 - reasons.reduce((innocent, { weight }) => innocent * (1 - weight), 1);
}

/** Allows for floating-point errors, so that 1 - (1 - 0.1) is not below 0.1. */
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

/** The result of one example of a ruleset. */
interface ExampleResult {
  readonly name: string;
  readonly passed: boolean;
  /** What the example expects. A field is undefined if the example does not specify it. */
  readonly expected: Pick<Example, "action" | "rules">;
  readonly action: Action;
  /** The names of all matching rules, live rules first. */
  readonly rules: readonly string[];
}

/** Runs the examples of a ruleset. */
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
