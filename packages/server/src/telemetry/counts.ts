// counts.ts: what the hot path counts: plain numbers, turned into metrics only when somebody asks.
//
// cost 8 ns for each request
// note The numbers may lie in memory that outlives the process: a worker that is replaced goes on where it ended.

import { ADDRESS_FLAGS } from "@inkling/engine";
import { NO_ROUTE, ROUTES } from "../api/routes.ts";
import type { ProblemCode } from "../http/problems.ts";
import { PROBLEM_CODES } from "../http/problems.ts";
import { SCOPES, type Scope } from "../keys/key.ts";
import type { KeyMode } from "../keys/token.ts";

/** Upper bounds of the latency histogram, in seconds: from request parsed to answer made, without the network. */
export const LATENCY_BOUNDS = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5,
] as const;

/** Whom a request was answered for. */
export const AUDIENCES = ["none", "live", "test"] as const;
export type Audience = (typeof AUDIENCES)[number];

const STATUSES = 600;
const ROUTE_COUNT = ROUTES.length + 1;
const TEMPLATES = [...ROUTES, NO_ROUTE].map(({ template }) => template);
/** Flags that answers raise. */
export const RAISED = [...ADDRESS_FLAGS, "disposable"] as const;
export type Raised = (typeof RAISED)[number];
const LETTERS = 26;
const A = 0x41;
/** Numbers for requests, look-ups, latency, its sums, problems, flags raised, and countries asked about. */
const SIZES = [
  AUDIENCES.length * ROUTE_COUNT * STATUSES,
  SCOPES.length * AUDIENCES.length,
  ROUTE_COUNT * (LATENCY_BOUNDS.length + 1),
  ROUTE_COUNT,
  PROBLEM_CODES.length,
  RAISED.length,
  LETTERS * LETTERS,
] as const;
type Parts = [
  Float64Array,
  Float64Array,
  Float64Array,
  Float64Array,
  Float64Array,
  Float64Array,
  Float64Array,
];
const PROBLEM_INDEX = new Map(PROBLEM_CODES.map((code, i) => [code, i]));
const AUDIENCE_INDEX: Readonly<Record<Audience, number>> = { none: 0, live: 1, test: 2 };

/** Answers whose country is read exactly, each second; beyond them one in SAMPLE is, and stands for all. */
const READ_A_SECOND = 100;
const SAMPLE = 16;
const COUNTRY = new TextEncoder().encode(',"country":{"iso_code":"');
const NO_FLAGS_LENGTH = '{"is_abuser":false,"is_proxy":false,"is_tor_exit":false}'.length;
/** Bytes in front of the value of each flag. */
const FLAG_MEMBERS = ['{"is_abuser":', ',"is_proxy":', ',"is_tor_exit":'].map((text) => text.length);
const VALID_AT = '{"valid":'.length;
const DISPOSABLE_AT = '{"valid":true,"disposable":'.length;
const isTrue = (body: Uint8Array, at: number) => body[at] === 0x74; // "t"

export class Counts {
  private readonly all: Float64Array;
  private readonly requests: Float64Array;
  private readonly lookups: Float64Array;
  private readonly latency: Float64Array;
  private readonly seconds: Float64Array;
  private readonly refused: Float64Array;
  private readonly raised: Float64Array;
  private readonly countries: Float64Array;
  /** Countries are read of each of the first answers of a second, and of one in 16 after that. */
  private readonly sample = { second: 0, read: 0, turn: 0 };

  /** Bytes that all numbers together take. */
  static readonly BYTES = 8 * SIZES.reduce((sum, size) => sum + size);

  /** @param memory where the numbers lie: one worker adds to them, others may read them */
  constructor(memory: Uint8Array<ArrayBuffer> = new Uint8Array(Counts.BYTES)) {
    this.all = new Float64Array(memory.buffer, memory.byteOffset, Counts.BYTES / 8);
    let start = 0;
    const next = (size: number) => {
      start += size;
      return this.all.subarray(start - size, start);
    };
    const parts = SIZES.map(next) as Parts;
    [this.requests, this.lookups, this.latency, this.seconds, this.refused, this.raised, this.countries] =
      parts;
  }

  /** What several workers counted, together. */
  static sum(counts: Iterable<Counts>): Counts {
    const sum = new Counts();
    for (const { all } of counts) for (const [i, n] of all.entries()) sum.all[i] = sum.all[i]! + n;
    return sum;
  }

