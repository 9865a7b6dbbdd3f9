// client.ts: implements the client, with three lookups, each for one value or any number of values, and decisions about
// visitors.
//
// Email addresses are sent in the body of a POST, never in a URL, because proxies log URLs.

import { type Answer, type Extras, isAnswer, type Lookup } from "./answers.ts";
import {
  type AssessOptions,
  assessRequest,
  type DecisionResult,
  isDecision,
  outcomeRequest,
} from "./assess.ts";
import { type BatchResult, batchResults } from "./batch.ts";
import { BREAK_AFTER } from "./breaker.ts";
import { AnswerCache } from "./cache.ts";
import { type DataName, isComplete, readDataState, requireData, withData } from "./data-state.ts";
import { InklingError, isProblem, problemError } from "./errors.ts";
import { DATA_OF, type DecisionInput, type DecisionOutcome } from "./generated.ts";
import type { BatchOptions, EmailOptions, LookupOptions, LookupResult, Lookups } from "./lookups.ts";
import {
  checkExtras,
  INCLUDED,
  type InklingOptions,
  type ReadOptions,
  readNumber,
  readOptions,
  readRequire,
  wrong,
} from "./options.ts";
import { type Effects, pathSegment, type SendLimits, sleep, Transport } from "./transport.ts";
import { type IfUnavailable, type OnUnavailable, settle } from "./unavailable.ts";

/** Path of each lookup. */
const PATHS: Readonly<Record<Lookup, string>> = {
  geolocate: "/v1/ip-intel/geolocate",
  reputation: "/v1/ip-intel/reputation",
  email: "/v1/user-intel/email",
};

/** Is the location of a public address unknown? This is not an error, but not an answer either. */
const isPlaceless = (error: unknown) =>
  error instanceof InklingError && error.code === "IP_ADDRESS_NOT_FOUND";

/**
 * A client for one server, with one key. One instance is enough for a process; calls may overlap. {@link Lookups}
 * describes the methods.
 */
export class Inkling<P extends OnUnavailable = "throw"> implements Lookups<P> {
  readonly #options: ReadOptions<P>;
  readonly #transport: Transport;
  readonly #cache: AnswerCache;

