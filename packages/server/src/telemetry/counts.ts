// counts.ts: keeps counters of the request path, as plain numbers in one block of memory that scrapes read.
//
// Cost: 8 ns per request. The block is shared memory that outlives a worker. A new worker continues its predecessor's
// counts. Array reads use `!`, because the layout bounds every index.

import {
  keysOf,
  MX_OUTCOMES,
  type MxOutcome,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  PROBLEM_CODES,
  type ProblemCode,
  recordOf,
  SCOPES,
  type Scope,
} from "@inkling/contract";
import { OVERRIDE_FLAGS, type OverrideFlag } from "@inkling/engine";
import {
  LATENCY_BOUNDS,
  METRIC_BOUNDS,
  REQUEST_KINDS,
  type RequestKind,
} from "@inkling/store/traffic-counts";

const BUCKETS = LATENCY_BOUNDS.length + 1;

/** The mode of the request's key. */
const AUDIENCES = ["none", "live", "test"] as const;
export type Audience = (typeof AUDIENCES)[number];
const AUDIENCE_INDEX: Readonly<Record<Audience, number>> = { none: 0, live: 1, test: 2 };
const DISPOSABLE = OVERRIDE_FLAGS.indexOf("disposable");

/** Countries are indexed by their two letters. */
const LETTERS = 26;
const A = 0x41;
const countryIndex = (code: string) => (code.charCodeAt(0) - A) * LETTERS + code.charCodeAt(1) - A;
const countryCode = (index: number) =>
  String.fromCharCode(A + Math.floor(index / LETTERS), A + (index % LETTERS));

const STATUSES = 600;
/**
 * Statuses and key modes whose series exist from the start for each route in ALERTED. If a series appeared only with
 * its first request, Prometheus' rate() would miss that increase.
 */
const FROM_ZERO: Readonly<Record<Audience, readonly number[]>> = {
  none: [401, 500, 503],
  live: [200, 403, 429, 500, 503],
  test: [],
};
/** The routes that the alert rules in deploy/prometheus watch. */
const ALERTED = /^\/(v1|geoip)\//;
/**
 * Maximum geolocation answers per second that are all read. Beyond this number, only one answer in SAMPLE is read, and
 * it counts as SAMPLE answers.
 */
const READ_A_SECOND = 100;
const SAMPLE = 16;

/** The id of requests that no operation answers. */
const NO_OPERATION = "none";
export type Counted = OperationId | typeof NO_OPERATION;

interface CountedRow {
  /** The path, which is the name in metrics and logs. */
  readonly route: string;
  readonly looksUp?: RequestKind;
}
const COUNTED = new Map<Counted, CountedRow>([
  ...OPERATION_IDS.map((id) => {
    const { path, looksUp } = OPERATIONS[id];
    return [id, { route: path, ...(looksUp !== undefined && { looksUp }) }] as const;
  }),
  [NO_OPERATION, { route: NO_OPERATION }],
]);
const ROWS = [...COUNTED.values()];

/** Index of an operation's counters. */
export type Slot = number;
const SLOTS: ReadonlyMap<Counted, Slot> = new Map(Array.from(COUNTED.keys(), (id, i) => [id, i]));
export const slotOf = (id: Counted): Slot => SLOTS.get(id)!; // the map contains every operation

const PROBLEM_SLOTS: ReadonlyMap<ProblemCode, number> = new Map(PROBLEM_CODES.map((code, i) => [code, i]));

/** What became of the spans of traced requests. */
const SPAN_OUTCOMES = ["sent", "dropped"] as const;

/** The state of `checks=mx` in a thread: DNS lookups in flight, requests that wait for one, and cached domains. */
const MX_STATE = ["underWay", "waiting", "cached"] as const;
type MxState = Readonly<Record<(typeof MX_STATE)[number], number>>;

