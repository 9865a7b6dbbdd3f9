// traffic.ts: keeps counts of the last 24 hours, minute by minute, without addresses or keys.
//
// Minutes with requests are stored, added up by hour (UsageRecorder.recordTraffic).
// The counts of requests and lookups leave out sandbox keys. Cost: nothing per request; 1 ms per minute.

import { addTo, type Minute, perKind, type Tally, type TrafficCounts } from "@inkling/store/traffic-counts";
import type { Counts } from "../telemetry/counts.ts";
import type { Services } from "./services.ts";

export const MINUTE_MS = 60_000;
const MINUTES = 24 * 60;

type TrafficServices = Pick<Services, "serving" | "usage" | "now">;

export class Traffic {
  private readonly services: TrafficServices;
  /** The closed minutes, oldest first. */
  readonly minutes: Minute[] = [];
  private previous: TrafficCounts | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(services: TrafficServices) {
    this.services = services;
  }

  start(): void {
    this.closeMinute();
    this.timer = setInterval(() => this.closeMinute(), MINUTE_MS);
    this.timer.unref();
  }

  /** Closes the current minute, so that a restart loses none of its counts. */
  stop(): void {
    clearInterval(this.timer);
    this.closeMinute();
  }

  closeMinute(): void {
    const { serving, usage, now } = this.services;
    serving.refresh();
    const totals = totalsOf(serving.counts);
    const { previous } = this;
    this.previous = totals;
    if (previous === undefined) return;
    const minute = {
      at: now(),
      requests: totals.requests - previous.requests,
      statuses: increases(previous.statuses, totals.statuses),
      lookups: increases(previous.lookups, totals.lookups),
      batchLookups: increases(previous.batchLookups, totals.batchLookups),
      problems: increases(previous.problems, totals.problems),
      flags: increases(previous.flags, totals.flags),
      countries: increases(previous.countries, totals.countries),
      latency: perKind(
        (kind) => totals.latency[kind].map((n, i) => n - previous.latency[kind][i]!), // its length is fixed
      ),
    };
    this.minutes.push(minute);
    if (minute.requests > 0) usage.recordTraffic(minute, minute.at - MINUTE_MS);
    if (this.minutes.length > MINUTES) this.minutes.shift();
  }
}

function increases(before: Tally, after: Tally): Tally {
  const rows = Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)] as const);
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
