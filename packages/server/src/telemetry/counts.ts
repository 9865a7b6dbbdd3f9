// counts.ts: counters of the request path: plain numbers in one block of memory, read at scrape time.
//
// in   the names of routes and problem codes; then what each request did
// out  rows of requests, lookups, problems, latency, flags and countries
// cost 8 ns a request
// note The block may be shared memory that outlives the process: a new worker continues its predecessor's counts.
//      Array reads are `!`: an index is made of numbers that the layout bounds.

import {
  bitsOfAnswer,
  LOOKUPS,
  type Lookup,
  OVERRIDE_FLAGS,
  type OverrideFlag,
  REPUTATION_ANSWERS,
} from "@inkling/engine";
import { COUNTRY_INDEXES, countryCode, countryIndex, isDisposable } from "./answer-scan.ts";

/** Upper bounds of the latency histogram, in seconds: from request parsed to response made, without the network. */
export const LATENCY_BOUNDS = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5,
] as const;
const BUCKETS = LATENCY_BOUNDS.length + 1;

/** The mode of the request's key. */
const AUDIENCES = ["none", "live", "test"] as const;
export type Audience = (typeof AUDIENCES)[number];
const AUDIENCE_INDEX: Readonly<Record<Audience, number>> = { none: 0, live: 1, test: 2 };
/** A request for one value, or one for many. */
export const REQUEST_KINDS = ["single", "batch"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];
/** Most answers are this one, whose length no other has. */
const NO_FLAGS_LENGTH = REPUTATION_ANSWERS[0]!.length; // there is always a first
const DISPOSABLE = OVERRIDE_FLAGS.indexOf("disposable");

const STATUSES = 600;
/**
 * Statuses and key kinds whose series exist from the start for each route of /v1: Prometheus' rate() takes no rise from a
 * series that appears with its first request.
 */
const FROM_ZERO: Readonly<Record<Audience, readonly number[]>> = {
  none: [401, 500, 503],
  live: [200, 403, 429, 500, 503],
  test: [],
};
/** Geolocation answers read exactly each second; beyond them one in SAMPLE is, and counts as SAMPLE. */
const READ_A_SECOND = 100;
const SAMPLE = 16;

/** What the numbers stand for. Processes that share memory need the same layout. */
export interface CountsLayout<Code extends string = string> {
  /** Templates, by route index. */
  readonly routes: readonly string[];
  /** Those of them that look up one value, or many. */
  readonly lookupRoutes: Readonly<Record<RequestKind, readonly string[]>>;
  readonly problems: readonly Code[];
}

/** Bytes that the counts of a layout take. */
export function countsBytes(layout: CountsLayout): number {
  return 8 * Object.values(sizesOf(layout)).reduce((sum, size) => sum + size);
}

function sizesOf({ routes, problems }: CountsLayout) {
  return {
    requests: AUDIENCES.length * routes.length * STATUSES,
    lookups: LOOKUPS.length * AUDIENCES.length * REQUEST_KINDS.length,
    latency: routes.length * BUCKETS,
    seconds: routes.length,
    problems: problems.length,
    flags: OVERRIDE_FLAGS.length,
    countries: COUNTRY_INDEXES,
  };
}

export class Counts<Code extends string = string> {
  private readonly layout: CountsLayout<Code>;
  private readonly problemIndex: ReadonlyMap<Code, number>;
  private readonly all: Float64Array;
  private readonly requests: Float64Array;
  private readonly lookups: Float64Array;
  private readonly latency: Float64Array;
  private readonly seconds: Float64Array;
  private readonly problems: Float64Array;
  private readonly flags: Float64Array;
  private readonly countries: Float64Array;
  private readonly sample = { second: 0, read: 0, turn: 0 };

  /** @param memory `countsBytes(layout)` bytes: one worker adds to them, others may read them */
  constructor(layout: CountsLayout<Code>, memory: Uint8Array = new Uint8Array(countsBytes(layout))) {
    this.layout = layout;
    this.problemIndex = new Map(layout.problems.map((code, i) => [code, i]));
    this.all = new Float64Array(memory.buffer, memory.byteOffset, countsBytes(layout) / 8);
    const sizes = sizesOf(layout);
    let start = 0;
    const take = (size: number) => {
      start += size;
      return this.all.subarray(start - size, start);
    };
    this.requests = take(sizes.requests);
    this.lookups = take(sizes.lookups);
    this.latency = take(sizes.latency);
    this.seconds = take(sizes.seconds);
    this.problems = take(sizes.problems);
    this.flags = take(sizes.flags);
    this.countries = take(sizes.countries);
  }

  /** The sum of what several workers counted. */
  static sum<Code extends string>(layout: CountsLayout<Code>, counts: Iterable<Counts<Code>>): Counts<Code> {
    const sum = new Counts(layout);
    for (const { all } of counts) for (const [i, n] of all.entries()) sum.all[i]! += n;
    return sum;
  }

