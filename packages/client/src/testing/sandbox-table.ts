// sandbox-table.ts: the form of sandbox-answers.ts, which `npm run generate` writes.

import type { Problem } from "../errors.ts";

/** An answer with its evidence, or a code. */
export type Row = Readonly<Record<string, unknown>> | string;

export interface SandboxAnswers {
  readonly version: string;
  readonly me: string;
  readonly geolocate: Readonly<Record<string, Row>>;
  readonly reputation: Readonly<Record<string, Row>>;
  /** By domain. */
  readonly email: Readonly<Record<string, Row>>;
  /** Those that differ with `?checks=mx`. */
  readonly checkedEmail: Readonly<Record<string, Row>>;
  readonly problems: Readonly<Record<string, Problem & { readonly detail: string; readonly type: string }>>;
  /** Seconds, by code. */
  readonly retryAfter: Readonly<Record<string, string>>;
  readonly documentation: readonly string[];
  readonly reserved: readonly string[];
}
