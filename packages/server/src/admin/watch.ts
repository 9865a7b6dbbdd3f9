// watch.ts: the audit trail, the hosts of the group and the traffic of the last hours, over the admin API.
//
// src  docs/admin-api.md

import { AUDIT_ACTIONS } from "@inkling/contract";
import { z } from "zod";
import { WAYS } from "../keys/actor.ts";
import { HOST_STATES, hostJson, listed, listHosts } from "../leases/hosts.ts";
import { auditJson, isAuditCursor } from "../store/audit.ts";
import { storeWaiting } from "../store/waiting-entries.ts";
import { MINUTE_MS, type Minute, percentile } from "../telemetry/traffic.ts";
import { type AdminHandlers, count, handler, nextCursor, pageQuery, text, time } from "./handler.ts";

export const auditAnswer = z.strictObject({
  entries: z.array(
    z.strictObject({
      sequence: count,
      at: time,
      actor: text,
      way: z
        .enum(WAYS)
        .nullable()
        .meta({ description: "How the change was made; null in entries of earlier versions" }),
      action: z.enum(AUDIT_ACTIONS),
      subject: text.meta({ description: "Id of the changed object" }),
      before: z.unknown(),
      after: z.unknown(),
    }),
  ),
  ...nextCursor,
});

const oneOf = (values: readonly string[]) => `must be one of ${values.join(", ")}`;
const SINCE = "must be a date such as 2026-06-01, or a time such as 2026-06-01T12:00:00Z";

const filters = {
  action: z.enum(AUDIT_ACTIONS, oneOf(AUDIT_ACTIONS)).optional().meta({ description: "Only this action" }),
  way: z.enum(WAYS, oneOf(WAYS)).optional().meta({ description: "Only changes made this way" }),
  actor: z.string().max(200).optional().meta({ description: "Only changes by this actor" }),
  subject: z.string().max(200).optional().meta({ description: "Only changes of this subject" }),
  since: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], SINCE)
    .transform((text) => Date.parse(text))
    .optional()
    .meta({ description: "Only changes since this date (UTC) or time" }),
};

export const AUDIT_HANDLERS = {
  audit: handler({
    query: { ...pageQuery(isAuditCursor), ...filters },
    answer: auditAnswer,
    run: async ({ overrides, dataDir }, { query: { limit, cursor, ...filter } }) => {
      await storeWaiting(overrides, dataDir);
      const page = await overrides.audit({ limit, cursor }, filter);
      return { document: { entries: page.items.map(auditJson), next_cursor: page.next ?? null } };
    },
  }),
} satisfies AdminHandlers;

const host = z.strictObject({
  id: text,
  name: text.meta({ description: "Host and port" }),
  state: z.enum(HOST_STATES).meta({
    description: "silent: no contact for 10 seconds; unknown: an earlier version, which reports nothing",
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
  leases: count.nullable().meta({ description: "Keys for which the host holds a share; null with SQLite" }),
  clock_offset_seconds: z
    .number()
    .nullable()
    .meta({ description: "The host's clock minus the database's; null with SQLite" }),
  last_contact: time.meta({ description: "By the database's clock" }),
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
  statuses: counts.meta({ description: "By class: 2xx" }),
  lookups: counts.meta({ description: "Values looked up, by kind" }),
  batch_lookups: counts.meta({ description: "Lookups that were values of batches" }),
  problems: counts.meta({ description: "By code" }),
  flags_raised: counts.meta({ description: "Lookups that returned each flag, including batches" }),
  latency_seconds: latency.meta({
    description:
      "Latency of single lookups, as the upper bound of the histogram bucket; null without lookups, or above 0.5",
  }),
  batch_latency_seconds: latency.meta({ description: "Latency of batches, whatever their size" }),
};
export const trafficAnswer = z.strictObject({
  hours: count,
  step_minutes: count,
  series: z.array(z.strictObject({ at: time, ...moment })),
  total: z.strictObject({
    ...moment,
    countries: z.array(z.strictObject({ iso_code: text, count })).meta({
      description: "Countries of the addresses, including batches, most frequent first; sampled under load",
    }),
  }),
});

const HOURS = z.enum(["1", "3", "6", "12", "24"], "must be 1, 3, 6, 12 or 24");
const STEPS = z.enum(["1", "5", "10", "15", "30", "60"], "must be 1, 5, 10, 15, 30 or 60");
const LONG_HOURS = 3;

export const TRAFFIC_HANDLERS = {
  traffic: handler({
    query: {
      hours: HOURS.default("24").meta({ description: "Hours before now" }),
      step: STEPS.optional().meta({
        description: "Minutes per row; by default 1 for up to three hours, otherwise 15",
      }),
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
} satisfies AdminHandlers;

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
