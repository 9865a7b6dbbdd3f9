// assess.ts: defines a decision about a visitor, with its request and its answer.
//
// Source: docs/decisions.md of the server.

import type { Answer } from "./answers.ts";
import { InklingError } from "./errors.ts";
import {
  type Action,
  type Decision,
  type DecisionInput,
  type DecisionOutcome,
  OUTCOMES,
  type WithFacts,
} from "./generated.ts";
import { wrong } from "./options.ts";
import { type ApiRequest, pathSegment } from "./transport.ts";

/** Options of one decision. */
export interface AssessOptions {
  /** Adds the lookups' answers with their evidence, under `ip` and `email`. */
  readonly evidence?: boolean;
  /** Adds the facts that rules read. */
  readonly facts?: boolean;
  /**
   * If the server stores decisions, it returns the same decision for a repeated key for 24 hours. Without a key, a retry
   * of this client may decide and store a second time.
   */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds, which replaces the client's limit. */
  readonly timeoutMs?: number;
}

/** What `evidence: true` adds to a decision. `ip` or `email` is missing if the visitor was described without it. */
export interface WithLookups {
  readonly ip?: {
    readonly geolocate?: Answer<"geolocate", { evidence: true }>;
    readonly reputation?: Answer<"reputation", { evidence: true; network: true }>;
  };
  readonly email?: Answer<"email", { evidence: true }>;
}

/** The decision about a visitor with these options. */
export type DecisionResult<O extends AssessOptions = Record<never, never>> = Decision &
  (O extends { readonly evidence: true } ? WithLookups : unknown) &
  (O extends { readonly facts: true } ? WithFacts : unknown);

const PATH = "/v1/assess";
const JSON_TYPE = "application/json";

/** As the server accepts it. Other text may not be sendable as a header, which would look like a broken connection. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

const ASSESS_OPTIONS: Readonly<Record<keyof AssessOptions, "boolean" | "string" | "number" | "object">> = {
  evidence: "boolean",
  facts: "boolean",
  idempotencyKey: "string",
  signal: "object",
  timeoutMs: "number",
};

/** A `Record` of all actions, so that TypeScript reports a missing action. */
const ACTIONS: Readonly<Record<Action, true>> = { allow: true, challenge: true, deny: true };

/**
 * @throws TypeError for a value that does not describe a visitor, or for an unknown option, which plain JavaScript
 *   would ignore
 * @throws InklingError IDEMPOTENCY_KEY_INVALID, because the key may come from a visitor
 */
export function checkVisitor(input: DecisionInput, options: AssessOptions = {}): void {
  if (typeof input !== "object" || input === null)
    throw wrong("the visitor", "must be an object with `event`, and with `ip`, `email` or both");
  for (const [name, value] of Object.entries(options)) {
    const type = Object.hasOwn(ASSESS_OPTIONS, name) && ASSESS_OPTIONS[name as keyof AssessOptions];
    if (type === false)
      throw wrong(
        name,
        `is not an option of assess(). The options are ${Object.keys(ASSESS_OPTIONS).join(", ")}`,
      );
    if (value !== undefined && typeof value !== type) throw wrong(name, `must be of the type ${type}`);
  }
  const { idempotencyKey } = options;
  if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey))
    throw new InklingError(
      "IDEMPOTENCY_KEY_INVALID",
      "An idempotency key must have 1 to 200 printable ASCII characters without spaces",
    );
}

/** @throws TypeError */
export function assessRequest(input: DecisionInput, options: AssessOptions): ApiRequest {
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
export function outcomeRequest(id: string, outcome: DecisionOutcome): ApiRequest {
  if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw wrong("the id", "must be the `id` of a decision");
  if (!OUTCOMES.includes(outcome)) throw wrong("the outcome", `must be one of ${OUTCOMES.join(", ")}`);
  return {
    path: `${PATH}/${pathSegment(id)}/outcome`,
    body: JSON.stringify({ outcome }),
    contentType: JSON_TYPE,
    accept: JSON_TYPE,
  };
}

/** Is this a decision? An action that this client does not support must not be treated as "not denied". */
export function isDecision(value: unknown): value is Decision {
  if (typeof value !== "object" || value === null) return false;
  const { id, action, reasons } = value as Partial<Record<keyof Decision, unknown>>;
  return (
    typeof id === "string" &&
    typeof action === "string" &&
    Object.hasOwn(ACTIONS, action) &&
    Array.isArray(reasons)
  );
}