const SIZES = {
  requests: AUDIENCES.length * ROWS.length * STATUSES,
  lookups: SCOPES.length * AUDIENCES.length * REQUEST_KINDS.length,
  latency: ROWS.length * BUCKETS,
  seconds: ROWS.length,
  problems: PROBLEM_CODES.length,
  flags: OVERRIDE_FLAGS.length,
  countries: LETTERS * LETTERS,
  spans: SPAN_OUTCOMES.length,
  mxAnswers: MX_OUTCOMES.length,
  mxLookups: MX_OUTCOMES.length,
  mxHits: 1,
  mxSeconds: 1,
  mxState: MX_STATE.length,
};
/** Number of bytes that the counts need. */
export const COUNTS_BYTES = 8 * Object.values(SIZES).reduce((sum, size) => sum + size);

export class Counts {
  private readonly all: Float64Array;
  private readonly parts: Readonly<Record<keyof typeof SIZES, Float64Array>>;
  private readonly sample = { second: 0, read: 0, turn: 0 };

  /** @param memory COUNTS_BYTES; one thread adds to the counts, and other threads may read them */
  constructor(memory = new SharedArrayBuffer(COUNTS_BYTES)) {
    this.all = new Float64Array(memory);
    let end = 0;
    this.parts = recordOf(keysOf(SIZES), (name) => {
      end += SIZES[name];
      return this.all.subarray(end - SIZES[name], end);
    });
  }

  /** Adds up the counts of several workers. */
  static sum(counts: Iterable<Counts>): Counts {
    const sum = new Counts();
    for (const { all } of counts) for (const [i, n] of all.entries()) sum.all[i]! += n;
    return sum;
  }

