// decisions.ts: defines how a thread that answers requests stores and labels decisions. The primary uses the recorder.
// A worker uses the collector, which passes everything on to the primary.

import type { DecisionAnswer, Outcome } from "@inkling/contract";
import type { KeyId } from "../keys/key.ts";
import type { DecisionRow, RequestName } from "./record.ts";

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
}
