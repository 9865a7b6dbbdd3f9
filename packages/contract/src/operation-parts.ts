// operation-parts.ts: defines the parameters, headers and answers that rows of operations.ts share.

import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";
import type { OptIn } from "./shapes.ts";

/** Names of the schemas that the server defines (server/src/api/openapi.ts). */
export type SchemaName =
  | `${"Geolocation" | "Reputation" | "EmailVerdict"}${"" | "Answers" | "OrProblem"}`
  | `MaxMind${"City" | "Country" | "Error"}`
  | "Batch"
  | "Visitor"
  | `Decision${"" | "OrProblem"}`
  | `DecisionOutcome${"" | "Set"}`
  | "Status"
  | "Health"
  | "Ready"
  | "NotReady";
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Contents by media type. */
export type Contents = Readonly<Record<string, Content>>;
export interface Content {
  readonly schema: SchemaName | JsonSchema;
  /** The schema of each line, if the content is a stream. */
  readonly lines?: SchemaName | JsonSchema;
}

/** One value of a query parameter. */
export interface ParameterRow {
  readonly name: string;
  readonly value: string;
  /** What the value requests, or the flag that it denies. */
  readonly wants: OptIn | ReputationFlag;
  readonly description: string;
}

export interface AnswerRow {
  readonly description: string;
  /** Headers marked with "?" are not always present. */
  readonly headers: readonly string[];
  readonly content?: Contents;
}

/** Answers by status, without problem documents. */
export type Answers = Readonly<Record<number, AnswerRow>>;

export const TEXT: JsonSchema = { type: "string" };

export const PATH_VALUES: Readonly<
  Record<string, { readonly description: string; readonly schema: JsonSchema }>
> = {
  ip: {
    description:
      "An IPv4 address as a dotted quad, an IPv6 address, or `me` for the caller's own address. No port, prefix, zone, brackets or leading zeros.",
    schema: { type: "string", maxLength: 45 },
  },
  email_address: {
    description: "The whole address as one path segment. Write `/` as `%2F` and `%` as `%25`.",
    schema: TEXT,
  },
  decision_id: {
    description: "The `id` that the decision returned.",
    schema: { type: "string", pattern: "^asm_[0-9A-Za-z]{16}$" },
  },
  file: { description: "The file's name.", schema: TEXT },
};

/** Request headers that change an answer, and what they do. */
export const REQUEST_HEADERS = {
  "Idempotency-Key":
    "1 to 200 printable characters, new for each attempt of a visitor. If the server stores decisions, repeating the request with the same key within 24 hours returns the same decision.",
  "If-None-Match": "The `ETag` of an earlier answer. Returns 304 while that answer is still valid.",
  "X-Forwarded-For": "The visitor's address.",
} as const;

export const EVIDENCE: ParameterRow = {
  name: "include",
  value: "evidence",
  wants: "evidence",
  description:
    "`evidence` adds the feeds and rules behind the answer, each with its claim, network or domain, and time.",
};
export const OF_ADDRESSES: readonly ParameterRow[] = [
  EVIDENCE,
  {
    name: "include",
    value: "network",
    wants: "network",
    description:
      "`network` adds the network's owner and kind. `network` is null if the release has no such data.",
  },
  {
    name: "include",
    value: "subject",
    wants: "subject",
    description:
      "`subject` adds `ip`, the address that was looked up, and `prefix`, the network with this answer.",
  },
];
/** Parameters of decisions. */
export const OF_DECISIONS: readonly ParameterRow[] = [
  {
    name: "include",
    value: "evidence",
    wants: "evidence",
    description: "`evidence` adds the lookups with their evidence, under `ip` and `email`.",
  },
  {
    name: "include",
    value: "facts",
    wants: "facts",
    description: "`facts` adds the facts that rules read.",
  },
];
/** The parameter of the status. */
export const OF_STATUS: readonly ParameterRow[] = [
  {
    name: "include",
    value: "feeds",
    wants: "feeds",
    description: "`feeds` adds the state of each feed, and the release's segments.",
  },
];
export const MX: ParameterRow = {
  name: "checks",
  value: "mx",
  wants: "mx",
  description: "`mx` asks DNS whether the domain accepts mail, and adds `checks.mx`.",
};
export const DENIED: readonly ParameterRow[] = REPUTATION_FLAGS.map((flag) => {
  const { deny, plural } = FLAG_ROWS[flag];
  const isFirst = flag === REPUTATION_FLAGS[0];
  const isLast = flag === REPUTATION_FLAGS.at(-1);
  const end = isLast ? ". Without it, every visitor passes." : ",";
  const description = `${isFirst ? "Refuses " : ""}${plural} (\`${flag}\`)${end}`;
  return { name: "deny", value: deny, wants: flag, description };
});

