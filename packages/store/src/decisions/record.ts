// record.ts: defines the stored form of a decision: what was decided about a visitor, and from which facts
// (decisions/decided.ts), and how a thread that answers requests stores and labels decisions.
//
// A row holds no mailbox, account or full address, only hashes of them with a key that is not in the database. Facts
// contain the network as a /24 or /48, and the domain of an email address. The user agent is omitted unless a rule of
// the ruleset that decided reads it (docs/decisions.md#stored-decisions).

import type { Action, DecisionAnswer, DegradedData, Outcome } from "@inkling/contract";
import type { FactValue, Memories, PastDecision } from "@inkling/engine/assess";
import { isoTime, isoTimeOrNull, optionalNumber } from "../keys/day.ts";
import type { EpochMs, KeyId } from "../keys/key.ts";
import type { MemoryQuestion } from "./memory.ts";

/** Maximum milliseconds that a decision waits for what earlier decisions say. */
export const RECALL_MS = 50;

/**
 * Hashes by which later decisions recognize a visitor (server, decisions/memory.ts). A hash is null unless a rule or
 * reason reads facts that depend on it.
 */
export interface TraceColumns {
  readonly mailbox_hash: string | null;
  readonly network_hash: string | null;
  readonly address_hash: string | null;
  readonly account_hash: string | null;
}

/**
 * A decision as database columns. Workers use the same form to hand decisions to the primary. JSON columns have the
 * shape of the answer's fields.
 */
export interface DecisionRow extends TraceColumns {
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
  /** The API key that asked for the decision; null in decisions of earlier versions. */
  readonly key_id: string | null;
  /** The answer's `X-Request-Id`, and the id of the caller's trace; null in decisions of earlier versions. */
  readonly request_id: string | null;
  readonly trace_id: string | null;
  /** Hash of the API key's id and the `Idempotency-Key`; null without the header. */
  readonly idempotency: string | null;
  /** Hash of the request's body (assess/answer.ts); null without the header. */
  readonly body_hash: string | null;
  /** Codes of the reasons that applied with weight 0, separated by spaces; null without any. */
  readonly unweighted: string | null;
}

/** About how much memory a row takes in addition to the fields that callers and rulesets can make large. */
const ROW_BYTES = 600;

/** Identifies a request that must be decided only once. */
export interface RequestName {
  readonly idempotency: string;
  readonly body_hash: string;
}

/** The part of a row that answers a repeated request. */
export type AnsweredRow = Omit<DecisionRow, keyof TraceColumns>;

/** A row as the store returns it, without its hashes. PostgreSQL returns large numbers as text. */
export interface StoredRow extends Omit<AnsweredRow, "created_at" | "review"> {
  readonly created_at: EpochMs | string;
  readonly review: number;
  readonly outcome: Outcome | null;
  readonly outcome_at: EpochMs | string | null;
  readonly outcome_note: string | null;
}

/** A stored decision as the admin API and `inkling decisions` return it. */
export function decisionJson(row: StoredRow) {
  const { id, event, ref, action, score, rule, data_version, outcome } = row;
  return {
    id,
    at: isoTime(Number(row.created_at)),
    event,
    ref,
    action,
    review: row.review === 1,
    score,
    reasons: JSON.parse(row.reasons) as DecisionAnswer["reasons"],
    rule,
    shadow: JSON.parse(row.shadow) as DecisionAnswer["shadow"],
    degraded: JSON.parse(row.degraded) as readonly DegradedData[],
    ruleset: row.ruleset,
    data_version,
    request_id: row.request_id,
    trace_id: row.trace_id,
    facts: JSON.parse(row.facts) as Readonly<Record<string, FactValue>>,
    outcome,
    outcome_at: isoTimeOrNull(optionalNumber(row.outcome_at)),
    outcome_note: row.outcome_note,
  };
}

/** Extracts the fields of a decision that a replay reads. */
export function pastDecision(row: StoredRow): PastDecision {
  const { id, ref, action, rule, outcome } = row;
  const [degraded, facts] = [JSON.parse(row.degraded), JSON.parse(row.facts)];
  return {
    id,
    at: isoTime(Number(row.created_at)),
    ref,
    action,
    rule,
    degraded,
    facts,
    outcome,
  };
}

/** Returns about how much memory a row takes, in bytes, without a pass over its text. */
export function rowBytes({ facts, reasons, shadow, event, ref }: DecisionRow): number {
  return ROW_BYTES + facts.length + reasons.length + shadow.length + event.length + (ref?.length ?? 0);
}

/** Returns the answer that was sent with a decision, without the fields that `include` adds. */
export function answerOf(row: AnsweredRow): DecisionAnswer {
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

/** A decision about a request that carried an `Idempotency-Key`. */
export type NamedDecision = DecisionRow & RequestName;

/** The decision about the first request with an `Idempotency-Key`. */
export interface Claimed {
  readonly answer: DecisionAnswer;
  /** Hash of the body of the first request with the key. */
  readonly bodyHash: string;
}

/** "unreachable" means that the database is unreachable. */
export type LabelResult = "labelled" | "unknown" | "unreachable";

/** The primary uses the recorder. A worker uses the collector, which passes everything on to the primary. */
export interface Decisions {
  /** Stores a decision later, off the request path. Never throws or waits. */
  record(row: DecisionRow): void;
  /**
   * Stores a decision now, unless an earlier request had the same name.
   * @returns the decision of the first such request
   */
  claim(row: NamedDecision): Promise<Claimed>;
  /**
   * Labels a decision, even if it is not stored yet.
   * @param key the API key that sent the label, which may label only its own decisions; undefined for an operator
   */
  label(id: string, outcome: Outcome, key?: KeyId): Promise<LabelResult>;
  /**
   * Reads what earlier decisions say about a visitor. Never rejects.
   * @returns undefined if the database did not answer within {@link RECALL_MS}
   */
  recall(question: MemoryQuestion): Promise<Memories | undefined>;
}