  /** One request was answered. */
  answered(routeIndex: number, status: number, audience: Audience, ms: number): void {
    const at = (AUDIENCE_INDEX[audience] * ROUTE_COUNT + routeIndex) * STATUSES + status;
    this.requests[at] = this.requests[at]! + 1;
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > LATENCY_BOUNDS[bucket]!) bucket++;
    const slot = routeIndex * (LATENCY_BOUNDS.length + 1) + bucket;
    this.latency[slot] = this.latency[slot]! + 1;
    this.seconds[routeIndex] = this.seconds[routeIndex]! + seconds;
  }

  /** One value or more were looked up, as usage records it: a 404 alone does not tell. */
  lookedUp(lookup: Scope, audience: KeyMode, count = 1): void {
    const at = SCOPES.indexOf(lookup) * AUDIENCES.length + AUDIENCE_INDEX[audience];
    this.lookups[at] = this.lookups[at]! + count;
  }

  /** One request, or one value of a batch, ended in a problem. */
  problem(code: ProblemCode): void {
    const at = PROBLEM_INDEX.get(code)!;
    this.refused[at] = this.refused[at]! + 1;
  }

  /**
   * What an answer from data says, for the picture of the traffic: flags it raises, the country it names.
   * @param bytes hold it from `start` to `end`, as it goes out without evidence
   * @param now epoch ms
   */
  said(lookup: Scope, bytes: Uint8Array, now: number, start = 0, end = bytes.length): void {
    if (lookup === "geolocate") {
      const weight = this.weight(now);
      if (weight > 0) this.located(bytes, start, end, weight);
    } else if (lookup === "reputation") {
      if (end - start !== NO_FLAGS_LENGTH) this.flagged(bytes, start);
    } else if (isTrue(bytes, start + (isTrue(bytes, start + VALID_AT) ? DISPOSABLE_AT : DISPOSABLE_AT + 1))) {
      this.raised[RAISED.length - 1] = this.raised[RAISED.length - 1]! + 1;
    }
  }

  private flagged(body: Uint8Array, start: number): void {
    let at = start;
    for (let i = 0; i < FLAG_MEMBERS.length; i++) {
      at += FLAG_MEMBERS[i]!;
      const isRaised = isTrue(body, at);
      if (isRaised) this.raised[i] = this.raised[i]! + 1;
      at += isRaised ? 4 : 5;
    }
  }

  /** How many answers the one at hand stands for; 0 where it is not read. */
  private weight(now: number): number {
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

  private located(body: Uint8Array, start: number, end: number, weight: number): void {
    // In front of it are the city and the continent; no name holds what a member begins with.
    const { length } = COUNTRY;
    for (let at = start + 20; at < end - length - 2; at++) {
      if (body[at] !== COUNTRY[0] || body[at + 1] !== COUNTRY[1] || body[at + 2] !== COUNTRY[2]) continue;
      for (let i = 3; i <= length; i++) {
        if (i === length) {
          const index = (body[at + i]! - A) * LETTERS + body[at + i + 1]! - A;
          this.countries[index] = this.countries[index]! + weight;
          return;
        }
        if (body[at + i] !== COUNTRY[i]) break;
      }
    }
  }

  /** Answers that raised each flag. */
  *raisedRows(): Generator<[Raised, number]> {
    for (const [i, flag] of RAISED.entries()) yield [flag, this.raised[i]!];
  }

  /** Countries that were named, by ISO 3166-1 code: how often, sampled where there is much. */
  *countryRows(): Generator<[string, number]> {
    for (const [i, count] of this.countries.entries()) {
      if (count > 0) yield [String.fromCharCode(A + Math.floor(i / LETTERS), A + (i % LETTERS)), count];
    }
  }

  /** All counts of requests that are not zero. */
  *requestRows(): Generator<{ route: string; status: string; audience: Audience; count: number }> {
    for (const [a, audience] of AUDIENCES.entries()) {
      for (const [r, route] of TEMPLATES.entries()) {
        const start = (a * ROUTE_COUNT + r) * STATUSES;
        for (let status = 100; status < STATUSES; status++) {
          const count = this.requests[start + status]!;
          if (count > 0) yield { route, status: String(status), audience, count };
        }
      }
    }
  }

  /** All counts of look-ups that are not zero. */
  *lookupRows(): Generator<{ lookup: Scope; audience: Audience; count: number }> {
    for (const [s, lookup] of SCOPES.entries()) {
      for (const [a, audience] of AUDIENCES.entries()) {
        const count = this.lookups[s * AUDIENCES.length + a]!;
        if (count > 0) yield { lookup, audience, count };
      }
    }
  }

  problemRows(): Iterable<[ProblemCode, number]> {
    return PROBLEM_CODES.map((code, i) => [code, this.refused[i]!]);
  }

  /** For each route with requests: counts up to each bound, in all, and their sum. */
  *latencyRows(): Generator<{ route: string; upTo: readonly number[]; count: number; seconds: number }> {
    const width = LATENCY_BOUNDS.length + 1;
    for (const [r, route] of TEMPLATES.entries()) {
      let count = 0;
      const upTo = Array.from(this.latency.subarray(r * width, (r + 1) * width), (n) => {
        count += n;
        return count;
      });
      if (count > 0) yield { route, upTo, count, seconds: this.seconds[r]! };
    }
  }
}
