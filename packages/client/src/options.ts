// options.ts: options of a client, checked when it is made.
//
// err  TypeError that names the option; it never quotes the key

import type { Extras } from "./answers.ts";
import type { DataName } from "./data-state.ts";
import { DATA_OF } from "./generated.ts";
import { ON_UNAVAILABLE, type OnUnavailable, type Verdict } from "./unavailable.ts";

export interface InklingOptions<P extends OnUnavailable = OnUnavailable> {
  /** The server: "http://127.0.0.1:8080". A path in it is kept. */
  readonly url: string | URL;
  /** `ink_live_…`, or `ink_test_…` for the sandbox; null when a proxy at `url` adds the key. */
  readonly key: string | null;
  /**
   * What a lookup does when the service is unavailable. "throw" (the default): it throws. "allow" and "deny": it
   * returns an `Unavailable`, for which `denies()` is false or true.
   */
  readonly onUnavailable?: P;
  /**
   * What `denies()` returns while the server throttles this client's key (RATE_LIMITED, QUOTA_EXCEEDED): "deny", the
   * default, means true. Otherwise a visitor who sends many requests would exhaust the key's rate and be let in. Only
   * together with `onUnavailable: "allow"` or `"deny"`; with "throw" a throttled lookup throws.
   */
  readonly onThrottled?: Verdict;
  /**
   * Flags that must have complete data, or "geolocation": a lookup whose answer lacks a feed for one is unavailable
   * (DATA_INCOMPLETE), instead of `false` for everybody on that list. None by default.
   */
  readonly require?: readonly DataName[];
  /** The longest time of a lookup with its retries, in milliseconds; 3,000. */
  readonly timeoutMs?: number;
  /** Retries after the first try; 2. */
  readonly retries?: number;
  /** Cached answers about addresses; 1,000. 0 disables the cache. Answers about email addresses are never cached. */
  readonly cacheEntries?: number;
  /** Instead of the runtime's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface ReadOptions<P extends OnUnavailable> {
  readonly base: string;
  readonly key: string | null;
  readonly onUnavailable: P;
  readonly onThrottled: Verdict;
  readonly require: readonly DataName[];
  readonly timeoutMs: number;
  readonly retries: number;
  readonly cacheEntries: number;
}

/** A `Record` of all names, so that TypeScript reports an option that is missing here. */
const CLIENT_OPTIONS: Readonly<Record<keyof InklingOptions, true>> = {
  url: true,
  key: true,
  onUnavailable: true,
  onThrottled: true,
  require: true,
  timeoutMs: true,
  retries: true,
  cacheEntries: true,
  fetch: true,
};

const KEY = /^ink_(?:live|test)_[0-9A-Za-z]+_[0-9A-Za-z]+$/;

/** @throws TypeError */
export function readOptions<P extends OnUnavailable>(options: InklingOptions<P>): ReadOptions<P> {
  refuseUnknown(options, CLIENT_OPTIONS, "of a client");
  const { onUnavailable = "throw" as P, onThrottled } = options;
  if (!ON_UNAVAILABLE.includes(onUnavailable))
    throw wrong("onUnavailable", 'must be "throw", "allow" or "deny"');
  if (onThrottled !== undefined && onThrottled !== "allow" && onThrottled !== "deny")
    throw wrong("onThrottled", 'must be "allow" or "deny"');
  if (onThrottled !== undefined && onUnavailable === "throw")
    throw wrong("onThrottled", 'has no effect with onUnavailable "throw": set that to "allow" or "deny"');
  // null must be explicit: a variable that is not set is undefined
  if (options.key !== null && (typeof options.key !== "string" || !KEY.test(options.key)))
    throw wrong(
      "key",
      "must be a whole key, ink_live_… or ink_test_…: is the variable set that it comes from?",
    );
  return {
    base: readBase(options.url),
    key: options.key,
    onUnavailable,
    onThrottled: onThrottled ?? "deny",
    require: readRequire(options.require ?? [], Object.values(DATA_OF).flat()),
    timeoutMs: readNumber("timeoutMs", options.timeoutMs ?? 3_000, 1, 3_600_000),
    retries: readNumber("retries", options.retries ?? 2, 0, 20),
    cacheEntries: readNumber("cacheEntries", options.cacheEntries ?? 1_000, 0, 10_000_000),
  };
}

function readBase(url: string | URL): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw wrong("url", "must be the server's address, such as http://127.0.0.1:8080");
  }
  if (!/^https?:$/.test(parsed.protocol)) throw wrong("url", "must begin with http:// or https://");
  if (parsed.username !== "" || parsed.password !== "") throw wrong("url", "must hold no user name");
  if (parsed.search !== "" || parsed.hash !== "") throw wrong("url", "must hold no query and no fragment");
  return parsed.href.replace(/\/+$/, "");
}

/** A name that no data has would never be missing: it is refused. */
export function readRequire(value: readonly DataName[], allowed: readonly DataName[]): readonly DataName[] {
  if (!Array.isArray(value) || !value.every((name) => allowed.includes(name)))
    throw wrong("require", `must be a list; here it may hold ${allowed.map((it) => `"${it}"`).join(", ")}`);
  return [...value];
}

/** Of a lookup or batch: what the answer has in addition to its own members. */
export const INCLUDED = ["evidence", "network", "subject"] as const;
const OTHERS: readonly string[] = ["signal", "timeoutMs", "require", "size", "concurrency", "lingerMs"];

/** A misspelt extra would be missing in every answer: it is refused. @throws TypeError */
export function checkExtras(extras: Extras): void {
  for (const name in extras) {
    const value: unknown = extras[name as keyof Extras];
    if (name === "evidence" || name === "network" || name === "subject") {
      if (value !== undefined && typeof value !== "boolean") throw wrong(name, "must be true or false");
    } else if (name === "checks") {
      if (value !== undefined && !(Array.isArray(value) && value.every((check) => check === "mx")))
        throw wrong("checks", 'must be a list; it may hold "mx"');
    } else if (!OTHERS.includes(name))
      throw wrong(
        name,
        name === "include"
          ? "is no option: set evidence, network or subject to true, as in { network: true }"
          : `is no option of a lookup; there are ${[...INCLUDED, "checks", ...OTHERS].join(", ")}`,
      );
  }
}

export function readNumber(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw wrong(name, `must be a whole number from ${least} to ${most}`);
  return value;
}

/**
 * A misspelt option would silently keep its default, so it is refused.
 * @throws TypeError that names the first unknown option and those that exist
 */
export function refuseUnknown(
  options: object,
  known: Readonly<Record<string, true>>,
  whose: string,
  refuse = wrong,
): void {
  for (const name in options)
    if (!Object.hasOwn(known, name))
      throw refuse(name, `is not an option ${whose}. Options: ${Object.keys(known).join(", ")}`);
}

export function wrong(name: string, what: string): TypeError {
  return new TypeError(`@inkling/client: ${name} ${what}`);
}
