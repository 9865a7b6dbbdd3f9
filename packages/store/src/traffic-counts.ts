// traffic-counts.ts: the counts of a period's requests, as they are stored for each hour, and how to add them up.

import { recordOf } from "@inkling/contract";

/**
 * Upper bounds of the latency histogram, in seconds from parsing the request to creating the response, without the
 * network. Each is at most 1.7 times the one before, so that a percentile between two bounds is off by little.
 */
export const LATENCY_BOUNDS: readonly number[] = [
  ...[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1].flatMap((unit) =>
    [1, 1.5, 2.5, 3.5, 5, 7].map((n) => Number((n * unit).toPrecision(2))),
  ),
].filter((bound) => bound >= 5e-6 && bound <= 5);
/** The bounds that /metrics shows. Each bound is a series for each route. */
export const METRIC_BOUNDS: readonly number[] = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5,
];
/** Whether a request is about one value or many. */
export const REQUEST_KINDS = ["single", "batch"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export type Tally = Readonly<Record<string, number>>;

/** Counts for a period, which can be added to the counts for other periods. */
export interface TrafficCounts {
  readonly requests: number;
  /** Requests by status class, such as "2xx". */
  readonly statuses: Tally;
  readonly lookups: Tally;
  /** The number of lookups that were values of batches. */
  readonly batchLookups: Tally;
  readonly problems: Tally;
  /** The number of answers that set each flag. */
  readonly flags: Tally;
  /** Answers by country code. Under load, the counts are estimated from a sample. */
  readonly countries: Tally;
  /**
   * Lookup requests by bucket of the latency histogram. The last bucket is above the last bound. Batches are counted
   * separately, because answering a batch takes as long as answering many requests.
   */
  readonly latency: Readonly<Record<RequestKind, readonly number[]>>;
}

export interface Minute extends TrafficCounts {
  /** The end of the minute, in epoch ms. */
  readonly at: number;
}

/** Adds up the counts of several periods. */
export function sumTraffic(rows: readonly TrafficCounts[]): TrafficCounts {
  return {
    requests: rows.reduce((total, { requests }) => total + requests, 0),
    statuses: sumTallies(rows.map(({ statuses }) => statuses)),
    lookups: sumTallies(rows.map(({ lookups }) => lookups)),
    batchLookups: sumTallies(rows.map(({ batchLookups }) => batchLookups)),
    problems: sumTallies(rows.map(({ problems }) => problems)),
    flags: sumTallies(rows.map(({ flags }) => flags)),
    countries: sumTallies(rows.map(({ countries }) => countries)),
    latency: perKind((kind) => sumColumns(rows.map(({ latency }) => latency[kind]))),
  };
}

function sumTallies(rows: readonly Tally[]): Tally {
  const sums: Record<string, number> = {};
  for (const row of rows) for (const [name, n] of Object.entries(row)) addTo(sums, name, n);
  return sums;
}

/** Adds up the buckets of several histograms. */
function sumColumns(rows: readonly (readonly number[])[]): number[] {
  const fine = rows.map(fineBuckets);
  return Array.from({ length: LATENCY_BOUNDS.length + 1 }, (_, i) =>
    fine.reduce((sum, row) => sum + (row[i] ?? 0), 0),
  );
}

/** Earlier versions stored the buckets of METRIC_BOUNDS. Their counts go into the finer bucket with the same bound. */
function fineBuckets(row: readonly number[]): readonly number[] {
  if (row.length !== METRIC_BOUNDS.length + 1) return row;
  const fine = LATENCY_BOUNDS.map((bound) => row[METRIC_BOUNDS.indexOf(bound)] ?? 0);
  const beyond = METRIC_BOUNDS.at(-1)!;
  fine[LATENCY_BOUNDS.findIndex((bound) => bound > beyond)]! += row.at(-1)!;
  return fine;
}

export const perKind = <T>(make: (kind: RequestKind) => T) => recordOf(REQUEST_KINDS, make);

export function addTo(tally: Record<string, number>, name: string, count: number): void {
  tally[name] = (tally[name] ?? 0) + count;
}

/**
 * Returns the latency, in seconds, that this share of the requests does not exceed. It is interpolated within its
 * bucket. Beyond the last bound, it is the last bound.
 * @returns null if there are no requests
 */
export function percentile(latency: readonly number[], share: number): number | null {
  const total = latency.reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  let from = 0;
  for (const [i, bound] of LATENCY_BOUNDS.entries()) {
    const n = latency[i]!; // there is one more bucket than there are bounds
    if (n > 0 && below + n >= rank) return from + (bound - from) * ((rank - below) / n);
    below += n;
    from = bound;
  }
  return from;
}
