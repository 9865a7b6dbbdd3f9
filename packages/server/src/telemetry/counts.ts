// counts.ts: counters of the request path: plain numbers in one block of memory, read at scrape time.
//
// in   what each request did, counted by its operation (contract/src/operations.ts)
// out  rows of requests, lookups, problems, latency, flags and countries
// cost 8 ns a request
// note The block may be shared memory that outlives the process: a new worker continues its predecessor's counts.
//      Array reads are `!`: an index is made of numbers that the layout bounds.

import {
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  PROBLEM_CODES,
  type ProblemCode,
  SCOPES,
  type Scope,
} from "@inkling/contract";
import { OVERRIDE_FLAGS, type OverrideFlag } from "@inkling/engine";

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
const DISPOSABLE = OVERRIDE_FLAGS.indexOf("disposable");

/** Countries by their two letters. */
const LETTERS = 26;
const A = 0x41;
const countryIndex = (code: string) => (code.charCodeAt(0) - A) * LETTERS + code.charCodeAt(1) - A;
const countryCode = (index: number) =>
  String.fromCharCode(A + Math.floor(index / LETTERS), A + (index % LETTERS));

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

/** Of requests that no operation answers. */
const NO_OPERATION = "none";
export type Counted = OperationId | typeof NO_OPERATION;

interface CountedRow {
  /** As metrics and logs name it: its path. */
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

/** Where an operation's requests are counted. */
export type Slot = number;
const SLOTS: ReadonlyMap<Counted, Slot> = new Map(Array.from(COUNTED.keys(), (id, i) => [id, i]));
export const slotOf = (id: Counted): Slot => SLOTS.get(id)!; // has every operation

const PROBLEM_SLOTS: ReadonlyMap<ProblemCode, number> = new Map(PROBLEM_CODES.map((code, i) => [code, i]));

const SIZES = {
  requests: AUDIENCES.length * ROWS.length * STATUSES,
  lookups: SCOPES.length * AUDIENCES.length * REQUEST_KINDS.length,
  latency: ROWS.length * BUCKETS,
  seconds: ROWS.length,
  problems: PROBLEM_CODES.length,
  flags: OVERRIDE_FLAGS.length,
  countries: LETTERS * LETTERS,
  decisions: 1,
};
/** Bytes that the counts take. */
export const COUNTS_BYTES = 8 * Object.values(SIZES).reduce((sum, size) => sum + size);

export class Counts {
  private readonly all: Float64Array;
  private readonly requests: Float64Array;
  private readonly lookups: Float64Array;
  private readonly latency: Float64Array;
  private readonly seconds: Float64Array;
  private readonly problems: Float64Array;
  private readonly flags: Float64Array;
  private readonly countries: Float64Array;
  private readonly decided: Float64Array;
  private readonly sample = { second: 0, read: 0, turn: 0 };

  /** @param memory COUNTS_BYTES: one worker adds to them, others may read them */
  constructor(memory: Uint8Array = new Uint8Array(COUNTS_BYTES)) {
    this.all = new Float64Array(memory.buffer, memory.byteOffset, COUNTS_BYTES / 8);
    let start = 0;
    const take = (size: number) => {
      start += size;
      return this.all.subarray(start - size, start);
    };
    this.requests = take(SIZES.requests);
    this.lookups = take(SIZES.lookups);
    this.latency = take(SIZES.latency);
    this.seconds = take(SIZES.seconds);
    this.problems = take(SIZES.problems);
    this.flags = take(SIZES.flags);
    this.countries = take(SIZES.countries);
    this.decided = take(SIZES.decisions);
  }

  /** The sum of what several workers counted. */
  static sum(counts: Iterable<Counts>): Counts {
    const sum = new Counts();
    for (const { all } of counts) for (const [i, n] of all.entries()) sum.all[i]! += n;
    return sum;
  }

