// transport.ts: sends one request to the server, with retries.
//
// The circuit breaker does not apply to batches, which wait and retry by design, and fail as a whole. A repeated lookup
// changes nothing, although it counts twice. Redirects are not followed: the API has none, and an email address must
// not be sent elsewhere.

import { Breaker } from "./breaker.ts";
import { type ErrorDetails, InklingError, isProblem, isUnreached, problemError } from "./errors.ts";
import { parseRetryAfter, pauseMs } from "./retry.ts";

/** Side effects, replaced in tests. */
export interface Effects {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** Resolves after this many milliseconds; rejects with the signal's reason. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Number of consecutive failed lookups that open the circuit breaker. */
  readonly breakAfter: number;
}

export interface ApiRequest {
  /** The path with its query, from the server's root: "/v1/…". */
  readonly path: string;
  /** Makes the request a POST. */
  readonly body?: string;
  readonly contentType?: string;
  readonly accept: string;
  /** Makes the request conditional. */
  readonly etag?: string | null;
  readonly idempotencyKey?: string;
}

export interface SendLimits {
  readonly timeoutMs: number;
  readonly retries: number;
  readonly signal: AbortSignal | undefined;
}

/** Called when a response, or a piece of one, has arrived. */
export type Alive = () => void;

/**
 * Runs `work` with a signal that aborts with the caller's signal, or after `limitMs` milliseconds without a call to
 * `alive`.
 * @throws TIMED_OUT, the caller's reason, or whatever `work` threw
 */
export async function withTimeLimit<T>(
  limitMs: number,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal, alive: Alive) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted();
  const controller = new AbortController();
  let isLate = false;
  const onLate = () => {
    isLate = true;
    controller.abort();
  };
  let timer = setTimeout(onLate, limitMs);
  const alive = () => {
    clearTimeout(timer);
    if (!isLate) timer = setTimeout(onLate, limitMs);
  };
  const onAbort = () => controller.abort();
  caller?.addEventListener("abort", onAbort);
  try {
    return await work(controller.signal, alive);
  } catch (error) {
    caller?.throwIfAborted();
    if (isLate) throw new InklingError("TIMED_OUT", `No answer within ${Math.round(limitMs)} ms`);
    throw error;
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener("abort", onAbort);
    controller.abort(); // frees the connection of a response that was not fully read
  }
}

