// traffic.ts: what the server was asked in the last 24 hours, minute by minute: counts alone, no address and no key.
//
// in   the counts of the hot path, looked at once a minute
// out  for each minute requests by status, look-ups, problems, latency; flags raised, countries asked about
// cost nothing on the way of a request: the differences of numbers that are counted anyway; 1 ms a minute

import { type Counts, LATENCY_BOUNDS } from "./counts.ts";

export const MINUTE_MS = 60_000;
const MINUTES = 24 * 60;

/** All that is told of one minute. */
export interface Minute {
  /** Epoch ms of its end. */
  readonly at: number;
  readonly requests: number;
  /** By class: "2xx". */
  readonly statuses: Readonly<Record<string, number>>;
  readonly lookups: Readonly<Record<string, number>>;
  readonly problems: Readonly<Record<string, number>>;
  /** Answers that raised each flag. */
  readonly flags: Readonly<Record<string, number>>;
  /** Countries of what was asked, by code: sampled where there is much. */
  readonly countries: Readonly<Record<string, number>>;
  /** Requests by bound of the histogram, and above the last. */
  readonly latency: readonly number[];
}

type Numbers = Omit<Minute, "at">;

export class Traffic {
  private readonly read: () => Promise<Counts> | Counts;
  private readonly now: () => number;
  private readonly minutes: Minute[] = [];
  private before: Numbers | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** @param read the counts as they are now */
  constructor(read: () => Promise<Counts> | Counts, now: () => number) {
    this.read = read;
    this.now = now;
  }

  start(): void {
    void this.look();
    this.timer = setInterval(() => void this.look(), MINUTE_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Oldest first. */
  get all(): readonly Minute[] {
    return this.minutes;
  }

  /** Closes a minute. */
  async look(): Promise<void> {
    const counts = await this.read();
    const is = numbersOf(counts);
    const { before } = this;
    this.before = is;
    if (before === undefined) return;
    this.minutes.push({
      at: this.now(),
      requests: since(before.requests, is.requests),
      statuses: sinceOf(before.statuses, is.statuses),
      lookups: sinceOf(before.lookups, is.lookups),
      problems: sinceOf(before.problems, is.problems),
      flags: sinceOf(before.flags, is.flags),
      countries: sinceOf(before.countries, is.countries),
      latency: is.latency.map((n, i) => since(before.latency[i]!, n)),
    });
    if (this.minutes.length > MINUTES) this.minutes.shift();
  }
}

/** A worker that was replaced may take its part of a count with it. */
const since = (before: number, is: number) => Math.max(0, is - before);

function sinceOf(before: Readonly<Record<string, number>>, is: Readonly<Record<string, number>>) {
  const rows = Object.entries(is).map(([name, n]) => [name, since(before[name] ?? 0, n)] as const);
  return Object.fromEntries(rows.filter(([, n]) => n > 0));
}

function numbersOf(counts: Counts): Numbers {
  let requests = 0;
  const statuses: Record<string, number> = {};
  for (const { status, count } of counts.requestRows()) {
    requests += count;
    const family = `${status[0]}xx`;
    statuses[family] = (statuses[family] ?? 0) + count;
  }
  const lookups: Record<string, number> = {};
  for (const { lookup, count } of counts.lookupRows()) lookups[lookup] = (lookups[lookup] ?? 0) + count;
  const problems: Record<string, number> = {};
  for (const [code, count] of counts.problemRows()) if (count > 0) problems[code] = count;
  const flags = Object.fromEntries(counts.raisedRows());
  const countries = Object.fromEntries(counts.countryRows());
  const latency: number[] = new Array(LATENCY_BOUNDS.length + 1).fill(0);
  for (const { upTo } of counts.latencyRows()) {
    for (const [i, n] of upTo.entries()) latency[i] = latency[i]! + n - (upTo[i - 1] ?? 0);
  }
  return { requests, statuses, lookups, problems, flags, countries, latency };
}

/**
 * The time within which a share of requests was answered, in seconds: the bound of its part of the histogram.
 * @returns null without requests, or beyond the last bound
 */
export function percentile(latency: readonly number[], share: number): number | null {
  const total = latency.reduce((sum, n) => sum + n, 0);
  let seen = 0;
  for (const [i, bound] of LATENCY_BOUNDS.entries()) {
    seen += latency[i]!;
    if (total > 0 && seen >= share * total) return bound;
  }
  return null;
}
