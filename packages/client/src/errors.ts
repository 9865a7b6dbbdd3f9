// errors.ts: defines the error class of all lookups.
//
// Messages never quote a key, an address or an email address, because errors end up in logs.

import { CLIENT_ERRORS, SERVER_ERRORS } from "./error-codes.ts";

export type ServerCode = keyof typeof SERVER_ERRORS;
export type ClientCode = keyof typeof CLIENT_ERRORS;
/** The error codes. Later servers may return other codes. */
export type ErrorCode = ServerCode | ClientCode | (string & {});

const ERRORS: Readonly<Record<string, { readonly hint: string }>> = { ...SERVER_ERRORS, ...CLIENT_ERRORS };

/** Statuses for which a retry may help. Requests with other statuses would fail again. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const UNREACHED_CODES: ReadonlySet<string> = new Set<ClientCode>(["CONNECTION_FAILED", "TIMED_OUT"]);
/** Codes of errors that leave a correct request without an answer. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "ANSWER_UNREADABLE",
  "DATA_INCOMPLETE",
  "KEY_EXPIRED", // the key has worked until now, and a form should continue to work
  // The sender is not a visitor from the internet, but a health probe or a colleague in a VPN. Nothing is known about
  // such addresses.
  "IP_ADDRESS_RESERVED",
  "ADDRESS_UNKNOWN",
]);

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
  /** Replaces the code's own hint. */
  readonly hint?: string;
}

/** A lookup failed. Programs should check `code`; `message` and `hint` are for people. */
export class InklingError extends Error {
  override readonly name = "InklingError";
  readonly code: ErrorCode;
  /**
   * Status of the HTTP response, if there was one. It is not called `status`, because Express and Fastify would send an
   * error's `status` to their visitors, and a refused key is not the visitor's fault.
   */
  readonly httpStatus: number | undefined;
  /** The request id, as in the server's log. */
  readonly requestId: string | undefined;
  /** Seconds from the server's Retry-After header. */
  readonly retryAfterSeconds: number | undefined;
  /** What to do about the error. */
  readonly hint: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(`${message} (${code})`, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.httpStatus = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.hint = details.hint ?? ERRORS[code]?.hint ?? "look up this code at /docs/errors on the server";
  }

  /** May the same request succeed a little later? */
  get isRetryable(): boolean {
    return isUnreached(this) || RETRYABLE_STATUSES.has(this.httpStatus ?? 0);
  }

  /** Did the server refuse the lookup because the key's rate or quota is used up? `onThrottled` applies. */
  get isThrottled(): boolean {
    return this.httpStatus === 429;
  }

  /** Is there no answer although the request is correct? `onUnavailable` applies to these errors. */
  get isUnavailable(): boolean {
    return UNAVAILABLE_CODES.has(this.code) || this.isRetryable;
  }
}

/** Was there no response, or only part of one? */
export function isUnreached({ code }: InklingError): boolean {
  return UNREACHED_CODES.has(code);
}

/**
 * A problem document (RFC 9457) as the server writes it, either as the whole response or instead of one value's answer.
 */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly request_id?: string | undefined;
}

/** Is this a problem document? Answers contain neither `code` nor `status`. */
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