  /** Counts one response. */
  recordAnswer(slot: Slot, status: number, audience: Audience, ms: number): void {
    this.requests[this.requestIndex(AUDIENCE_INDEX[audience], slot) + status]! += 1;
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > LATENCY_BOUNDS[bucket]!) bucket++;
    this.latency[slot * BUCKETS + bucket]! += 1;
    this.seconds[slot]! += seconds;
  }

  /** Counts values that were looked up, as usage does: the status alone does not show it. */
  countLookup(lookup: Scope, audience: Audience, kind: RequestKind, count = 1): void {
    const row = SCOPES.indexOf(lookup) * AUDIENCES.length + AUDIENCE_INDEX[audience];
    this.lookups[row * REQUEST_KINDS.length + REQUEST_KINDS.indexOf(kind)]! += count;
  }

  /** Counts one refused request, or one refused value of a batch. */
  countProblem(code: ProblemCode): void {
    this.problems[PROBLEM_SLOTS.get(code)!]! += 1; // has every code
  }

  /** Counts the flags that an answer about an address sets, as bits; `disposable` of one about an email address. */
  countFlags(bits: number): void {
    for (let i = 0, flags = bits; flags !== 0; i++, flags >>= 1) {
      if ((flags & 1) !== 0) this.flags[i]! += 1;
    }
  }

  countDisposable(): void {
    this.flags[DISPOSABLE]! += 1;
  }

  /** Counts the country of a location as so many. @param code ISO 3166-1; undefined for none */
  countCountry(code: string | undefined, weight: number): void {
    if (code !== undefined) this.countries[countryIndex(code)]! += weight;
  }

  /** Counts a decision that is to be stored. */
  countDecision(): void {
    this.decided[0]! += 1;
  }

  /** Decisions that were to be stored. */
  get decisions(): number {
    return this.decided[0]!;
  }

  /** How many locations this one counts as; 0 when its country is not read. @param now epoch ms */
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

  /** Counts of requests that are not zero; `fromZero` adds the zeros that metrics begin with. */
  *requestRows(
    fromZero = false,
  ): Generator<{ route: string; status: string; audience: Audience; count: number }> {
    for (const [a, audience] of AUDIENCES.entries()) {
      for (const [slot, { route }] of ROWS.entries()) {
        for (let status = 100; status < STATUSES; status++) {
          const count = this.requests[this.requestIndex(a, slot) + status]!;
          const isShown = fromZero && route.startsWith("/v1/") && FROM_ZERO[audience].includes(status);
          if (count > 0 || isShown) yield { route, status: String(status), audience, count };
        }
      }
    }
  }

  /** Counts of lookups that are not zero; `fromZero` adds the zeros of live keys. */
  *lookupRows(
    fromZero = false,
  ): Generator<{ lookup: Scope; audience: Audience; kind: RequestKind; count: number }> {
    let i = 0;
    for (const lookup of SCOPES) {
      for (const audience of AUDIENCES) {
        for (const kind of REQUEST_KINDS) {
          const count = this.lookups[i++]!;
          if (count > 0 || (fromZero && audience === "live")) yield { lookup, audience, kind, count };
        }
      }
    }
  }

  problemRows(): Iterable<[ProblemCode, number]> {
    return PROBLEM_CODES.map((code, i) => [code, this.problems[i]!]);
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
    for (const [slot, { looksUp }] of ROWS.entries()) {
      const start = slot * BUCKETS;
      if (looksUp !== kind) continue;
      for (let i = 0; i < BUCKETS; i++) buckets[i]! += this.latency[start + i]!;
    }
    return buckets;
  }

  /** For each route of lookups, and each other route with requests: counts up to each bound, in all, and their sum. */
  *latencyRows(): Generator<{ route: string; upTo: readonly number[]; count: number; seconds: number }> {
    for (const [slot, { route, looksUp }] of ROWS.entries()) {
      let count = 0;
      const upTo = Array.from(this.latency.subarray(slot * BUCKETS, (slot + 1) * BUCKETS), (n) => {
        count += n;
        return count;
      });
      if (count > 0 || looksUp !== undefined) yield { route, upTo, count, seconds: this.seconds[slot]! };
    }
  }
}