  /** Counts one response. */
  recordAnswer(routeIndex: number, status: number, audience: Audience, ms: number): void {
    this.requests[this.requestIndex(AUDIENCE_INDEX[audience], routeIndex) + status]! += 1;
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > LATENCY_BOUNDS[bucket]!) bucket++;
    this.latency[routeIndex * BUCKETS + bucket]! += 1;
    this.seconds[routeIndex]! += seconds;
  }

  /** Counts values that were looked up, as usage does: the status alone does not show it. */
  countLookup(lookup: Lookup, audience: Audience, kind: RequestKind, count = 1): void {
    const row = LOOKUPS.indexOf(lookup) * AUDIENCES.length + AUDIENCE_INDEX[audience];
    this.lookups[row * REQUEST_KINDS.length + REQUEST_KINDS.indexOf(kind)]! += count;
  }

  /** Counts one refused request, or one refused value of a batch. */
  countProblem(code: Code): void {
    this.problems[this.problemIndex.get(code)!]! += 1; // the layout has every code
  }

  /**
   * Counts the flags that an answer sets, or the country that it names.
   * @param bytes hold the answer, without evidence, from `start` to `end`
   * @param now epoch ms
   */
  countFlags(lookup: Lookup, bytes: Uint8Array, now: number, start = 0, end = bytes.length): void {
    if (lookup === "geolocate") {
      const weight = this.sampleWeight(now);
      const country = weight > 0 ? countryIndex(bytes, start, end) : -1;
      if (country >= 0) this.countries[country]! += weight;
    } else if (lookup === "reputation") {
      if (end - start === NO_FLAGS_LENGTH) return;
      for (let i = 0, flags = bitsOfAnswer(bytes, start); flags !== 0; i++, flags >>= 1) {
        if ((flags & 1) !== 0) this.flags[i]! += 1;
      }
    } else if (isDisposable(bytes, start)) this.flags[DISPOSABLE]! += 1;
  }

  /** How many answers this one counts as; 0 when it is not read. */
  private sampleWeight(now: number): number {
    const { sample } = this;
    const second = Math.floor(now / 1000);
    if (second !== sample.second) {
      sample.second = second;
      sample.read = 0;
    }
    if (sample.read < READ_A_SECOND) {
      sample.read++;
      return 1;
    }
    return sample.turn++ % SAMPLE === 0 ? SAMPLE : 0;
  }

  private requestIndex(audience: number, route: number): number {
    return (audience * this.layout.routes.length + route) * STATUSES;
  }

  /** Counts of requests that are not zero; `fromZero` adds the zeros that metrics begin with. */
  *requestRows(
    fromZero = false,
  ): Generator<{ route: string; status: string; audience: Audience; count: number }> {
    for (const [a, audience] of AUDIENCES.entries()) {
      for (const [r, route] of this.layout.routes.entries()) {
        for (let status = 100; status < STATUSES; status++) {
          const count = this.requests[this.requestIndex(a, r) + status]!;
          const isShown = fromZero && route.startsWith("/v1/") && FROM_ZERO[audience].includes(status);
          if (count > 0 || isShown) yield { route, status: String(status), audience, count };
        }
      }
    }
  }

  /** Counts of lookups that are not zero; `fromZero` adds the zeros of live keys. */
  *lookupRows(
    fromZero = false,
  ): Generator<{ lookup: Lookup; audience: Audience; kind: RequestKind; count: number }> {
    let i = 0;
    for (const lookup of LOOKUPS) {
      for (const audience of AUDIENCES) {
        for (const kind of REQUEST_KINDS) {
          const count = this.lookups[i++]!;
          if (count > 0 || (fromZero && audience === "live")) yield { lookup, audience, kind, count };
        }
      }
    }
  }

  problemRows(): Iterable<[Code, number]> {
    return this.layout.problems.map((code, i) => [code, this.problems[i]!]);
  }

  /** Answers that set each flag. */
  flagRows(): Iterable<[OverrideFlag, number]> {
    return OVERRIDE_FLAGS.map((flag, i) => [flag, this.flags[i]!]);
  }

  /** Answers by ISO 3166-1 code; estimated from a sample under load. */
  *countryRows(): Generator<[string, number]> {
    for (const [i, count] of this.countries.entries()) if (count > 0) yield [countryCode(i), count];
  }

  /** Requests for one value, or for many, by bucket of the histogram and above its last bound. */
  latencyOf(kind: RequestKind): number[] {
    const buckets: number[] = new Array(BUCKETS).fill(0);
    for (const route of this.layout.lookupRoutes[kind]) {
      const start = this.layout.routes.indexOf(route) * BUCKETS;
      for (let i = 0; i < BUCKETS; i++) buckets[i]! += this.latency[start + i]!;
    }
    return buckets;
  }

  /** For each route of lookups, and each other route with requests: counts up to each bound, in all, and their sum. */
  *latencyRows(): Generator<{ route: string; upTo: readonly number[]; count: number; seconds: number }> {
    for (const [r, route] of this.layout.routes.entries()) {
      let count = 0;
      const upTo = Array.from(this.latency.subarray(r * BUCKETS, (r + 1) * BUCKETS), (n) => {
        count += n;
        return count;
      });
      const { single, batch } = this.layout.lookupRoutes;
      if (count > 0 || single.includes(route) || batch.includes(route))
        yield { route, upTo, count, seconds: this.seconds[r]! };
    }
  }
}
