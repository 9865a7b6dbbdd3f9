// decisions.ts: what the processes that answer requests need of stored decisions: in the primary the recorder, in a worker
// the collector, which passes everything on to it.

import type { AssessmentAnswer, Outcome } from "@inkling/contract";
import type { DecisionRow, RequestName } from "./record.ts";

/** A decision about a request with an `Idempotency-Key`. */
export type NamedDecision = DecisionRow & RequestName;

/** The decision about the first request with an `Idempotency-Key`. */
export interface Claimed {
  readonly answer: AssessmentAnswer;
  /** Of what was sent with the key. */
  readonly bodyHash: string;
}

/** away: the database is unreachable. */
export type LabelResult = "labelled" | "unknown" | "away";

export interface Decisions {
  /** Stores a decision later, off the request path. Never throws or waits. */
  record(row: DecisionRow): void;
  /** Stores it now, unless an earlier request had the same name. @returns the earlier decision, or this one */
  claim(row: NamedDecision): Promise<Claimed>;
  /** Labels a decision, also one that is not stored yet. */
  label(id: string, outcome: Outcome): Promise<LabelResult>;
}
