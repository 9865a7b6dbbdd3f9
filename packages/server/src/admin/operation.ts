// operation.ts: one operation of the admin API as one row: path, parameters, body, answer, problems, and what it does.
//
// The router (app.ts) and the OpenAPI document (openapi/admin.ts) both read these rows: a path is added in one place.
// @hono/zod-openapi was tried instead: its generator renders 9 of the public API's 13 schemas differently, it brings
// five more packages, and a row would still need its problems and headers spelled out as responses.

import type { z } from "zod";
import type { AdminProblemCode } from "../http/problems.ts";
import type { Actor } from "../keys/actor.ts";
import type { AdminContext } from "./context.ts";
import type { Session } from "./sessions.ts";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Groups of the OpenAPI document. */
export const TAGS = {
  "Log in": "A cookie in place of the token, for web pages.",
  "Look up": "The API's answers, for the operator.",
  Data: "Feeds and releases.",
  Keys: "API keys and their usage.",
  Overrides: "The operator's own verdicts.",
  Watch: "Traffic, hosts and the audit trail.",
} as const;

/** One authorized request. */
export interface Call<Query, Body> {
  readonly request: Request;
  readonly query: Query;
  readonly body: Body;
  /** The value of `{id}` in the path. */
  readonly id: string;
  /** For the audit trail. */
  readonly by: Actor;
  /** Undefined where the request carries the token itself. */
  readonly session: Session | undefined;
}

export interface Reply {
  readonly document: unknown;
  /** Unless it is the operation's own. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

type Query = Readonly<Record<string, z.ZodType>>;

interface Row<Q extends Query, B> {
  /** `operationId` of the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /** Below ADMIN_PATH, with at most one `{id}`. */
  readonly path: string;
  /** Pattern of `{id}`; anything else is PATH_NOT_FOUND. */
  readonly idPattern?: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly query?: Q;
  readonly body?: BodyFormat<B>;
  /** What the reply's document holds. */
  readonly answer: z.ZodType;
  /** Of a success; 200 unless given. */
  readonly status?: number;
  /** Another status with the same answer. */
  readonly otherStatus?: number;
  /** Headers of the answer beside the usual ones; those marked with "?" are not always there. */
  readonly headers?: readonly string[];
  /** Problems beside those of every operation. */
  readonly codes?: readonly AdminProblemCode[];
  /** Needs neither token nor session. */
  readonly isOpen?: boolean;
  /** Done once for each `Idempotency-Key`. */
  readonly isIdempotent?: boolean;
  /** A method, so that rows of all types fit {@link Operation}. */
  run(context: AdminContext, call: Call<z.output<z.ZodObject<Q>>, B>): Promise<Reply> | Reply;
}

export interface BodyFormat<T> {
  readonly schema: z.ZodType<T>;
  /** Hands the JSON on as it came: `run` gives it to a function of `keys/` or `overrides/`, with errors of its own. */
  readonly isRaw?: boolean;
  readonly maxBytes?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: the type of query and body is known to the row alone
export type Operation = Row<any, any>;

/** Ties the types that `run` gets to the schemas of query and body. */
export function operation<Q extends Query = Record<never, never>, B = undefined>(row: Row<Q, B>): Operation {
  return row;
}

/** A body that is described here, and checked by what `run` calls. */
export function rawBody(schema: z.ZodType, maxBytes?: number): BodyFormat<unknown> {
  return { schema, isRaw: true, ...(maxBytes !== undefined && { maxBytes }) };
}