const JSON_TYPE = "application/json";
export const NDJSON_TYPE = "application/x-ndjson";
/** Headers of every answer. */
export const COMMON_HEADERS = [
  "Inkling-Data-Version",
  "X-Request-Id",
  "Cache-Control",
  "traceparent?",
] as const;
/**
 * Headers of every answer to a request with a known key. For a key without limits, the rate-limit headers are omitted.
 */
export const KEYED_HEADERS = [...COMMON_HEADERS, "RateLimit-Policy?", "RateLimit?"] as const;

export const json = (schema: Content["schema"]): Contents => ({ [JSON_TYPE]: { schema } });

const OF_ADDRESS_ANSWERS = [...KEYED_HEADERS, "ETag", "Vary", "Inkling-Data-State?"];
export const addressAnswers = (schema: SchemaName): Answers => ({
  200: { description: "The answer", headers: OF_ADDRESS_ANSWERS, content: json(schema) },
  304: {
    description: "The answer with the ETag in `If-None-Match` is still valid",
    headers: OF_ADDRESS_ANSWERS,
  },
});

export const batchAnswers = (of: "Geolocation" | "Reputation" | "EmailVerdict"): Answers => ({
  200: {
    description: "One answer or problem for each value, in order",
    headers: [...KEYED_HEADERS, "Inkling-Data-State?", "Content-Encoding?"],
    content: {
      ...json(`${of}Answers`),
      [NDJSON_TYPE]: { schema: TEXT, lines: `${of}OrProblem` },
    },
  },
});

/** Headers of a verdict for a proxy. */
export const FOUND_HEADERS = ["Inkling-Flags", "Inkling-Country"] as const;

export function maxmindAnswers(service: "city" | "country", schema: SchemaName): Answers {
  const refused: AnswerRow = {
    description: "Refused, with MaxMind's code if MaxMind has a code for the reason",
    headers: [...KEYED_HEADERS, "Retry-After?", "WWW-Authenticate?", "Connection?"],
    content: { "application/vnd.maxmind.com-error+json": { schema: "MaxMindError" } },
  };
  return {
    200: {
      description: "The answer",
      headers: [...KEYED_HEADERS, "Vary", "Inkling-Data-State?"],
      content: { [`application/vnd.maxmind.com-${service}+json`]: { schema } },
    },
    // All problems except those about methods have MaxMind's format.
    ...Object.fromEntries(
      [400, 401, 402, 403, 404, 415, 422, 429, 500, 503].map((status) => [status, refused]),
    ),
  };
}

const PAGE_HEADERS = [
  ...COMMON_HEADERS,
  "ETag",
  "X-Content-Type-Options",
  "Content-Security-Policy?",
  "Referrer-Policy?",
];
export const UNCHANGED_PAGE: AnswerRow = { description: "Not modified", headers: PAGE_HEADERS };
export const pageAnswers = (...types: string[]): Answers => ({
  200: {
    description: "The page",
    headers: PAGE_HEADERS,
    content: Object.fromEntries(types.map((type) => [type, { schema: TEXT }])),
  },
  304: UNCHANGED_PAGE,
});
