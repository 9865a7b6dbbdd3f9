// options.ts: defines the options of a client, and checks them when the client is created.

import type { Extras } from "./answers.ts";
import type { DataName } from "./data-state.ts";
import { DATA_OF } from "./generated.ts";
import { ON_UNAVAILABLE, type OnUnavailable, type Verdict } from "./unavailable.ts";

export interface InklingOptions<P extends OnUnavailable = OnUnavailable> {
  /** The server's URL: "http://127.0.0.1:8080". A path in it is kept. */
  readonly url: string | URL;
  /**
   * `ink_live_…`, or `ink_test_…` for the sandbox; null if a proxy at `url` adds the key. The type allows undefined, so
   * that `process.env.KEY` compiles. If the variable is not set, the client throws.
   */
  readonly key: string | null | undefined;
  /**
   * What a lookup does when the service is unavailable. With "throw", the default, it throws. With "allow"
   * and "deny", it returns an `Unavailable`, for which `denies()` is false or true.
   */
  readonly onUnavailable?: P;
  /**
   * What `denies()` returns while the server throttles this client's key (RATE_LIMITED, QUOTA_EXCEEDED). The
   * default, "deny", means true. Otherwise a visitor could exhaust the key's rate with many requests and be
   * let in. This option needs `onUnavailable: "allow"` or `"deny"`; with "throw", a throttled lookup throws.
   */
  readonly onThrottled?: Verdict;
  /**
   * Flags, or "geolocation", that must have complete data. If a feed for one of them is missing, the lookup is
   * unavailable (DATA_INCOMPLETE). Otherwise, the flag would be `false` for everyone on that feed's list. By default,
   * no data is required.
   */
  readonly require?: readonly DataName[];
  /** Maximum duration of a lookup with its retries, in milliseconds. The default is 3,000. */
  readonly timeoutMs?: number;
  /** Retries after the first attempt. The default is 2. */
  readonly retries?: number;
  /**
   * Maximum number of cached answers about addresses. The default is 1,000, and 0 disables the cache. Answers
   * about email addresses are never cached.
   */
  readonly cacheEntries?: number;
  /** Replaces the runtime's own fetch. */
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

/** A `Record` of all names, so that TypeScript reports a missing option. */
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
    throw wrong(
      "onThrottled",
      'has no effect with onUnavailable "throw": set onUnavailable to "allow" or "deny"',
    );
  // null must be explicit, because a variable that is not set is undefined
  if (options.key !== null && (typeof options.key !== "string" || !KEY.test(options.key)))
    throw wrong(
      "key",
      "must be a whole key, ink_live_… or ink_test_…: check that the variable with the key is set",
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
  if (parsed.username !== "" || parsed.password !== "") throw wrong("url", "must not contain a user name");
  if (parsed.search !== "" || parsed.hash !== "") throw wrong("url", "must not contain a query or fragment");
  return parsed.href.replace(/\/+$/, "");
}

/** Refuses a name that does not stand for any data, because it would never be reported as missing. */
export function readRequire(value: readonly DataName[], allowed: readonly DataName[]): readonly DataName[] {
  if (!Array.isArray(value) || !value.every((name) => allowed.includes(name)))
    throw wrong(
      "require",
      `must be a list; the values allowed here are ${allowed.map((it) => `"${it}"`).join(", ")}`,
    );
  return [...value];
}

/** Options of a lookup or batch that add fields to the answer. */
export const INCLUDED = ["evidence", "network", "subject"] as const;
const OTHERS: readonly string[] = ["signal", "timeoutMs", "require", "size", "concurrency", "lingerMs"];

/**
 * Refuses a misspelt extra, which would otherwise be missing from every answer.
 * @throws TypeError
 */
export function checkExtras(extras: Extras): void {
  for (const name in extras) {
    const value: unknown = extras[name as keyof Extras];
    if (name === "evidence" || name === "network" || name === "subject") {
      if (value !== undefined && typeof value !== "boolean") throw wrong(name, "must be true or false");
    } else if (name === "checks") {
      if (value !== undefined && !(Array.isArray(value) && value.every((check) => check === "mx")))
        throw wrong("checks", 'must be a list; the only value allowed is "mx"');
    } else if (!OTHERS.includes(name))
      throw wrong(
        name,
        name === "include"
          ? "is not an option: use { evidence: true }, { network: true } or { subject: true }"
          : `is not an option of a lookup. The options are ${[...INCLUDED, "checks", ...OTHERS].join(", ")}`,
      );
  }
}

export function readNumber(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw wrong(name, `must be a whole number from ${least} to ${most}`);
  return value;
}

/**
 * Refuses a misspelt option, which would otherwise silently keep its default.
 * @throws TypeError, which shows the first unknown option and the options that exist
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
