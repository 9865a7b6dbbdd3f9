// lookups.ts: what an application calls, whoever answers: this client, or @inkling/local in the application's process.

import type { Answer, Extras, Lookup } from "./answers.ts";
import type { AssessmentResult, AssessOptions } from "./assess.ts";
import type { BatchResult } from "./batch.ts";
import type { DataName, WithData } from "./data-state.ts";
import type { AssessmentInput } from "./generated.ts";
import type { IfUnavailable, OnUnavailable } from "./unavailable.ts";

/** Options of one lookup. */
export interface LookupOptions extends Omit<Extras, "checks"> {
  readonly signal?: AbortSignal;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  /** Instead of the client's. */
  readonly require?: readonly DataName[];
}

export interface EmailOptions extends Omit<LookupOptions, "network" | "subject">, Pick<Extras, "checks"> {}

export interface BatchOptions extends Extras {
  readonly signal?: AbortSignal;
  /** The longest silence of the server, in milliseconds; 30,000. */
  readonly timeoutMs?: number;
  /** Instead of the client's. Where data is missing the batch throws DATA_INCOMPLETE. */
  readonly require?: readonly DataName[];
  /** Values in one request, 1 to 1,000; 1,000. */
  readonly size?: number;
  /** Requests under way at once; 4. */
  readonly concurrency?: number;
  /** How long a value of a slow source waits for more to share its request, in milliseconds; 20. */
  readonly lingerMs?: number;
}

/** The answer of a lookup with these options, and `data`: how complete the data behind it is. */
export type LookupResult<L extends Lookup, O extends Extras = Record<never, never>> = Answer<L, O> & WithData;

/** The three lookups, of one value or of any number, and decisions about visitors. */
export interface Lookups<P extends OnUnavailable = "throw"> {
  /** What a lookup does when the service is unavailable. */
  readonly onUnavailable: P;
  /** Where an address is; undefined for a public address whose place is unknown. */
  geolocate<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | IfUnavailable<P>>;
  /** Whether an address can be trusted. */
  reputation<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"reputation", O> | IfUnavailable<P>>;
  /** Whether an email address is valid, and whether it is disposable. Invalid syntax is an answer, not an error. */
  email<const O extends EmailOptions>(
    address: string,
    options?: O,
  ): Promise<LookupResult<"email", O> | IfUnavailable<P>>;
  /** Should this visitor be let in, and why? */
  assess<const O extends AssessOptions>(
    input: AssessmentInput,
    options?: O,
  ): Promise<AssessmentResult<O> | IfUnavailable<P>>;
  /** Any number of values, in order: one result for each, its answer or the error of that value only. */
  batch<L extends Lookup, const O extends BatchOptions>(
    lookup: L,
    values: Iterable<string> | AsyncIterable<string>,
    options?: O,
  ): AsyncGenerator<BatchResult<Answer<L, O> | (L extends "geolocate" ? undefined : never)>, void, undefined>;
}
