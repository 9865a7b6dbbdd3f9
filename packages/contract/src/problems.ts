// problems.ts: lists every error code of the public API, and the codes of clients that cannot reach a server.
// admin-problems.ts contains the codes of the admin API.
//
// The server's problem documents (RFC 9457), the error types and hints of both SDKs and the tables of docs/errors.md
// derive from these rows. A code never changes its meaning or its status, but later versions may add codes.

import { keysOf } from "./tables.ts";

export interface ProblemRow {
  readonly status: number;
  readonly title: string;
  /** The detail for the caller, unless the server has a more specific one. It never quotes the request. */
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The requests that a problem may answer. */
export const RETURNERS = ["lookups", "batches", "assess", "outcomes"] as const;
type Returner = (typeof RETURNERS)[number];
const ALL = RETURNERS;

interface Returned {
  readonly by: readonly (
    | Returner
    | "streams of assess"
    | "the Supabase hook"
    | "forward-auth"
    | "unknown paths"
  )[];
}

interface Hint {
  /** What the application that uses a client can do. */
  readonly hint: string;
  /** The hint for Python, if its options have other names. */
  readonly pythonHint?: string;
}

interface ClientProblemRow extends Hint {
  /** False if the Python client never raises this problem. */
  readonly isPython?: boolean;
}

const CHALLENGE = 'Bearer realm="inkling"';
const INVALID_TOKEN = { "WWW-Authenticate": `${CHALLENGE}, error="invalid_token"` };
export const INSUFFICIENT_SCOPE = `${CHALLENGE}, error="insufficient_scope"`;

/** The detail about a path that a proxy in front may have read as another path. */
export const UNCLEAR_PATH =
  "The path contains an empty segment (`//`), `.` or `..`, a backslash, an encoded slash or backslash outside a value, or more than 12 segments. Send the path as the documentation spells it.";

/** The problems of the public API. */
export const PROBLEMS = {
  PATH_INVALID: {
    status: 400,
    title: "Invalid path",
    by: ALL,
    detail: "The last path segment is not valid percent-encoded UTF-8 (RFC 3986).",
    hint: "pass the value unescaped: this client escapes it",
  },
  PARAMETER_INVALID: {
    status: 400,
    title: "Parameter not allowed",
    by: ALL,
    detail: "This request takes no query parameters.",
    hint: "this server does not support the parameter: compare its version with the client's",
  },
  IP_ADDRESS_INVALID: {
    status: 400,
    title: "Not an IP address",
    by: ["lookups", "batches", "assess"],
    detail:
      "Send one IPv4 address as a dotted quad, one IPv6 address, or `me`: no port, prefix, zone or brackets, and no leading zeros.",
    hint: "send one IPv4 or IPv6 address without port, prefix, zone or brackets",
  },
  IP_ADDRESS_RESERVED: {
    status: 400,
    title: "Not a public IP address",
    by: ["lookups", "batches", "assess"],
    detail: "This address is reserved for special use: no visitor from the internet has it.",
    hint: "no visitor from the internet has this address: behind a proxy set `trustProxy`; on your own machine set `loopback`",
    pythonHint:
      "no visitor from the internet has this address: behind a proxy, take the visitor's address from the proxy's header",
  },
  HOST_INVALID: {
    status: 400,
    title: "Invalid Host header",
    by: ALL,
    detail: "Send one `Host` header: a host name or an IP address, with an optional port.",
    headers: { Connection: "close" }, // a proxy in front may interpret the next request on this connection differently
    hint: "a proxy between here and the server changes the Host header: check `url`",
  },
  BODY_INVALID: {
    status: 400,
    title: "Invalid request body",
    by: ["assess", "outcomes"],
    detail: "Send a JSON object with `event`, and with `ip`, `email` or both.",
    hint: "the detail lists each invalid field",
  },
  IDEMPOTENCY_KEY_INVALID: {
    status: 400,
    title: "Invalid Idempotency-Key",
    by: ["assess"],
    detail:
      "`Idempotency-Key` must have 1 to 200 printable characters without spaces. Use a new idempotency key for each new request, and the same one only to repeat that request.",
    hint: "use a new key for each attempt of a visitor, and the same key only to repeat the same request",
  },
  BATCH_INVALID: {
    status: 400,
    title: "Invalid batch",
    by: ["batches", "streams of assess"],
    detail:
      'Send `{"values":["…","…"]}`, or with `Content-Type: application/x-ndjson` one JSON string per line.',
    hint: "the server does not understand this client's request: compare their versions",
  },
  VALUE_INVALID: {
    status: 400,
    title: "Value cannot be looked up",
    by: ["batches"],
    detail: "A value must be a JSON string.",
    hint: "a value must be a string of at most 64 KiB",
  },
  KEY_MISSING: {
    status: 401,
    title: "No API key",
    by: ALL,
    detail: "Send your key as `Authorization: Bearer ink_live_…`.",
    headers: { "WWW-Authenticate": CHALLENGE },
    hint: "a proxy between here and the server removes the Authorization header; with `key: null` it must add one",
    pythonHint:
      "a proxy between here and the server removes the Authorization header; with `key=None` it must add one",
  },
  KEY_INVALID: {
    status: 401,
    title: "Unknown API key",
    by: ALL,
    detail: "This server has no such key, or it was revoked. A new key is accepted within a second.",
    headers: INVALID_TOKEN,
    hint: "compare the key with `inkling keys list` on the server",
  },
  KEY_EXPIRED: {
    status: 401,
    title: "Expired API key",
    by: ALL,
    detail: "This key has expired. Ask the operator of this server for a new one.",
    headers: INVALID_TOKEN,
    hint: "create a new key with `inkling keys create`; run `inkling keys rotate` before the next one expires",
  },
  SCOPE_REQUIRED: {
    status: 403,
    title: "The key does not allow this lookup",
    by: ALL,
    detail: "This key lacks the scope of this request.",
    headers: { "WWW-Authenticate": INSUFFICIENT_SCOPE },
    hint: "set all scopes that the key needs: `inkling keys update ID --scopes geolocate,reputation,email`, with `,assess` for decisions",
  },
  SOURCE_NOT_ALLOWED: {
    status: 403,
    title: "Key not allowed from this network",
    by: ALL,
    detail:
      "This key works only from the networks that it is bound to, and this request came from a different network. If there is a proxy in front of this server, the operator must list it as trusted.",
    hint: "the key is bound to networks: `inkling keys list` on the server shows them",
  },
  CALLER_UNKNOWN: {
    status: 403,
    title: "The caller's address is unknown",
    by: ALL,
    detail:
      "This key works only from the networks that it is bound to, and the trusted proxy in front of this server does not send the caller's address. Configure the proxy to send `X-Forwarded-For`, or remove it from INKLING_TRUSTED_PROXIES.",
    hint: "the key is bound to networks, but the proxy in front of the server does not send X-Forwarded-For: configure the proxy to send it",
  },
  SIGNATURE_INVALID: {
    status: 401,
    title: "The signature does not match",
    by: ["the Supabase hook"],
    detail:
      "The signature matches none of this server's secrets. `webhook-id`, `webhook-timestamp` and `webhook-signature` follow Standard Webhooks; compare INKLING_SUPABASE_HOOK_SECRET with the secret that Supabase shows.",
    hint: "only Supabase calls /v1/hooks/supabase",
  },
  VISITOR_DENIED: {
    status: 403,
    title: "Visitor denied",
    by: ["forward-auth"],
    detail: "The visitor's address has a flag listed in `deny`. `Inkling-Flags` lists the address's flags.",
    hint: "this visitor has a flag listed in the `deny` parameter of /v1/forward-auth",
  },
  PATH_NOT_FOUND: {
    status: 404,
    title: "No such path",
    by: ["unknown paths"],
    detail: "/docs describes every path. A slash inside a value is written %2F.",
    hint: "set `url` to the server's address, without an API path",
  },
  DECISION_NOT_FOUND: {
    status: 404,
    title: "No such decision",
    by: ["outcomes"],
    detail: "No decision with this id is stored. The server deletes old decisions.",
    hint: "set INKLING_DECISIONS=1 on the server, and send outcomes before INKLING_DECISIONS_DAYS have passed",
  },
  IP_ADDRESS_NOT_FOUND: {
    status: 404,
    title: "Unknown location",
    by: ["lookups", "batches"],
    detail: "This is a public address, but the data has no location for it.",
    hint: "the data has no location for this address",
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: "Method not allowed",
    by: ALL,
    detail: "This path does not support this method. `Allow` lists the supported methods.",
    headers: { Allow: "GET, HEAD" },
    hint: "the server is older than this client, or a proxy refuses POST",
  },
  CONTENT_TOO_LARGE: {
    status: 413,
    title: "Request body too large",
    by: ["batches", "assess", "outcomes"],
    detail: "The body is larger than this path accepts.",
    hint: "send fewer values per request",
  },
  CONTENT_TYPE_INVALID: {
    status: 415,
    title: "Content type not supported",
    by: ["batches", "assess", "outcomes"],
    detail: "Send `Content-Type: application/json` or `Content-Type: application/x-ndjson`, in UTF-8.",
    hint: "the server does not understand this client's request: compare their versions",
  },
  SANDBOX_VALUE_REQUIRED: {
    status: 422,
    title: "Sandbox key used with a real value",
    by: ["lookups", "batches", "assess"],
    detail:
      "Sandbox keys (`ink_test_…`) work only with sandbox values, which the forms at /docs offer, and have no data about real visitors. Use a key that begins with `ink_live_`.",
    hint: "this is a sandbox key (ink_test_…): configure a key that begins with ink_live_",
  },
  RATE_LIMITED: {
    status: 429,
    title: "Too many requests",
    by: ALL,
    detail: "This key has reached its rate limit.",
    headers: { "Retry-After": "1" },
    hint: "send requests more slowly, or raise the key's rate: `inkling keys update ID --rate NUMBER`",
  },
  TOO_MANY_STREAMS: {
    status: 429,
    title: "Too many open streams",
    by: ["batches", "streams of assess"],
    detail:
      "This key already has its maximum number of NDJSON streams open. Send more values in each stream, or close a stream first.",
    headers: { "Retry-After": "5" },
    hint: "send more values in each stream, or close some streams",
  },
  QUOTA_EXCEEDED: {
    status: 429,
    title: "Daily quota used up",
    by: ["lookups", "batches", "assess"],
    detail: "This key has used up its lookups for today (UTC).",
    headers: { "Retry-After": "3600" },
    hint: "wait until midnight UTC, or raise the key's quota: `inkling keys update ID --quota NUMBER`",
  },
  INTERNAL: {
    status: 500,
    title: "Internal error",
    by: ALL,
    detail: "The server has a bug. The operator can find the cause in the log: search for the `request_id`.",
    hint: "the server's log has the cause under the request id",
  },
  DATA_NOT_LOADED: {
    status: 503,
    title: "Data not loaded",
    by: ["lookups", "batches", "assess"],
    detail: "The server has no data for this lookup yet.",
    headers: { "Retry-After": "10" },
    hint: "run `inkling data update` on the server; run `inkling data status` to see what is missing",
  },
  DECISIONS_UNREACHABLE: {
    status: 503,
    title: "Stored decisions unreachable",
    by: ["outcomes"],
    detail: "The server cannot reach the database that stores decisions. Nothing was changed. Try again.",
    headers: { "Retry-After": "5" },
    hint: "run `inkling doctor` on the server: it cannot reach its database",
  },
  KEYS_NOT_LOADED: {
    status: 503,
    title: "Keys not loaded",
    by: ALL,
    detail:
      "The server has not reached its database since it started, so it cannot check whether this key is valid.",
    headers: { "Retry-After": "5" },
    hint: "the server has not reached its database since it started: run `inkling doctor` there",
  },
} as const satisfies Record<string, ProblemRow & Returned & Hint>;

/** Problems that a client reports itself, without a response from a server. */
export const CLIENT_PROBLEMS = {
  CONNECTION_FAILED: {
    hint: "check that the server is running and that `url` is its address (in a browser, the page's own origin); `cause` has the runtime's error",
    pythonHint:
      "check that the server is running and that `url` is its address; `__cause__` has the error behind it",
  },
  TIMED_OUT: {
    hint: "raise `timeoutMs`, or check the server's load",
    pythonHint: "raise `timeout`, or check the server's load",
  },
  ANSWER_UNREADABLE: {
    hint: "the answer is not from Inkling: check `url`, and the proxy in front of the server",
  },
  DATA_INCOMPLETE: {
    hint: "`require` lists this data: run `inkling data update` on the server. Run `inkling data status` to see the missing feeds; `inkling feeds disable ID` turns one off",
  },
  ADDRESS_UNKNOWN: {
    hint: "this runtime does not provide the visitor's address, or a proxy sent a value that is not an address: set `address`",
  },
  CLOSED: {
    hint: "`close()` was called: create a new instance for further lookups",
    isPython: false,
  },
} as const satisfies Record<string, ClientProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = keysOf(PROBLEMS);
