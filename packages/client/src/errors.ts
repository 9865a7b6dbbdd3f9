// errors.ts: the one error class of lookups.
//
// in   a problem document of the server, or a failure that the client detects
// out  InklingError: a stable `code`, the status, the request's id, and a hint: what to do
// note Messages never quote a key, an address or an email address: errors end up in logs.

import { CLIENT_HINTS, SERVER_HINTS } from "./error-codes.ts";

export type ServerCode = keyof typeof SERVER_HINTS;
export type ClientCode = keyof typeof CLIENT_HINTS;
/** Later servers may have further codes. */
export type ErrorCode = ServerCode | ClientCode | (string & {});

const HINTS: Readonly<Record<string, string>> = { ...SERVER_HINTS, ...CLIENT_HINTS };

/** Worth a retry; others fail again. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
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
  readonly httpStatus: number | undefined;
  /** As in the server's log. */
  readonly requestId: string | undefined;
  /** From the server's Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** What to do about it. */
  readonly hint: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(`${message} (${code})`, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.httpStatus = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.hint = details.hint ?? HINTS[code] ?? "look this code up in the server's docs/errors.md";
  }

  /** May the same request succeed a little later? */
  get isRetryable(): boolean {
    return isUnreached(this) || RETRYABLE_STATUSES.has(this.httpStatus ?? 0);
  }

  /** Did the server refuse the lookup because the key's rate or quota is used up? `onThrottled` applies. */
  get isThrottled(): boolean {
    return this.httpStatus === 429;
  }

  /** Can there be no answer, although the request is right? `onUnavailable` applies to these. */
  get isUnavailable(): boolean {
    return UNAVAILABLE_CODES.has(this.code) || this.isRetryable;
  }
}

/** Was there no response, or not all of one? */
export function isUnreached({ code }: InklingError): boolean {
  return UNREACHED_CODES.has(code);
}

/** A problem document (RFC 9457) as the server writes it, alone or instead of one value's answer. */
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
