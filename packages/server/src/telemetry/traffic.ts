// traffic.ts: keeps counts of the last 24 hours, minute by minute, without addresses or keys.
//
// `onMinute` receives each minute with requests, and the store adds these up by hour (UsageRecorder.recordTraffic).
// The counts of requests and lookups leave out sandbox keys. Cost: nothing per request; 1 ms per minute.

import { addTo, type Minute, perKind, type Tally, type TrafficCounts } from "@inkling/store/traffic-counts";
import type { Counts } from "./counts.ts";

export const MINUTE_MS = 60_000;
const MINUTES = 24 * 60;

export class Traffic {
  private readonly read: () => Promise<Counts> | Counts;
  private readonly now: () => number;
  private readonly closed: Minute[] = [];
  private readonly onMinute: (minute: Minute) => void;
  private previous: TrafficCounts | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** @param read returns the current counts */
  constructor(
    read: () => Promise<Counts> | Counts,
    now: () => number,
    onMinute: (minute: Minute) => void = () => {},
  ) {
    this.read = read;
    this.now = now;
    this.onMinute = onMinute;
  }

  start(): void {
    void this.closeMinute();
    this.timer = setInterval(() => void this.closeMinute(), MINUTE_MS);
    this.timer.unref();
  }

  /** Closes the current minute, so that a restart loses none of its counts. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    await this.closeMinute();
  }

  /** The closed minutes, oldest first. */
  get minutes(): readonly Minute[] {
    return this.closed;
  }

  async closeMinute(): Promise<void> {
    const totals = totalsOf(await this.read());
    const { previous } = this;
    this.previous = totals;
    if (previous === undefined) return;
    const minute = {
      at: this.now(),
      requests: increase(previous.requests, totals.requests),
      statuses: increases(previous.statuses, totals.statuses),
      lookups: increases(previous.lookups, totals.lookups),
      batchLookups: increases(previous.batchLookups, totals.batchLookups),
      problems: increases(previous.problems, totals.problems),
      flags: increases(previous.flags, totals.flags),
      countries: increases(previous.countries, totals.countries),
      latency: perKind(
        (kind) => totals.latency[kind].map((n, i) => increase(previous.latency[kind][i]!, n)), // its length is fixed
      ),
    };
    this.closed.push(minute);
    if (minute.requests > 0) this.onMinute(minute);
    if (this.closed.length > MINUTES) this.closed.shift();
  }
}

/** Returns the increase of a count; 0 if the count fell because the counts of a replaced worker were lost. */
const increase = (before: number, after: number) => Math.max(0, after - before);

function increases(before: Tally, after: Tally): Tally {
  const rows = Object.entries(after).map(([name, n]) => [name, increase(before[name] ?? 0, n)] as const);
  return Object.fromEntries(rows.filter(([, n]) => n > 0));
}

function totalsOf(counts: Counts): TrafficCounts {
  let requests = 0;
  const statuses: Record<string, number> = {};
  for (const { status, audience, count } of counts.requestRows()) {
    if (audience === "test") continue;
    requests += count;
    addTo(statuses, `${status[0]}xx`, count);
  }
  const lookups: Record<string, number> = {};
  const batchLookups: Record<string, number> = {};
  for (const { lookup, audience, kind, count } of counts.lookupRows()) {
    if (audience === "test") continue;
    addTo(lookups, lookup, count);
    if (kind === "batch") addTo(batchLookups, lookup, count);
  }
  const latency = perKind((kind) => counts.latencyOf(kind));
  const problems = Object.fromEntries(counts.problemRows());
  const flags = Object.fromEntries(counts.flagRows());
  const countries = Object.fromEntries(counts.countryRows());
  return { requests, statuses, lookups, batchLookups, problems, flags, countries, latency };
}
