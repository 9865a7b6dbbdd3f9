// transport.ts: one request to the server, tried again while that can help.
//
// in   a request, the caller's signal, how long it may take
// out  what `read` makes of the response, whose status is 200 or 304
// err  InklingError; the signal's own reason when the caller gave up
// note every request is a look-up, so that sending it twice changes nothing (it counts twice)
// note redirects are not followed: the API has none, and an e-mail address must not go elsewhere

import { type ErrorDetails, InklingError, isProblem, problemError } from "./errors.ts";
import { parseRetryAfter, pauseMs } from "./retry.ts";

/** What a client needs of the world; tests bring their own. */
export interface Effects {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Resolves after so many milliseconds; rejects with the signal's reason. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface Ask {
  /** With its query, from the server's root: "/v1/…". */
  readonly path: string;
  /** Makes it a POST. */
  readonly body?: string;
  readonly contentType?: string;
  readonly accept: string;
  /** Makes it conditional. */
  readonly etag?: string | null;
}

/** Says that an answer, or a piece of one, has arrived. */
export type Alive = () => void;

/**
 * Runs `work` with a signal that is the caller's, and aborts by itself after `limitMs` without a sign of life.
 * @throws TIMED_OUT, the caller's reason, or what `work` threw
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
    controller.abort(); // frees the connection of an answer that nobody read to its end
  }
}

/** As {@link Effects} has it, with the runtime's timers. */
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
  /** Hidden from whoever prints a client. */
  readonly #authorization: { readonly Authorization?: string };

  /**
   * @param base the server's URL, without a slash at its end
   * @param key null where something in front of the server adds it
   */
  constructor(base: string, key: string | null, effects: Effects) {
    this.base = base;
    this.effects = effects;
    this.#authorization = key === null ? {} : { Authorization: `Bearer ${key}` };
  }

  /**
   * Sends a request, and again after failures that pass, all within `timeoutMs`. Until the last try a try has half
   * of that, so that one connection that hangs does not use up everything.
   */
  async send<T>(
    ask: Ask,
    { timeoutMs, retries, signal }: { timeoutMs: number; retries: number; signal: AbortSignal | undefined },
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { now, random, sleep } = this.effects;
    const deadline = now() + timeoutMs;
    for (let failures = 0; ; ) {
      const leftMs = deadline - now();
      const limitMs = failures < retries ? Math.min(leftMs, timeoutMs / 2) : leftMs;
      try {
        return await withTimeLimit(limitMs, signal, async (ours) => read(await this.once(ask, ours)));
      } catch (error) {
        if (!(error instanceof InklingError) || !error.isPassing || ++failures > retries) throw error;
        const pause = pauseMs(failures, error.retryAfterSeconds, random());
        if (now() + pause >= deadline) throw error; // it would be too late: say now what was the matter
        await sleep(pause, signal);
      }
    }
  }

  /**
   * One try.
   * @throws InklingError for every status but 200 and 304
   */
  async once(ask: Ask, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { ...this.#authorization, Accept: ask.accept };
    if (ask.contentType !== undefined) headers["Content-Type"] = ask.contentType;
    if (ask.etag) headers["If-None-Match"] = ask.etag;
    const init = {
      method: ask.body === undefined ? "GET" : "POST",
      headers,
      ...(ask.body !== undefined && { body: ask.body }),
      redirect: "manual",
      signal,
      next: { revalidate: 0 }, // Next.js 14 keeps what its fetch gets for ever; elsewhere nobody reads it
    } satisfies RequestInit & { next: object };
    const response = await this.unlessBroken(() => this.effects.fetch(this.base + ask.path, init));
    if (response.status === 200 || response.status === 304) return response;
    throw await this.refusal(response);
  }

  /** Reads a body to its end. */
  text(response: Response): Promise<string> {
    return this.unlessBroken(() => response.text());
  }

  /** Reads JSON. @throws ANSWER_UNREADABLE */
  async json(response: Response): Promise<{ text: string; value: unknown }> {
    const text = await this.text(response);
    const value = parseJson(text);
    if (value === undefined) throw unreadable(response, "The answer is not JSON", this.details(response));
    return { text, value };
  }

  /** Whatever a runtime throws when a connection fails, as one code. */
  async unlessBroken<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
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
        "give `url` as it is after the redirect: https instead of http, the name that is redirected to";
      return unreadable(response, "The server redirects", { ...details, hint });
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

/** Undefined when it is no JSON. The parser's own words are dropped: they quote the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
