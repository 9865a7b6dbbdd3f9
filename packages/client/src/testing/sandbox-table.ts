// sandbox-table.ts: the types of sandbox-answers.ts, which `npm run generate` writes.

import type { Problem } from "../errors.ts";
import type { FactValues, ReasonCode } from "../generated.ts";

/** An answer with its evidence, or an error code. */
export type Row = Readonly<Record<string, unknown>> | string;

/** What an address or a domain contributes to a decision. */
export interface Share {
  readonly reasons: readonly ReasonCode[];
  readonly facts: FactValues;
}

export interface SandboxAnswers {
  readonly version: string;
  readonly me: string;
  readonly geolocate: Readonly<Record<string, Row>>;
  readonly reputation: Readonly<Record<string, Row>>;
  /** Answers by domain. */
  readonly email: Readonly<Record<string, Row>>;
  /** Answers that differ with `?checks=mx`. */
  readonly checkedEmail: Readonly<Record<string, Row>>;
  /** A share, or an error code. */
  readonly assessedAddresses: Readonly<Record<string, Share | string>>;
  readonly assessedDomains: Readonly<Record<string, Share | string>>;
  /** In the order in which answers list the reasons. */
  readonly weights: Readonly<Record<string, number>>;
  readonly thresholds: { readonly challenge: number; readonly deny: number };
  readonly problems: Readonly<Record<string, Problem & { readonly detail: string; readonly type: string }>>;
  /** Retry-After in seconds, by code. */
  readonly retryAfter: Readonly<Record<string, string>>;
  readonly documentation: readonly string[];
  readonly reserved: readonly string[];
}
