// problems.ts: everything that can be wrong with a request, and the document that says so.
//
// in   a code, and where it helps a detail for the caller
// out  application/problem+json (RFC 9457): type, title, status, detail, code, request_id
// src  docs/errors.md has a section for each code; a test keeps both alike
//
// A problem is a value, not an exception: a flood of bad requests must not cost a stack trace each.
// Details never hold what the caller sent: an e-mail address or a key would end up in somebody's log.

import type { Scope } from "../keys/key.ts";

interface ProblemRow {
  readonly status: number;
  readonly title: string;
  /** Said when there is nothing better to say. */
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CHALLENGE = 'Bearer realm="inkling"';
const INVALID_TOKEN = `${CHALLENGE}, error="invalid_token"`;

/** The closed list of codes. Codes never change their meaning; new ones may come. */
export const PROBLEMS = {
  PATH_INVALID: {
    status: 400,
    title: "The path cannot be read",
    detail: "The last part of the path is not UTF-8 text in percent-encoding (RFC 3986).",
  },
  PARAMETER_INVALID: {
    status: 400,
    title: "Parameter not allowed",
    detail: "This request takes no query parameters.",
  },
  IP_ADDRESS_INVALID: {
    status: 400,
    title: "Not an IP address",
    detail:
      "Send one IPv4 address as a dotted quad, one IPv6 address, or `me`: no port, prefix, zone or brackets, and no leading zeros.",
  },
  IP_ADDRESS_RESERVED: {
    status: 400,
    title: "Not a public IP address",
    detail: "This address is reserved for special use: no visitor from the internet has it.",
  },
  BATCH_INVALID: {
    status: 400,
    title: "The batch cannot be read",
    detail:
      'Send `{"values":["…","…"]}`, or with `Content-Type: application/x-ndjson` one JSON string a line.',
  },
  VALUE_INVALID: {
    status: 400,
    title: "Not a value that can be looked up",
    detail: "A value is a JSON string.",
  },
  KEY_MISSING: {
    status: 401,
    title: "No API key",
    detail: "Send your key as `Authorization: Bearer ink_live_…`.",
    headers: { "WWW-Authenticate": CHALLENGE },
  },
  KEY_INVALID: {
    status: 401,
    title: "Unknown API key",
    detail: "This is not a key of this server, or it was revoked.",
    headers: { "WWW-Authenticate": INVALID_TOKEN },
  },
  KEY_EXPIRED: {
    status: 401,
    title: "Expired API key",
    detail: "This key was valid once. Ask the operator of this server for a new one.",
    headers: { "WWW-Authenticate": INVALID_TOKEN },
  },
  SCOPE_REQUIRED: {
    status: 403,
    title: "The key does not allow this look-up",
    detail: "This key has other scopes.",
    headers: { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope"` },
  },
  SOURCE_NOT_ALLOWED: {
    status: 403,
    title: "The key may not be used from here",
    detail:
      "This key only works from the networks that it is bound to, and this request came from another. If there is a proxy in front of this server, the operator has to list it as trusted.",
  },
  PATH_NOT_FOUND: {
    status: 404,
    title: "No such path",
    detail: "There is nothing at this path. A slash inside a value is written %2F.",
  },
  IP_ADDRESS_NOT_FOUND: {
    status: 404,
    title: "Unknown location",
    detail: "This is a public address, but the data has no place for it.",
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: "Method not allowed",
    detail: "This path does not have this method: `Allow` names those that it has.",
    headers: { Allow: "GET, HEAD" },
  },
  CONTENT_TOO_LARGE: {
    status: 413,
    title: "Request body too large",
    detail: "The body is larger than this path takes.",
  },
  CONTENT_TYPE_INVALID: {
    status: 415,
    title: "Content type not supported",
    detail: "Send `Content-Type: application/json` or `Content-Type: application/x-ndjson`, in UTF-8.",
  },
  RATE_LIMITED: {
    status: 429,
    title: "Too many requests",
    detail: "This key has used up its rate for now.",
    headers: { "Retry-After": "1" },
  },
  QUOTA_EXCEEDED: {
    status: 429,
    title: "Daily quota used up",
    detail: "This key has used up its look-ups for today (UTC).",
    headers: { "Retry-After": "3600" },
  },
  INTERNAL: {
    status: 500,
    title: "Internal error",
    detail: "This is our fault. The operator finds the cause in the log under the request_id.",
  },
  DATA_NOT_LOADED: {
    status: 503,
    title: "Data not loaded",
    detail: "The server has no data yet for this look-up, and does not guess.",
    headers: { "Retry-After": "10" },
  },
  KEYS_NOT_LOADED: {
    status: 503,
    title: "Keys not loaded",
    detail:
      "The server has not reached its database since it started, so it cannot tell whether this key is valid.",
    headers: { "Retry-After": "5" },
  },
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** One refusal, ready to be told to the caller. */
export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * @param detail for the caller; without it the table's. Never quotes what the caller sent.
 * @param headers replace the table's of the same name
 */
export function problem(
  code: ProblemCode,
  detail?: string,
  headers?: Readonly<Record<string, string>>,
): Problem {
  const row: ProblemRow = PROBLEMS[code];
  return {
    code,
    status: row.status,
    detail: detail ?? row.detail,
    headers: headers === undefined ? (row.headers ?? NO_HEADERS) : { ...row.headers, ...headers },
  };
}

/** SCOPE_REQUIRED, with the scope that is needed in words and in the challenge (RFC 6750 3.1). */
export function scopeProblem(scope: Scope): Problem {
  const challenge = PROBLEMS.SCOPE_REQUIRED.headers["WWW-Authenticate"];
  return problem("SCOPE_REQUIRED", `This look-up needs a key with the scope "${scope}".`, {
    "WWW-Authenticate": `${challenge}, scope="${scope}"`,
  });
}

/** Relative, so that it holds wherever the server is reached: the section of docs/errors.md. */
export function problemType(code: ProblemCode): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

/** The document's JSON. @param requestId none for a value of a batch: the request has one */
export function problemBody(problem: Problem, requestId?: string): string {
  const { code, status, detail } = problem;
  return JSON.stringify({
    type: problemType(code),
    title: PROBLEMS[code].title,
    status,
    detail,
    code,
    request_id: requestId,
  });
}
