// assess.ts: a decision about a visitor: what is sent, and what the answer has.
//
// src  docs/decisions.md of the server

import type { Answer } from "./answers.ts";
import {
  type Action,
  type Assessment,
  type AssessmentInput,
  type AssessmentOutcome,
  OUTCOMES,
  type WithFacts,
} from "./generated.ts";
import { wrong } from "./options.ts";
import type { ApiRequest } from "./transport.ts";

/** Options of one assessment. */
export interface AssessOptions {
  /** Adds the answers of the lookups with their evidence, under `ip` and `email`. */
  readonly evidence?: boolean;
  /** Adds what rules read. */
  readonly facts?: boolean;
  /** A server that stores decisions answers the same key with the same decision for 24 hours. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
}

/** What `evidence: true` adds to an assessment. Without an address or an email address its answers are left out. */
export interface WithLookups {
  readonly ip?: {
    readonly geolocate?: Answer<"geolocate", { evidence: true }>;
    readonly reputation?: Answer<"reputation", { evidence: true; network: true }>;
  };
  readonly email?: Answer<"email", { evidence: true }>;
}

/** The decision about a visitor with these options. */
export type AssessmentResult<O extends AssessOptions = Record<never, never>> = Assessment &
  (O extends { readonly evidence: true } ? WithLookups : unknown) &
  (O extends { readonly facts: true } ? WithFacts : unknown);

const PATH = "/v1/assess";
const JSON_TYPE = "application/json";

const ASSESS_OPTIONS: Readonly<Record<keyof AssessOptions, "boolean" | "string" | "number" | "object">> = {
  evidence: "boolean",
  facts: "boolean",
  idempotencyKey: "string",
  signal: "object",
  timeoutMs: "number",
};

/** A `Record` of all actions, so that TypeScript reports one that is missing here. */
const ACTIONS: Readonly<Record<Action, true>> = { allow: true, challenge: true, deny: true };

/** @throws TypeError for what is no visitor, or no option: JavaScript alone would ignore it */
export function checkVisitor(input: AssessmentInput, options: AssessOptions = {}): void {
  if (typeof input !== "object" || input === null)
    throw wrong("the visitor", "must be an object with `event`, and with `ip`, `email` or both");
  for (const [name, value] of Object.entries(options)) {
    const type = Object.hasOwn(ASSESS_OPTIONS, name) && ASSESS_OPTIONS[name as keyof AssessOptions];
    if (type === false)
      throw wrong(name, `is no option of assess(); there are ${Object.keys(ASSESS_OPTIONS).join(", ")}`);
    if (value !== undefined && typeof value !== type) throw wrong(name, `must be of the type ${type}`);
  }
}

/** @throws TypeError */
export function assessRequest(input: AssessmentInput, options: AssessOptions): ApiRequest {
  checkVisitor(input, options);
  const included = (["evidence", "facts"] as const).filter((name) => options[name] === true);
  return {
    path: included.length === 0 ? PATH : `${PATH}?include=${included.join(",")}`,
    body: JSON.stringify(input),
    contentType: JSON_TYPE,
    accept: JSON_TYPE,
    ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
  };
}

/** @throws TypeError */
export function outcomeRequest(id: string, outcome: AssessmentOutcome): ApiRequest {
  if (typeof id !== "string" || id === "") throw wrong("the id", "must be the `id` of an assessment");
  if (!OUTCOMES.includes(outcome)) throw wrong("the outcome", `must be one of ${OUTCOMES.join(", ")}`);
  return {
    path: `${PATH}/${encodeURIComponent(id)}/outcome`,
    body: JSON.stringify({ outcome }),
    contentType: JSON_TYPE,
    accept: JSON_TYPE,
  };
}

/** Is this a decision? One with an action that this client does not know must not pass as "not denied". */
export function isAssessment(value: unknown): value is Assessment {
  if (typeof value !== "object" || value === null) return false;
  const { id, action, reasons } = value as Partial<Record<keyof Assessment, unknown>>;
  return (
    typeof id === "string" &&
    typeof action === "string" &&
    Object.hasOwn(ACTIONS, action) &&
    Array.isArray(reasons)
  );
}
