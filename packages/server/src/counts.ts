// counts.ts: what the hot path counts: plain numbers, turned into metrics only when somebody asks.
//
// cost 8 ns for each request
// note The numbers may lie in memory that outlives the process: a worker that is replaced goes on where it ended.

import { SCOPES, type Scope } from "./key.ts";
import type { KeyMode } from "./key-format.ts";
import type { ProblemCode } from "./problems.ts";
import { PROBLEM_CODES } from "./problems.ts";
import { NO_ROUTE, ROUTES } from "./routes.ts";

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
/** Numbers for requests, look-ups, latency, its sums, and problems. */
const SIZES = [
  AUDIENCES.length * ROUTE_COUNT * STATUSES,
  SCOPES.length * AUDIENCES.length,
  ROUTE_COUNT * (LATENCY_BOUNDS.length + 1),
  ROUTE_COUNT,
  PROBLEM_CODES.length,
] as const;
type Parts = [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
const PROBLEM_INDEX = new Map(PROBLEM_CODES.map((code, i) => [code, i]));
const AUDIENCE_INDEX: Readonly<Record<Audience, number>> = { none: 0, live: 1, test: 2 };

export class Counts {
  private readonly all: Float64Array;
  private readonly requests: Float64Array;
  private readonly lookups: Float64Array;
  private readonly latency: Float64Array;
  private readonly seconds: Float64Array;
  private readonly refused: Float64Array;

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
    [this.requests, this.lookups, this.latency, this.seconds, this.refused] = SIZES.map(next) as Parts;
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
