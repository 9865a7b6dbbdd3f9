// traffic.ts: the last hours over the admin API, in steps of whole minutes.
//
// src  docs/admin-api.md

import { z } from "zod";
import { MINUTE_MS, type Minute, percentile } from "../telemetry/traffic.ts";
import { type Operation, operation } from "./operation.ts";
import { count, text, time } from "./schemas.ts";

const counts = z.record(z.string(), count);
const seconds = z.number().nullable();
const latency = z.strictObject({ p50: seconds, p95: seconds, p99: seconds });
const moment = {
  requests: count,
  statuses: counts.meta({ description: "By class: 2xx" }),
  lookups: counts.meta({ description: "Values looked up, by kind" }),
  batch_lookups: counts.meta({ description: "Those of `lookups` that were values of batches" }),
  problems: counts.meta({ description: "By code" }),
  flags_raised: counts.meta({ description: "Lookups whose answer raised each flag, batches included" }),
  latency_seconds: latency.meta({
    description:
      "Of lookups of one value: upper bound of the part of the histogram; null without any, or above 0.5",
  }),
  batch_latency_seconds: latency.meta({ description: "Of batches, whatever their size" }),
};
export const trafficAnswer = z.strictObject({
  hours: count,
  step_minutes: count,
  series: z.array(z.strictObject({ at: time, ...moment })),
  total: z.strictObject({
    ...moment,
    countries: z.array(z.strictObject({ iso_code: text, count })).meta({
      description: "Of the addresses looked up, batches included, most first; sampled under load",
    }),
  }),
});

const HOURS = z.enum(["1", "3", "6", "12", "24"], "must be 1, 3, 6, 12 or 24");
const STEPS = z.enum(["1", "5", "10", "15", "30", "60"], "must be 1, 5, 10, 15, 30 or 60");
const LONG_HOURS = 3;

export const TRAFFIC_OPERATIONS: readonly Operation[] = [
  operation({
    id: "traffic",
    method: "GET",
    path: "traffic",
    tag: "Watch",
    summary: "Requests of the last 24 hours, in steps: counts only",
    query: {
      hours: HOURS.default("24").meta({ description: "Hours before now" }),
      step: STEPS.optional().meta({ description: "Minutes of one row; 1 up to three hours, else 15" }),
    },
    answer: trafficAnswer,
    run: ({ traffic, now }, { query }) => {
      const hours = Number(query.hours);
      const step = Number(query.step ?? (hours > LONG_HOURS ? 15 : 1));
      const from = now() - hours * 60 * MINUTE_MS;
      const minutes = traffic.minutes.filter(({ at }) => at > from);
      const steps = new Map<number, Minute[]>();
      for (const minute of minutes) {
        const start = Math.floor((minute.at - MINUTE_MS) / (step * MINUTE_MS)) * step * MINUTE_MS;
        steps.set(start, [...(steps.get(start) ?? []), minute]);
      }
      const series = [...steps].map(([start, rows]) => ({
        at: new Date(start).toISOString(),
        ...totals(rows),
      }));
      const total = { ...totals(minutes), countries: countCountries(minutes) };
      return { document: { hours, step_minutes: step, series, total } };
    },
  }),
];

function totals(minutes: readonly Minute[]) {
  const single = sumColumns(minutes.map(({ latency }) => latency.single));
  const batch = sumColumns(minutes.map(({ latency }) => latency.batch));
  return {
    requests: minutes.reduce((total, { requests }) => total + requests, 0),
    statuses: sumCounts(minutes.map(({ statuses }) => statuses)),
    lookups: sumCounts(minutes.map(({ lookups }) => lookups)),
    batch_lookups: sumCounts(minutes.map(({ batchLookups }) => batchLookups)),
    problems: sumCounts(minutes.map(({ problems }) => problems)),
    flags_raised: sumCounts(minutes.map(({ flags }) => flags)),
    latency_seconds: percentiles(single),
    batch_latency_seconds: percentiles(batch),
  };
}

const percentiles = (latency: readonly number[]) => ({
  p50: percentile(latency, 0.5),
  p95: percentile(latency, 0.95),
  p99: percentile(latency, 0.99),
});

function countCountries(minutes: readonly Minute[]) {
  return Object.entries(sumCounts(minutes.map(({ countries }) => countries)))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([iso_code, count]) => ({ iso_code, count }));
}

function sumCounts(rows: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const row of rows) {
    for (const [name, n] of Object.entries(row)) sums[name] = (sums[name] ?? 0) + n;
  }
  return sums;
}

function sumColumns(rows: readonly (readonly number[])[]): number[] {
  return (rows[0] ?? []).map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0)); // rows are alike
}