/** Implements {@link Effects.sleep} with the runtime's timers. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

export class Transport {
  readonly effects: Effects;
  private readonly base: string;
  private readonly breaker: Breaker;
  /** Private, so that printing a client does not show it. */
  readonly #authorization: { readonly Authorization?: string };

  /**
   * @param base the server's URL without a trailing slash
   * @param key null if a proxy in front of the server adds the key
   */
  constructor(base: string, key: string | null, effects: Effects) {
    this.base = base;
    this.effects = effects;
    this.breaker = new Breaker(effects.now, effects.random, effects.breakAfter);
    this.#authorization = key === null ? {} : { Authorization: `Bearer ${key}` };
  }

  /**
   * Sends a request and retries after transient failures, all within `timeoutMs`. Each attempt except the last may take
   * half of that time, so that one hanging connection does not use it up. While the circuit breaker is open, nothing is
   * sent.
   */
  async send<T>(
    request: ApiRequest,
    limits: SendLimits,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    limits.signal?.throwIfAborted();
    const isProbe = this.breaker.enter();
    try {
      const result = await this.tries(request, limits, read, isProbe);
      this.breaker.succeed();
      return result;
    } catch (error) {
      if (!(error instanceof InklingError)) this.breaker.abandon(isProbe);
      else if (isUnreached(error)) this.breaker.fail(isProbe, error);
      else this.breaker.succeed();
      throw error;
    }
  }

  private async tries<T>(
    request: ApiRequest,
    { timeoutMs, retries, signal }: SendLimits,
    read: (response: Response) => Promise<T>,
    isProbe: boolean,
  ): Promise<T> {
    const { now, random, sleep } = this.effects;
    const deadline = now() + timeoutMs;
    const leftMs = () => Math.min(timeoutMs, deadline - now()); // a clock that is set back adds no time
    for (let failures = 0; ; ) {
      const limitMs = failures < retries ? Math.min(leftMs(), timeoutMs / 2) : leftMs();
      try {
        return await withTimeLimit(limitMs, signal, async (ours) => read(await this.once(request, ours)));
      } catch (error) {
        if (!(error instanceof InklingError) || !error.isRetryable || ++failures > retries) throw error;
        if (isProbe && isUnreached(error)) throw error;
        const pause = pauseMs(failures, error.retryAfterSeconds, random());
        if (pause >= leftMs()) throw error; // too late for another attempt
        await sleep(pause, signal);
      }
    }
  }

  /**
   * Makes one attempt.
   * @throws InklingError for every status except 2xx and 304
   */
  async once(request: ApiRequest, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { ...this.#authorization, Accept: request.accept };
    if (request.contentType !== undefined) headers["Content-Type"] = request.contentType;
    if (request.etag) headers["If-None-Match"] = request.etag;
    if (request.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.idempotencyKey;
    const init = {
      method: request.body === undefined ? "GET" : "POST",
      headers,
      ...(request.body !== undefined && { body: request.body }),
      redirect: "manual",
      signal,
      next: { revalidate: 0 }, // Next.js 14 would otherwise cache the response forever; other runtimes ignore this
    } satisfies RequestInit & { next: object };
    const response = await this.unlessBroken(() => this.effects.fetch(this.base + request.path, init));
    if (response.ok || response.status === 304) return response;
    throw await this.refusal(response);
  }

  /** Reads the whole body. */
  text(response: Response): Promise<string> {
    return this.unlessBroken(() => response.text());
  }

  /**
   * Reads JSON.
   * @throws InklingError ANSWER_UNREADABLE if the body is not JSON
   */
  async json(response: Response): Promise<{ text: string; value: unknown }> {
    const text = await this.text(response);
    const value = parseJson(text);
    if (value === undefined) throw unreadable(response, "The answer is not JSON", this.details(response));
    return { text, value };
  }

  /** Turns a runtime's error about a failed connection into one code. */
  async unlessBroken<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof InklingError) throw cause; // from our own fetch in testing/
      throw new InklingError("CONNECTION_FAILED", "The server could not be reached", { cause });
    }
  }

  details(response: Response): ErrorDetails {
    const { headers, status } = response;
    return {
      status,
      requestId: headers.get("x-request-id") ?? undefined,
      retryAfterSeconds: parseRetryAfter(headers.get("retry-after"), this.effects.now()),
    };
  }

  private async refusal(response: Response): Promise<InklingError> {
    const details = this.details(response);
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      const hint =
        "set `url` to the address after the redirect, for example https instead of http, or the new host name";
      return unreadable(response, "The server returned a redirect", { ...details, hint });
    }
    const value = parseJson(await this.text(response));
    if (isProblem(value)) return problemError(value, details);
    return unreadable(response, `Status ${response.status} without a problem document`, details);
  }
}

function unreadable(response: Response, message: string, details: ErrorDetails): InklingError {
  const type =
    /^[\w.+-]+\/[\w.+-]+/.exec(response.headers.get("content-type") ?? "")?.[0] ?? "no content type";
  return new InklingError("ANSWER_UNREADABLE", `${message}: ${type}`, details);
}

/** Encodes a value for a path. Half of a surrogate pair, which would throw URIError, becomes U+FFFD. */
export function pathSegment(value: string): string {
  return encodeURIComponent(value.replace(/\p{Cs}/gu, "\ufffd"));
}

/** Returns undefined if the text is not JSON. Drops the parser's message, because it quotes the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
