// errors.ts: everything that can go wrong with a look-up, as one class of error.
//
// in   a problem document of the server, or what this client found out by itself
// out  InklingError: a stable `code`, the status, the request's id, and a hint: what to do
// note no text in here ever quotes a key, an e-mail address or an address: errors end up in logs

/** The codes of the server: docs/errors.md there. A test compares them. */
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
  PATH_NOT_FOUND: "is `url` the address of the server, without a path of the API?",
  IP_ADDRESS_NOT_FOUND: "no data has a place for this address",
  METHOD_NOT_ALLOWED: "the server is older than this client, or something in between refuses POST",
  CONTENT_TOO_LARGE: "ask about fewer values in one request",
  BATCH_INVALID: "the server does not understand this client: look at their versions",
  CONTENT_TYPE_INVALID: "the server does not understand this client: look at their versions",
  VALUE_INVALID: "a value must be a text of at most 64 KiB",
  RATE_LIMITED: "ask more slowly, or give the key a higher rate: `inkling keys create --rate`",
  QUOTA_EXCEEDED: "wait until midnight UTC, or give the key a higher quota",
  INTERNAL: "the server's log holds the cause under the request's id",
  DATA_NOT_LOADED: "run `inkling data update` on the server; `inkling data status` says what is missing",
  KEYS_NOT_LOADED: "the server has not reached its database since it started: run `inkling doctor` there",
} as const;

/** What only this client can find out. */
const CLIENT_HINTS = {
  CONNECTION_FAILED:
    "is the server running, and is `url` its address (in a browser: of the page's own origin)? `cause` holds the runtime's own error",
  TIMED_OUT: "raise `timeoutMs`, or look at the server's load",
  ANSWER_UNREADABLE: "what answered is not Inkling: look at `url`, and at the proxy in front of the server",
  ADDRESS_UNKNOWN:
    "this runtime does not tell the visitor's address, or a proxy passed on something else: set `address`",
} as const;

export type ServerCode = keyof typeof SERVER_HINTS;
export type ClientCode = keyof typeof CLIENT_HINTS;
/** Later servers may have further codes. */
export type ErrorCode = ServerCode | ClientCode | (string & {});

export const SERVER_CODES = Object.keys(SERVER_HINTS) as ServerCode[];
const HINTS: Readonly<Record<string, string>> = { ...SERVER_HINTS, ...CLIENT_HINTS };

/** Worth another try; the others end the same way however often they are sent. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const PASSING_CODES: ReadonlySet<string> = new Set<ClientCode>(["CONNECTION_FAILED", "TIMED_OUT"]);
/** No answer, though nothing is wrong with what was asked, nor with how this client was set up. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "CONNECTION_FAILED",
  "TIMED_OUT",
  "ANSWER_UNREADABLE",
  "KEY_EXPIRED", // it worked until now, and a form should not go down with it
]);

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
  /** Instead of the code's own. */
  readonly hint?: string;
}

/** A look-up that has no answer. Decide by `code`; `message` and `hint` are for people. */
export class InklingError extends Error {
  override readonly name = "InklingError";
  readonly code: ErrorCode;
  /**
   * Of the HTTP answer, where there was one. Not `status`: Express and Fastify answer their own visitors with an error's
   * status, and a key that we refuse is not the visitor's to mend.
   */
  readonly answerStatus: number | undefined;
  /** The server's log has the same one. */
  readonly requestId: string | undefined;
  /** What the server asks to wait, where it says so. */
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

  /** May the same request have an answer a little later? */
  get isPassing(): boolean {
    return PASSING_CODES.has(this.code) || PASSING_STATUSES.has(this.answerStatus ?? 0);
  }

  /** Is it the service that is not there, rather than the question that is wrong? What `onUnavailable` is about. */
  get isUnavailable(): boolean {
    return UNAVAILABLE_CODES.has(this.code) || this.isPassing;
  }
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
