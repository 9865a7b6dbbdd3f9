// traffic.ts: shows recent traffic, and sets a server's log level.

import { LOG_LEVELS } from "@inkling/contract";
import { HOUR_MS } from "@inkling/store/keys/day";
import { percentile, sumTraffic, type TrafficCounts } from "@inkling/store/traffic-counts";
import { z } from "zod";
import type { OperationContext } from "./context.ts";
import { count, oneOf, operation, type Resource, text, time } from "./operation.ts";
import { AdminProblem, running } from "./problem.ts";

const counts = z.record(z.string(), count);
const seconds = z.number().nullable();
const latency = z.strictObject({ p50: seconds, p95: seconds, p99: seconds });
const moment = {
  requests: count,
  statuses: counts.meta({ description: "Requests by status class, such as `2xx`" }),
  lookups: counts.meta({ description: "Values looked up, by kind" }),
  batch_lookups: counts.meta({ description: "Lookups made in batches" }),
  problems: counts.meta({ description: "By code" }),
  flags_raised: counts.meta({ description: "Lookups that returned each flag, including batches" }),
  latency_seconds: latency.meta({
    description:
      "Latency of single lookups, interpolated within the buckets of a histogram; 5 for 5 seconds or more; null without lookups",
  }),
  batch_latency_seconds: latency.meta({ description: "Latency of batches of any size" }),
};
const traffic = z.strictObject({
  hours: count,
  step_minutes: count,
  hosts: count.meta({
    description:
      "Number of hosts with requests in the stored hours; 1 if `step_minutes` is below 60, because the rows are from this host only",
  }),
  series: z.array(z.strictObject({ at: time, ...moment })),
  total: z.strictObject({
    ...moment,
    countries: z.array(z.strictObject({ iso_code: text, count })).meta({
      description:
        "Countries of the addresses, including those in batches, most frequent first; sampled under load",
    }),
  }),
});

const HOURS = z.enum(["1", "3", "6", "12", "24", "168", "720"], "must be 1, 3, 6, 12, 24, 168 or 720");
const STEPS = z.enum(["1", "5", "10", "15", "30", "60", "1440"], "must be 1, 5, 10, 15, 30, 60 or 1440");

/**
 * Returns the default step in minutes: 1 for up to three hours, 15 for up to a day, 60 for up to a week, and 1,440 for
 * longer ranges.
 */
const stepOf = (hours: number) => (hours <= 3 ? 1 : hours <= 24 ? 15 : hours <= 168 ? 60 : 1_440);
const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
const MAX_HOURS_OF_MINUTES = 24;

const level = { level: oneOf(LOG_LEVELS) };

export const TRAFFIC = {
  tag: "Watch",
  operations: {
    traffic: operation({
      route: "GET traffic",
      summary: "Traffic of the last hours, or of up to 30 days, in steps",
      docs: "requests, statuses, lookups, problems, flags, latency and countries of the last `hours` (24, up to 720), in steps of `step` minutes. With a step of 60 minutes or more, it sums the stored hours of all hosts",
      input: {
        hours: HOURS.default("24").meta({ description: "Number of hours, up to now" }),
        step: STEPS.optional().meta({
          description:
            "Minutes per row. Rows for up to 30 minutes cover this host since its start. Rows for 60 minutes or more sum the stored hours of all hosts. Default: 1 for up to 3 hours, 15 for up to 24, 60 for a week, 1440 for 30 days",
        }),
      },
      output: traffic,
      run: async (context, input) => {
        const hours = Number(input.hours);
        const step = Number(input.step ?? stepOf(hours));
        if (step < HOUR_MINUTES && hours > MAX_HOURS_OF_MINUTES)
          throw new AdminProblem("PARAMETER_INVALID", "For more than 24 hours, `step` must be 60 or 1440.");
        if (step > hours * HOUR_MINUTES)
          throw new AdminProblem("PARAMETER_INVALID", "`step` must not be longer than `hours`.");
        const { rows, hosts, steps } =
          step < HOUR_MINUTES ? recentRows(context, hours, step) : await storedRows(context, hours, step);
        const series = [...steps].map(([start, part]) => ({
          at: new Date(start).toISOString(),
          ...totals(part),
        }));
        const total = { ...totals(rows), countries: countCountries(rows) };
        return { hours, step_minutes: step, hosts, series, total };
      },
    }),
    set_log_level: operation({
      route: "POST log-level",
      summary: "Set the log level of this server until it restarts",
      docs: 'sets the log level of this server until it restarts: `{"level":"access"}`. The answers of lookups do not change, so the audit trail has no entry; the log has `log-level-changed`',
      needsServer: true,
      input: level,
      output: z.strictObject(level).meta({ id: "LogLevel" }),
      run: async ({ server, by }, { level }) => {
        running(server).setLogLevel(level, by.author);
        return { level };
      },
    }),
  },
} as const satisfies Resource;

type Steps = Map<number, TrafficCounts[]>;

/** Groups the minutes that this host has counted since startup into steps. */
function recentRows({ server, now }: OperationContext, hours: number, step: number) {
  const from = now() - hours * HOUR_MS;
  const rows = running(server).minutes.filter(({ at }) => at > from);
  const steps: Steps = new Map();
  for (const minute of rows) {
    const start = Math.floor((minute.at - MINUTE_MS) / (step * MINUTE_MS)) * step * MINUTE_MS;
    steps.set(start, [...(steps.get(start) ?? []), minute]);
  }
  return { rows, hosts: 1, steps };
}

/**
 * Groups the stored hours of all hosts into steps that start on the hour or at midnight (UTC). The last step may still
 * be in progress.
 */
async function storedRows({ store, now }: OperationContext, hours: number, step: number) {
  const stepMs = step * MINUTE_MS;
  const last = Math.floor(now() / stepMs) * stepMs;
  const first = last - hours * HOUR_MS + stepMs;
  const stored = await store.usage.readTraffic(first);
  const steps: Steps = new Map();
  for (let start = first; start <= last; start += stepMs) steps.set(start, []);
  for (const { at, counts } of stored) steps.get(Math.floor(at / stepMs) * stepMs)?.push(counts);
  const hosts = new Set(stored.map(({ host }) => host)).size;
  return { rows: stored.map(({ counts }) => counts), hosts, steps };
}

function totals(rows: readonly TrafficCounts[]) {
  const { requests, statuses, lookups, batchLookups, problems, flags, latency } = sumTraffic(rows);
  return {
    requests,
    statuses,
    lookups,
    batch_lookups: batchLookups,
    problems,
    flags_raised: flags,
    latency_seconds: percentiles(latency.single),
    batch_latency_seconds: percentiles(latency.batch),
  };
}

const percentiles = (latency: readonly number[]) => ({
  p50: percentile(latency, 0.5),
  p95: percentile(latency, 0.95),
  p99: percentile(latency, 0.99),
});

function countCountries(rows: readonly TrafficCounts[]) {
  return Object.entries(sumTraffic(rows).countries)
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([iso_code, count]) => ({ iso_code, count }));
}
