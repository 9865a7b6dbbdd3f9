// record.ts: a decision as it is stored: what was decided about a visitor, and from which facts (assess/decided.ts).
//
// note No mailbox and no full address is in it: facts have the network as /24 or /48, and the domain of an email address.
//      The user agent is left out unless a rule of the ruleset that decided reads it (docs/stored-decisions.md).

import type { Action, AssessmentAnswer, DegradedData, Outcome } from "@inkling/contract";
import type { FactValue, PastDecision } from "@inkling/engine/assess";
import type { EpochMs } from "../keys/key.ts";

/** As columns, which are also how workers hand it to the primary. Members in JSON have the shape of the answer's. */
export interface DecisionRow {
  readonly id: string;
  readonly created_at: EpochMs;
  readonly event: string;
  readonly ref: string | null;
  readonly ruleset: number;
  readonly data_version: string;
  readonly action: Action;
  readonly review: 0 | 1;
  readonly score: number;
  readonly rule: string | null;
  readonly reasons: string;
  readonly shadow: string;
  readonly degraded: string;
  readonly facts: string;
  readonly email_domain: string | null;
  /** Names the API key and its `Idempotency-Key`; null without the header. */
  readonly idempotency: string | null;
  /** Names what was sent with it. */
  readonly body_hash: string | null;
}

/** A stored decision for programs: the admin API and `inkling decisions` give it. */
export interface DecisionJson {
  readonly id: string;
  readonly at: string;
  readonly event: string;
  readonly ref: string | null;
  readonly action: Action;
  readonly review: boolean;
  readonly score: number;
  readonly reasons: AssessmentAnswer["reasons"];
  readonly rule: string | null;
  readonly shadow: AssessmentAnswer["shadow"];
  readonly degraded: readonly DegradedData[];
  readonly ruleset: number;
  readonly data_version: string;
  readonly facts: Readonly<Record<string, FactValue>>;
  readonly outcome: Outcome | null;
  readonly outcome_at: string | null;
}

/** Names a request that must be answered once. */
export interface RequestName {
  readonly idempotency: string;
  readonly body_hash: string;
}

/** A row as the store returns it. PostgreSQL's large numbers are text. */
export interface StoredRow extends Omit<DecisionRow, "created_at" | "review"> {
  readonly created_at: EpochMs | string;
  readonly review: number;
  readonly outcome: Outcome | null;
  readonly outcome_at: EpochMs | string | null;
}

export function decisionJson(row: StoredRow): DecisionJson {
  const { id, event, ref, action, score, rule, data_version, outcome } = row;
  return {
    id,
    at: new Date(Number(row.created_at)).toISOString(),
    event,
    ref,
    action,
    review: row.review === 1,
    score,
    reasons: JSON.parse(row.reasons),
    rule,
    shadow: JSON.parse(row.shadow),
    degraded: JSON.parse(row.degraded),
    ruleset: row.ruleset,
    data_version,
    facts: JSON.parse(row.facts),
    outcome,
    outcome_at: row.outcome_at === null ? null : new Date(Number(row.outcome_at)).toISOString(),
  };
}

/** What a replay reads of a decision. */
export function pastDecision(row: StoredRow): PastDecision {
  const { id, ref, action, rule, outcome } = row;
  const [degraded, facts] = [JSON.parse(row.degraded), JSON.parse(row.facts)];
  return {
    id,
    at: new Date(Number(row.created_at)).toISOString(),
    ref,
    action,
    rule,
    degraded,
    facts,
    outcome,
  };
}

/** The answer that a decision was given as, without what `include` adds. */
export function answerOf(row: DecisionRow): AssessmentAnswer {
  const { id, action, score, rule, ruleset, data_version } = row;
  return {
    id,
    action,
    review: row.review === 1,
    score,
    reasons: JSON.parse(row.reasons),
    rule,
    shadow: JSON.parse(row.shadow),
    degraded: JSON.parse(row.degraded),
    ruleset,
    data_version,
  };
}
