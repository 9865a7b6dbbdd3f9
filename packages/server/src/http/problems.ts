// problems.ts: everything that can be wrong with a request, and its problem document.
//
// in   a code, and where it helps a detail for the caller
// out  application/problem+json (RFC 9457): type, title, status, detail, code, request_id
// src  docs/errors.md has a section for each code; a test keeps both alike
//
// A problem is a value, not an exception: a flood of bad requests must not cost a stack trace each.
// Details never quote the request: an email address or a key would end up in a client's log.

interface ProblemRow {
  readonly status: number;
  readonly title: string;
  /** Where there is nothing more specific. */
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

const CHALLENGE = 'Bearer realm="inkling"';
const INSUFFICIENT_SCOPE = `${CHALLENGE}, error="insufficient_scope"`;
const INVALID_TOKEN = `${CHALLENGE}, error="invalid_token"`;

function row(
  status: number,
  title: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): ProblemRow {
  return { status, title, detail, headers };
}

/** The closed list of codes. Codes never change their meaning; new ones may come. */
export const PROBLEMS = {
  PATH_INVALID: row(
    400,
    "The path cannot be read",
    "The last part of the path is not UTF-8 text in percent-encoding (RFC 3986).",
  ),
  PARAMETER_INVALID: row(400, "Parameter not allowed", "This request takes no query parameters."),
  IP_ADDRESS_INVALID: row(
    400,
    "Not an IP address",
    "Send one IPv4 address as a dotted quad, one IPv6 address, or `me`: no port, prefix, zone or brackets, and no leading zeros.",
  ),
  IP_ADDRESS_RESERVED: row(
    400,
    "Not a public IP address",
    "This address is reserved for special use: no visitor from the internet has it.",
  ),
  HOST_INVALID: row(
    400,
    "The Host header cannot be read",
    "Send one `Host` header: a host name or an IP address, with a port where there is one.",
    { Connection: "close" }, // whoever is in front may read the next request on it differently, too
  ),
  BATCH_INVALID: row(
    400,
    "The batch cannot be read",
    'Send `{"values":["…","…"]}`, or with `Content-Type: application/x-ndjson` one JSON string a line.',
  ),
  VALUE_INVALID: row(400, "Not a value that can be looked up", "A value is a JSON string."),
  KEY_MISSING: row(401, "No API key", "Send your key as `Authorization: Bearer ink_live_…`.", {
    "WWW-Authenticate": CHALLENGE,
  }),
  KEY_INVALID: row(401, "Unknown API key", "This is not a key of this server, or it was revoked.", {
    "WWW-Authenticate": INVALID_TOKEN,
  }),
  KEY_EXPIRED: row(
    401,
    "Expired API key",
    "This key was valid once. Ask the operator of this server for a new one.",
    { "WWW-Authenticate": INVALID_TOKEN },
  ),
  SCOPE_REQUIRED: row(403, "The key does not allow this lookup", "This key has other scopes.", {
    "WWW-Authenticate": INSUFFICIENT_SCOPE,
  }),
  SOURCE_NOT_ALLOWED: row(
    403,
    "The key may not be used from here",
    "This key only works from the networks that it is bound to, and this request came from another. If there is a proxy in front of this server, the operator has to list it as trusted.",
  ),
  CALLER_UNKNOWN: row(
    403,
    "The caller's address is not known",
    "This key only works from the networks that it is bound to, and the trusted proxy that sent this request does not name the caller. Have the proxy send `X-Forwarded-For`, or remove it from INKLING_TRUSTED_PROXIES.",
  ),
  VISITOR_DENIED: row(
    403,
    "Visitor denied",
    "The visitor's address has a flag that `deny` names: `Inkling-Flags` has its flags.",
  ),
  PATH_NOT_FOUND: row(
    404,
    "No such path",
    "There is nothing at this path. A slash inside a value is written %2F.",
  ),
  IP_ADDRESS_NOT_FOUND: row(
    404,
    "Unknown location",
    "This is a public address, but the data has no location for it.",
  ),
  METHOD_NOT_ALLOWED: row(
    405,
    "Method not allowed",
    "This path does not have this method: `Allow` names those that it has.",
    { Allow: "GET, HEAD" },
  ),
  CONTENT_TOO_LARGE: row(413, "Request body too large", "The body is larger than this path takes."),
  CONTENT_TYPE_INVALID: row(
    415,
    "Content type not supported",
    "Send `Content-Type: application/json` or `Content-Type: application/x-ndjson`, in UTF-8.",
  ),
  SANDBOX_VALUE_REQUIRED: row(
    422,
    "A sandbox key was asked about a real value",
    "Sandbox keys (`ink_test_…`) answer about the values of docs/sandbox.md alone, and know nothing about real visitors. Use a key that begins with `ink_live_`.",
  ),
  RATE_LIMITED: row(429, "Too many requests", "This key has used up its rate for now.", {
    "Retry-After": "1",
  }),
  TOO_MANY_STREAMS: row(
    429,
    "Too many open streams",
    "This key has as many NDJSON streams open as it may have now. Send more values in each, or end some.",
    { "Retry-After": "5" },
  ),
  QUOTA_EXCEEDED: row(429, "Daily quota used up", "This key has used up its lookups for today (UTC).", {
    "Retry-After": "3600",
  }),
  INTERNAL: row(
    500,
    "Internal error",
    "This is our fault. The operator finds the cause in the log under the request_id.",
  ),
  DATA_NOT_LOADED: row(
    503,
    "Data not loaded",
    "The server has no data yet for this lookup, and does not guess.",
    { "Retry-After": "10" },
  ),
  KEYS_NOT_LOADED: row(
    503,
    "Keys not loaded",
    "The server has not reached its database since it started, so it cannot tell whether this key is valid.",
    { "Retry-After": "5" },
  ),
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param detail for the caller; without it the table's. Never quotes the request.
 * @param headers replace the table's of the same name
 */
export function problem(
  code: ProblemCode,
  detail?: string,
  headers?: Readonly<Record<string, string>>,
): Problem {
  const row = PROBLEMS[code];
  return {
    code,
    status: row.status,
    detail: detail ?? row.detail,
    headers: headers === undefined ? row.headers : { ...row.headers, ...headers },
  };
}

/** SCOPE_REQUIRED, with the missing scope in the detail and in the challenge (RFC 6750 3.1). */
export function scopeProblem(scope: string): Problem {
  return problem("SCOPE_REQUIRED", `This lookup needs a key with the scope "${scope}".`, {
    "WWW-Authenticate": `${INSUFFICIENT_SCOPE}, scope="${scope}"`,
  });
}

/** Relative, so that it holds wherever the server is reached: the section of docs/errors.md. */
export function problemType(code: ProblemCode): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

/** The document's JSON. @param requestId undefined for a value of a batch, whose request has one */
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