  /** Counts one response. */
  recordAnswer(slot: Slot, status: number, audience: Audience, ms: number): void {
    this.parts.requests[this.requestIndex(AUDIENCE_INDEX[audience], slot) + status]! += 1;
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > LATENCY_BOUNDS[bucket]!) bucket++;
    this.parts.latency[slot * BUCKETS + bucket]! += 1;
    this.parts.seconds[slot]! += seconds;
  }

  /**
   * Counts looked-up values in the same way as usage, because a response's status does not show how many there were.
   */
  countLookup(lookup: Scope, audience: Audience, kind: RequestKind, count = 1): void {
    const row = SCOPES.indexOf(lookup) * AUDIENCES.length + AUDIENCE_INDEX[audience];
    this.parts.lookups[row * REQUEST_KINDS.length + REQUEST_KINDS.indexOf(kind)]! += count;
  }

  /** Counts one refused request, or one refused value of a batch. */
  countProblem(code: ProblemCode): void {
    this.parts.problems[PROBLEM_SLOTS.get(code)!]! += 1; // the map contains every code
  }

  /** Counts the flags that an answer about an address sets. @param bits the flags, as bits */
  countFlags(bits: number): void {
    for (let i = 0, flags = bits; flags !== 0; i++, flags >>= 1) {
      if ((flags & 1) !== 0) this.parts.flags[i]! += 1;
    }
  }

  countDisposable(): void {
    this.parts.flags[DISPOSABLE]! += 1;
  }

  /**
   * Counts a location's country.
   * @param code ISO 3166-1 alpha-2; undefined if the location has none
   * @param weight how many locations this one counts as
   */
  countCountry(code: string | undefined, weight: number): void {
    if (code !== undefined) this.parts.countries[countryIndex(code)]! += weight;
  }

  countSpans(outcome: (typeof SPAN_OUTCOMES)[number], count: number): void {
    this.parts.spans[SPAN_OUTCOMES.indexOf(outcome)]! += count;
  }

  spanRows(): Iterable<[string, number]> {
    return SPAN_OUTCOMES.map((outcome, i) => [outcome, this.parts.spans[i]!]);
  }

  /** Counts an answer to a caller. The lookup behind a timeout may still finish later. */
  countMxAnswer(outcome: MxOutcome): void {
    this.parts.mxAnswers[MX_OUTCOMES.indexOf(outcome)]! += 1;
  }

  /** Counts a finished DNS lookup. */
  countMxLookup(outcome: MxOutcome, ms: number): void {
    this.parts.mxLookups[MX_OUTCOMES.indexOf(outcome)]! += 1;
    this.parts.mxSeconds[0]! += ms / 1000;
  }

  /** Counts an answer from the cache. */
  countMxHit(): void {
    this.parts.mxHits[0]! += 1;
  }

  setMxState(state: MxState): void {
    this.parts.mxState.set(MX_STATE.map((name) => state[name]));
  }

  /** The numbers of `checks=mx`. */
  get mx() {
    const { mxAnswers, mxLookups, mxHits, mxSeconds, mxState } = this.parts;
    const byOutcome = (counts: Float64Array): ReadonlyMap<MxOutcome, number> =>
      new Map(MX_OUTCOMES.map((outcome, i) => [outcome, counts[i]!] as const).filter(([, n]) => n > 0));
    return {
      answers: byOutcome(mxAnswers),
      lookups: byOutcome(mxLookups),
      hits: mxHits[0]!,
      seconds: mxSeconds[0]!,
      state: recordOf(MX_STATE, (_, i) => mxState[i]!),
    };
  }

  /** Returns how many locations the next one counts as; 0 if its country must not be read. @param now epoch ms */
  sampleWeight(now: number): number {
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

  private requestIndex(audience: number, slot: Slot): number {
    return (audience * ROWS.length + slot) * STATUSES;
  }

  /** Yields the counts of requests that are not zero. `fromZero` adds the metrics' initial zeros. */
  *requestRows(
    fromZero = false,
  ): Generator<{ route: string; status: string; audience: Audience; count: number }> {
    for (const [a, audience] of AUDIENCES.entries()) {
      for (const [slot, { route }] of ROWS.entries()) {
        for (let status = 100; status < STATUSES; status++) {
          const count = this.parts.requests[this.requestIndex(a, slot) + status]!;
          const isShown = fromZero && ALERTED.test(route) && FROM_ZERO[audience].includes(status);
          if (count > 0 || isShown) yield { route, status: String(status), audience, count };
        }
      }
    }
  }

  /** Yields the counts of lookups that are not zero. `fromZero` adds the zeros for live keys. */
  *lookupRows(
    fromZero = false,
  ): Generator<{ lookup: Scope; audience: Audience; kind: RequestKind; count: number }> {
    let i = 0;
    for (const lookup of SCOPES) {
      for (const audience of AUDIENCES) {
        for (const kind of REQUEST_KINDS) {
          const count = this.parts.lookups[i++]!;
          if (count > 0 || (fromZero && audience === "live")) yield { lookup, audience, kind, count };
        }
      }
    }
  }

  problemRows(): Iterable<[ProblemCode, number]> {
    return PROBLEM_CODES.map((code, i) => [code, this.parts.problems[i]!]);
  }

  /** Returns the number of answers that set each flag. */
  flagRows(): Iterable<[OverrideFlag, number]> {
    return OVERRIDE_FLAGS.map((flag, i) => [flag, this.parts.flags[i]!]);
  }

  /** Yields the number of answers by ISO 3166-1 code, estimated from a sample under load. */
  *countryRows(): Generator<[string, number]> {
    for (const [i, count] of this.parts.countries.entries()) if (count > 0) yield [countryCode(i), count];
  }

  /** Returns the counts of one kind of request, by histogram bucket. The last bucket is above the last bound. */
  latencyOf(kind: RequestKind): number[] {
    const buckets: number[] = new Array(BUCKETS).fill(0);
    for (const [slot, { looksUp }] of ROWS.entries()) {
      const start = slot * BUCKETS;
      if (looksUp !== kind) continue;
      for (let i = 0; i < BUCKETS; i++) buckets[i]! += this.parts.latency[start + i]!;
    }
    return buckets;
  }

  /**
   * Yields a row for each lookup route, and for each other route with requests: the counts up to each of METRIC_BOUNDS,
   * the total count, and the total seconds.
   */
  *latencyRows(): Generator<{ route: string; upTo: readonly number[]; count: number; seconds: number }> {
    for (const [slot, { route, looksUp }] of ROWS.entries()) {
      let count = 0;
      const upTo: number[] = [];
      for (let i = 0; i < BUCKETS; i++) {
        count += this.parts.latency[slot * BUCKETS + i]!;
        if (METRIC_BOUNDS.includes(LATENCY_BOUNDS[i]!)) upTo.push(count);
      }
      if (count > 0 || looksUp !== undefined)
        yield { route, upTo, count, seconds: this.parts.seconds[slot]! };
    }
  }
}
