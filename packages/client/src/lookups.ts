// lookups.ts: declares the methods that an application calls. They are the same for this client and for @inkling/local,
// which answers in the application's process.

import type { Answer, Extras, Lookup } from "./answers.ts";
import type { AssessOptions, DecisionResult } from "./assess.ts";
import type { BatchResult } from "./batch.ts";
import type { DataName, WithData } from "./data-state.ts";
import type { DecisionInput } from "./generated.ts";
import type { IfUnavailable, OnUnavailable } from "./unavailable.ts";

/** Options of one lookup. */
export interface LookupOptions extends Omit<Extras, "checks"> {
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; overrides the client's time limit. */
  readonly timeoutMs?: number;
  /** Required data; overrides the client's `require`. */
  readonly require?: readonly DataName[];
}

export interface EmailOptions extends Omit<LookupOptions, "network" | "subject">, Pick<Extras, "checks"> {}

export interface BatchOptions extends Extras {
  readonly signal?: AbortSignal;
  /** Maximum milliseconds without data from the server. The default is 30,000. */
  readonly timeoutMs?: number;
  /** Required data; overrides the client's `require`. If data is missing, the batch throws DATA_INCOMPLETE. */
  readonly require?: readonly DataName[];
  /** Number of values in one request, from 1 to 1,000. The default is 1,000. */
  readonly size?: number;
  /** Number of requests in progress at the same time. The default is 4. */
  readonly concurrency?: number;
  /**
   * Milliseconds that a value from a slow source waits for more values to share its request. The default is
   * 20.
   */
  readonly lingerMs?: number;
}

/** A lookup's answer with these options, and `data`: how complete the data behind it is. */
export type LookupResult<L extends Lookup, O extends Extras = Record<never, never>> = Answer<L, O> & WithData;

/** The three lookups, each for one value or any number of values, and decisions about visitors. */
export interface Lookups<P extends OnUnavailable = "throw"> {
  /** What a lookup does when the service is unavailable. */
  readonly onUnavailable: P;
  /**
   * Looks up where an address is.
   * @param ip one IPv4 or IPv6 address, or for a server "me": this machine's own address
   * @returns undefined for a public address whose location is unknown
   */
  geolocate<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | IfUnavailable<P>>;
  /**
   * Looks up whether an address can be trusted.
   * @param ip one IPv4 or IPv6 address, or for a server "me": this machine's own address
   */
  reputation<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"reputation", O> | IfUnavailable<P>>;
  /**
   * Looks up whether an email address is valid, and whether it is disposable. Invalid syntax is an answer,
   * not an error.
   */
  email<const O extends EmailOptions>(
    address: string,
    options?: O,
  ): Promise<LookupResult<"email", O> | IfUnavailable<P>>;
  /**
   * Returns a decision about a visitor, with its reasons. In the answer, `degraded` lists the data that was missing.
   * @param input an event, and an address, an email address or both
   */
  assess<const O extends AssessOptions>(
    input: DecisionInput,
    options?: O,
  ): Promise<DecisionResult<O> | IfUnavailable<P>>;
  /**
   * Looks up any number of values in order. Reads only as many values as it sends.
   * @param values any iterable or async iterable of strings: an array, a generator, the lines of a file
   * @returns one result for each value: its answer, or the error of that value only
   * @throws InklingError while iterating, if a request fails for good, regardless of `onUnavailable`
   */
  batch<L extends Lookup, const O extends BatchOptions>(
    lookup: L,
    values: Iterable<string> | AsyncIterable<string>,
    options?: O,
  ): AsyncGenerator<BatchResult<Answer<L, O> | (L extends "geolocate" ? undefined : never)>, void, undefined>;
}
