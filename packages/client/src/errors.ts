// errors.ts: the one error class of lookups.
//
// in   a problem document of the server, or a failure that the client detects
// out  InklingError: a stable `code`, the status, the request's id, and a hint: what to do
// note Messages never quote a key, an address or an email address: errors end up in logs.

/** The codes of the server (docs/errors.md). A test compares them. */
const SERVER_HINTS = {
  PATH_INVALID: "send the value as it is: this client escapes it",
  PARAMETER_INVALID: "this server does not offer what was asked for: look at its version",
  IP_ADDRESS_INVALID: "send one IPv4 or IPv6 address without port, prefix, zone or brackets",
  IP_ADDRESS_RESERVED:
    "no visitor from the internet has this address: behind a proxy set `trustProxy`; on your own machine set `loopback`",
  KEY_MISSING:
    "something between here and the server removes the Authorization header; with `key: null` it has to add it",
  KEY_INVALID: "compare the key with `inkling keys list` on the server",
  KEY_EXPIRED:
    "make a new key with `inkling keys create`, or `inkling keys rotate` before the next one expires",
  SCOPE_REQUIRED: "make a key with this scope: `inkling keys create --scopes geolocate,reputation,email`",
  SOURCE_NOT_ALLOWED: "the key is bound to networks: `inkling keys list` on the server shows them",
  CALLER_UNKNOWN:
    "the key is bound to networks, and the proxy in front of the server sends no X-Forwarded-For: configure it to",
  VISITOR_DENIED: "`deny` of /v1/forward-auth names a flag of this visitor",
  PATH_NOT_FOUND: "is `url` the address of the server, without a path of the API?",
  IP_ADDRESS_NOT_FOUND: "no data has a place for this address",
  METHOD_NOT_ALLOWED: "the server is older than this client, or something in between refuses POST",
  CONTENT_TOO_LARGE: "ask about fewer values in one request",
  HOST_INVALID: "something between here and the server changes the Host header; look at `url`",
  BATCH_INVALID: "the server does not understand this client: look at their versions",
  CONTENT_TYPE_INVALID: "the server does not understand this client: look at their versions",
  VALUE_INVALID: "a value must be a text of at most 64 KiB",
  SANDBOX_VALUE_REQUIRED: "a sandbox key (ink_test_…) is in use: configure one that begins with ink_live_",
  RATE_LIMITED: "ask more slowly, or give the key a higher rate: `inkling keys create --rate`",
  TOO_MANY_STREAMS: "send more values in each stream, or end some",
  QUOTA_EXCEEDED: "wait until midnight UTC, or give the key a higher quota",
  INTERNAL: "the server's log holds the cause under the request's id",
  DATA_NOT_LOADED: "run `inkling data update` on the server; `inkling data status` says what is missing",
  KEYS_NOT_LOADED: "the server has not reached its database since it started: run `inkling doctor` there",
} as const;

/** Failures that only the client can detect. */
const CLIENT_HINTS = {
  CONNECTION_FAILED:
    "is the server running, and is `url` its address (in a browser: of the page's own origin)? `cause` holds the runtime's own error",
  TIMED_OUT: "raise `timeoutMs`, or look at the server's load",
  ANSWER_UNREADABLE: "what answered is not Inkling: look at `url`, and at the proxy in front of the server",
  DATA_INCOMPLETE:
    "`require` names it: run `inkling data update` on the server; `inkling data status` names the missing feeds, and `inkling feeds disable ID` does without one",
  ADDRESS_UNKNOWN:
    "this runtime does not tell the visitor's address, or a proxy passed on something else: set `address`",
  CLOSED: "`close()` was called: create another instance for further lookups",
} as const;

export type ServerCode = keyof typeof SERVER_HINTS;
export type ClientCode = keyof typeof CLIENT_HINTS;
/** Later servers may have further codes. */
export type ErrorCode = ServerCode | ClientCode | (string & {});

export const SERVER_CODES = Object.keys(SERVER_HINTS) as ServerCode[];
/** By code. */
export const HINTS: Readonly<Record<string, string>> = { ...SERVER_HINTS, ...CLIENT_HINTS };

/** Worth a retry; others fail again. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const UNREACHED_CODES: ReadonlySet<string> = new Set<ClientCode>(["CONNECTION_FAILED", "TIMED_OUT"]);
/** No answer, although the request and the options are right. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "ANSWER_UNREADABLE",
  "DATA_INCOMPLETE",
  "KEY_EXPIRED", // it worked until now, and a form should keep working
  // No visitor from the internet, but a health probe or a colleague in a VPN: nothing is known about their addresses.
  "IP_ADDRESS_RESERVED",
  "ADDRESS_UNKNOWN",
]);

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
  /** Instead of the code's own. */
  readonly hint?: string;
}

/** A lookup failed. Decide by `code`; `message` and `hint` are for people. */
export class InklingError extends Error {
  override readonly name = "InklingError";
  readonly code: ErrorCode;
  /**
   * Of the HTTP response, if there was one. Not `status`: Express and Fastify respond to their visitors with an error's
   * `status`, and a refused key is not the visitor's fault.
   */
  readonly answerStatus: number | undefined;
  /** As in the server's log. */
  readonly requestId: string | undefined;
  /** From the server's Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** What to do about it. */
  readonly hint: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(`${message} (${code})`, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.answerStatus = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.hint = details.hint ?? HINTS[code] ?? "look this code up in the server's docs/errors.md";
  }

  /** May the same request succeed a little later? */
  get isPassing(): boolean {
    return isUnreached(this) || PASSING_STATUSES.has(this.answerStatus ?? 0);
  }

  /** Did the server refuse the lookup because the key's rate or quota is used up? `onThrottled` applies. */
  get isThrottled(): boolean {
    return this.answerStatus === 429;
  }

  /** Can there be no answer, although the request is right? `onUnavailable` applies to these. */
  get isUnavailable(): boolean {
    return UNAVAILABLE_CODES.has(this.code) || this.isPassing;
  }
}

/** Was there no response, or not all of one? */
export function isUnreached({ code }: InklingError): boolean {
  return UNREACHED_CODES.has(code);
}

/** A problem document (RFC 9457) as the server writes it, alone or in place of one value's answer. */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly request_id?: string | undefined;
}

/** Answers have no `code` and no `status`. */
export function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { code, status, title } = value as Partial<Record<keyof Problem, unknown>>;
  return typeof code === "string" && typeof status === "number" && typeof title === "string";
}

export function problemError(problem: Problem, details: ErrorDetails = {}): InklingError {
  const { code, status, title, detail, request_id } = problem;
  const message = typeof detail === "string" ? `${title}: ${detail}` : title;
  return new InklingError(code, message, {
    status,
    ...details,
    requestId: typeof request_id === "string" ? request_id : details.requestId,
  });
}