  /**
   * @param effects clock and random numbers, for tests
   * @throws TypeError that states which option is invalid
   */
  constructor(options: InklingOptions<P>, effects: Partial<Effects> = {}) {
    this.#options = readOptions(options);
    const { fetch } = options;
    this.#transport = new Transport(this.#options.base, this.#options.key, {
      // Called as a plain function, because browsers refuse a fetch call with another `this`.
      fetch: fetch ?? ((url, init) => globalThis.fetch(url, init)),
      now: () => Date.now(),
      random: () => Math.random(),
      sleep,
      breakAfter: BREAK_AFTER,
      ...effects,
    });
    this.#cache = new AnswerCache(this.#options.cacheEntries);
  }

  get onUnavailable(): P {
    return this.#options.onUnavailable;
  }

  /** Is the key a sandbox key (`ink_test_…`), which gets the fixed answers in docs/sandbox.md? */
  get isSandbox(): boolean {
    return this.#options.key?.startsWith("ink_test_") ?? false;
  }

  geolocate<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | IfUnavailable<P>> {
    const found = this.#address("geolocate", ip, options).catch((error) => {
      if (isPlaceless(error)) return undefined;
      throw error;
    });
    return this.#settle(found as Promise<LookupResult<"geolocate", O> | undefined>);
  }

  reputation<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"reputation", O> | IfUnavailable<P>> {
    return this.#settle(this.#address("reputation", ip, options) as Promise<LookupResult<"reputation", O>>);
  }

  email<const O extends EmailOptions>(
    address: string,
    options?: O,
  ): Promise<LookupResult<"email", O> | IfUnavailable<P>> {
    return this.#settle(this.#email(address, options) as Promise<LookupResult<"email", O>>);
  }

  assess<const O extends AssessOptions>(
    input: DecisionInput,
    options?: O,
  ): Promise<DecisionResult<O> | IfUnavailable<P>> {
    return this.#settle(this.#assess(input, options) as Promise<DecisionResult<O>>);
  }

  /**
   * Tells the server how a visitor turned out. This does not change any decision.
   * @param id the decision's id
   * @throws InklingError, regardless of `onUnavailable`
   */
  async outcome(
    id: string,
    outcome: DecisionOutcome,
    options?: Pick<AssessOptions, "signal" | "timeoutMs">,
  ): Promise<void> {
    const request = outcomeRequest(id, outcome);
    await this.#transport.send(request, this.#limits(options), (it) => this.#transport.text(it));
  }

  batch<L extends Lookup, const O extends BatchOptions>(
    lookup: L,
    values: Iterable<string> | AsyncIterable<string>,
    options?: O,
  ): AsyncGenerator<
    BatchResult<Answer<L, O> | (L extends "geolocate" ? undefined : never)>,
    void,
    undefined
  > {
    if (!Object.hasOwn(PATHS, lookup))
      throw wrong("the lookup", `must be one of ${Object.keys(PATHS).join(", ")}`);
    const { signal, timeoutMs, size, concurrency, lingerMs } = options ?? ({} as BatchOptions);
    return batchResults(this.#transport, lookup, PATHS[lookup] + queryOf(options), values, {
      signal,
      required: this.#required(lookup, options),
      retries: this.#options.retries,
      timeoutMs: readNumber("timeoutMs", timeoutMs ?? 30_000, 1, 3_600_000),
      size: readNumber("size", size ?? 1_000, 1, 1_000),
      concurrency: readNumber("concurrency", concurrency ?? 4, 1, 64),
      lingerMs: readNumber("lingerMs", lingerMs ?? 20, 0, 60_000),
    });
  }

  async #address(lookup: Lookup, ip: string, options: LookupOptions | undefined): Promise<unknown> {
    requireText(ip);
    // As the last part of a URL, these would ask for another path.
    if (/^\.{0,2}$/.test(ip))
      throw new InklingError("IP_ADDRESS_INVALID", `Not an IP address: the value is "${ip}"`);
    const required = this.#required(lookup, options);
    const limits = this.#limits(options);
    const path = `${PATHS[lookup]}/${pathSegment(ip)}${queryOf(options)}`;
    const stored = this.#cache.find(path, this.#transport.effects.now());
    if (stored?.isFresh && isComplete(required, stored.data))
      return withData(JSON.parse(stored.text), stored.data);
    const request = { path, accept: "application/json", etag: stored?.etag ?? null };
    return this.#transport.send(request, limits, async (response) => {
      const now = this.#transport.effects.now();
      const sent = readDataState(response.headers);
      if (response.status === 304 && stored !== undefined) {
        const data = sent.version === undefined ? stored.data : sent; // a cache in between may send fewer headers
        this.#cache.store(path, stored.text, data, response.headers, now);
        requireData(required, data, this.#transport.details(response));
        return withData(JSON.parse(stored.text), data);
      }
      const { text, value } = await this.#transport.json(response);
      if (!isAnswer(lookup, value)) throw this.#unreadable(response);
      this.#cache.store(path, text, sent, response.headers, now);
      requireData(required, sent, this.#transport.details(response));
      return withData(value, sent);
    });
  }

  async #email(address: string, options: EmailOptions | undefined): Promise<unknown> {
    requireText(address);
    const required = this.#required("email", options);
    const request = {
      path: PATHS.email + queryOf(options),
      body: JSON.stringify({ values: [address] }),
      contentType: "application/json",
      accept: "application/json",
    };
    return this.#transport.send(request, this.#limits(options), async (response) => {
      const { value } = await this.#transport.json(response);
      const answer = (value as { answers?: readonly unknown[] } | null)?.answers?.[0];
      if (isProblem(answer))
        throw problemError(answer, { requestId: this.#transport.details(response).requestId });
      if (!isAnswer("email", answer)) throw this.#unreadable(response);
      const data = readDataState(response.headers);
      requireData(required, data, this.#transport.details(response));
      return withData(answer, data);
    });
  }

  async #assess(input: DecisionInput, options: AssessOptions = {}): Promise<unknown> {
    const request = assessRequest(input, options);
    return this.#transport.send(request, this.#limits(options), async (response) => {
      const { value } = await this.#transport.json(response);
      if (!isDecision(value)) throw this.#unreadable(response);
      return value;
    });
  }

  #unreadable(response: Response): InklingError {
    return new InklingError(
      "ANSWER_UNREADABLE",
      "The answer is JSON, but not in Inkling's format",
      this.#transport.details(response),
    );
  }

  #limits(options: Pick<LookupOptions, "signal" | "timeoutMs"> | undefined): SendLimits {
    const { retries, timeoutMs } = this.#options;
    return {
      retries,
      timeoutMs: readNumber("timeoutMs", options?.timeoutMs ?? timeoutMs, 1, 3_600_000),
      signal: options?.signal,
    };
  }

  #required(lookup: Lookup, options: { readonly require?: readonly DataName[] } | undefined) {
    const ofLookup: readonly DataName[] = DATA_OF[lookup];
    return options?.require === undefined
      ? this.#options.require.filter((name) => ofLookup.includes(name))
      : readRequire(options.require, ofLookup);
  }

  #settle<T>(work: Promise<T>): Promise<T | IfUnavailable<P>> {
    return settle(this.#options.onUnavailable, this.#options.onThrottled, work);
  }
}

/**
 * Does the same as `new Inkling`. An application that switches to answers in its own process changes only this line
 * (`createLocal` of @inkling/local).
 */
export function createClient<P extends OnUnavailable = "throw">(options: InklingOptions<P>): Inkling<P> {
  return new Inkling(options);
}

export function requireText(value: unknown): asserts value is string {
  if (typeof value !== "string") throw wrong("the value", `to look up must be a string, not ${typeof value}`);
}

/**
 * @throws TypeError for an unknown option or a value of the wrong type, which plain JavaScript would ignore
 */
function queryOf(extras: Extras | undefined): string {
  if (extras === undefined) return "";
  checkExtras(extras);
  const included = INCLUDED.filter((name) => extras[name] === true);
  const parts = [
    included.length > 0 && `include=${included.join(",")}`,
    extras.checks !== undefined && extras.checks.length > 0 && `checks=${extras.checks.join(",")}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}
