// traffic.ts: the last hours over the admin API, in steps of whole minutes.
//
// src  docs/admin-api.md

import { MINUTE_MS, type Minute, percentile } from "../telemetry/traffic.ts";
import type { AdminServer } from "./app.ts";
import type { AdminRoute, Call, Reply } from "./call.ts";

const HOURS = /^(1|3|6|12|24)$/;
const STEP = /^(1|5|10|15|30|60)$/;

export const TRAFFIC_ROUTES: readonly AdminRoute<AdminServer>[] = [
  {
    template: "/admin/v1/traffic",
    path: /^traffic$/,
    methods: { GET: { id: "traffic", parameters: { hours: HOURS, step: STEP }, run: traffic } },
  },
];

function traffic({ traffic, now }: AdminServer, { query }: Call): Reply {
  const hours = Number(query.get("hours") ?? 24);
  const step = Number(query.get("step") ?? (hours > 3 ? 15 : 1));
  const from = now() - hours * 60 * MINUTE_MS;
  const minutes = traffic.minutes.filter(({ at }) => at > from);
  const steps = new Map<number, Minute[]>();
  for (const minute of minutes) {
    const start = Math.floor((minute.at - MINUTE_MS) / (step * MINUTE_MS)) * step * MINUTE_MS;
    steps.set(start, [...(steps.get(start) ?? []), minute]);
  }
  return {
    status: 200,
    document: {
      hours,
      step_minutes: step,
      series: [...steps].map(([start, of]) => ({ at: new Date(start).toISOString(), ...together(of) })),
      total: { ...together(minutes), countries: countriesOf(minutes) },
    },
  };
}

function together(minutes: readonly Minute[]) {
  const latency = sumOf(minutes.map((minute) => minute.latency));
  const sum = (name: "statuses" | "lookups" | "problems" | "flags") => {
    const all: Record<string, number> = {};
    for (const minute of minutes) {
      for (const [key, n] of Object.entries(minute[name])) all[key] = (all[key] ?? 0) + n;
    }
    return all;
  };
  return {
    requests: minutes.reduce((total, { requests }) => total + requests, 0),
    statuses: sum("statuses"),
    lookups: sum("lookups"),
    problems: sum("problems"),
    flags_raised: sum("flags"),
    latency_seconds: {
      p50: percentile(latency, 0.5),
      p95: percentile(latency, 0.95),
      p99: percentile(latency, 0.99),
    },
  };
}

/** Most asked about first. */
function countriesOf(minutes: readonly Minute[]) {
  const all: Record<string, number> = {};
  for (const { countries } of minutes) {
    for (const [code, n] of Object.entries(countries)) all[code] = (all[code] ?? 0) + n;
  }
  return Object.entries(all)
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([iso_code, count]) => ({ iso_code, count }));
}

function sumOf(rows: readonly (readonly number[])[]): number[] {
  return (rows[0] ?? []).map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0));
}
