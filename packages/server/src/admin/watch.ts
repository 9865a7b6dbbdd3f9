// watch.ts: shows the audit trail, the group's hosts and recent traffic over the admin API, and sets the log level.
//
// src  docs/admin-api.md

import { LOG_LEVELS } from "@inkling/contract";
import { HOUR_MS } from "@inkling/store/keys/day";
import { sumTraffic, type TrafficCounts } from "@inkling/store/traffic-counts";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { HOST_STATES, hostJson, listed, listHosts } from "../limits/hosts.ts";
import { MINUTE_MS, percentile } from "../telemetry/traffic.ts";
import { type AdminContext, type AdminHandlers, count, handler, text, time } from "./handler.ts";

const oneOf = (values: readonly string[]) => `must be one of ${values.join(", ")}`;

const host = z.strictObject({
  id: text,
  name: text.meta({ description: "Host and port" }),
  state: z.enum(HOST_STATES).meta({
    description:
      "silent: no contact for 10 seconds; unknown: the host runs an earlier version, which does not report its state",
  }),
  reasons: z.array(z.string()).meta({ description: "Why it is not ready" }),
  warnings: z.array(z.string()),
  version: text.nullable(),
  release: z
    .strictObject({ name: text, created_at: time, pinned: z.boolean(), age_seconds: z.int() })
    .nullable(),
  channel: z
    .strictObject({
      name: text,
      version: z.int().nullable(),
      release: text.nullable(),
      fault: text.nullable(),
    })
    .nullable()
    .meta({ description: "The channel version that the host applied last; null if it builds releases" }),
  requests_per_second: z.number().nullable().meta({ description: "Mean of the last 5 seconds" }),
  clock_offset_seconds: z
    .number()
    .nullable()
    .meta({ description: "The host's clock minus the database's; null with SQLite" }),
  last_contact: time.meta({ description: "According to the database's clock" }),
  silent_seconds: count,
});

export const hostsAnswer = z.strictObject({
  shared: z.boolean().meta({ description: "True if other hosts can share the database; false with SQLite" }),
  hosts: z.array(host),
});

export const HOST_HANDLERS = {
  hosts: handler({
    answer: hostsAnswer,
    run: async ({ store, report, now }) => {
      const shared = store.tables.isShared;
      const own = report();
      const hosts = shared ? await listHosts(store.tables) : [listed(own.name, now(), now(), own)];
      return { document: { shared, hosts: hosts.map(hostJson) } };
    },
  }),
} satisfies AdminHandlers;

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
export const trafficAnswer = z.strictObject({
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
const HOUR_MINUTES = 60;
const MAX_HOURS_OF_MINUTES = 24;

export const TRAFFIC_HANDLERS = {
  traffic: handler({
    query: {
      hours: HOURS.default("24").meta({ description: "Number of hours, up to now" }),
      step: STEPS.optional().meta({
        description:
          "Minutes per row. Rows for up to 30 minutes cover this host since its start. Rows for 60 minutes or more sum the stored hours of all hosts. Default: 1 for up to 3 hours, 15 for up to 24, 60 for a week, 1440 for 30 days",
      }),
    },
    answer: trafficAnswer,
    run: async (context, { query }) => {
      const hours = Number(query.hours);
      const step = Number(query.step ?? stepOf(hours));
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
      return { document: { hours, step_minutes: step, hosts, series, total } };
    },
  }),
} satisfies AdminHandlers;

type Steps = Map<number, TrafficCounts[]>;

/** Groups the minutes that this host has counted since startup into steps. */
function recentRows({ traffic, now }: AdminContext, hours: number, step: number) {
  const from = now() - hours * HOUR_MS;
  const rows = traffic.minutes.filter(({ at }) => at > from);
  const steps: Steps = new Map();
  for (const minute of rows) {
    const start = Math.floor((minute.at - MINUTE_MS) / (step * MINUTE_MS)) * step * MINUTE_MS;
    steps.set(start, [...(steps.get(start) ?? []), minute]);
  }
  return { rows, hosts: 1, steps };
}

const logLevel = z.strictObject({ level: z.enum(LOG_LEVELS, oneOf(LOG_LEVELS)) }).meta({ id: "LogLevel" });

export const LOG_LEVEL_HANDLERS = {
  set_log_level: handler({
    body: { schema: logLevel },
    answer: logLevel,
    run: ({ log, serving }, { body: { level }, by }) => {
      log.level = level;
      serving.publish("log-level");
      log.record("log-level-changed", { to: level, author: by.author });
      return { document: { level } };
    },
  }),
} satisfies AdminHandlers;

/**
 * Groups the stored hours of all hosts into steps that start on the hour or at midnight (UTC). The last step may still
 * be in progress.
 */
async function storedRows({ store, now }: AdminContext, hours: number, step: number) {
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
