// key-usage.ts: lookups and refusals of a key, by day or by hour.
//
// err  AdminProblem, StoreError
// src  docs/admin-api.md

import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { DAY_MS, dayOf, hourOf } from "../keys/day.ts";
import type { Counted } from "../keys/key.ts";
import type { Store } from "../store/store.ts";
import { count, text } from "./schemas.ts";

const DEFAULT_DAYS = 30;

/** A row for each day, or for each hour of the last month. */
const STEPS = {
  day: {
    textOf: dayOf,
    rest: "T00:00:00Z",
    defaultMs: DEFAULT_DAYS * DAY_MS,
    maxMs: 400 * DAY_MS,
    must: "`from` and `to` are days in UTC such as 2026-06-01, at most 400 days apart.",
  },
  hour: {
    textOf: hourOf,
    rest: ":00:00Z",
    defaultMs: DAY_MS,
    maxMs: 31 * DAY_MS,
    must: "With `by=hour`, `from` and `to` are hours in UTC such as 2026-06-01T13, at most 31 days apart.",
  },
} as const;

const perLookup = { geolocate: count, reputation: count, email: count };
export const lookups = z.strictObject(perLookup);
export const refusals = z
  .strictObject({ not_allowed: count, rate_limited: count, quota_exceeded: count })
  .meta({
    description: "Requests, and values of batches, that were refused: scope, network or expiry; rate; quota",
  });
export const usageAnswer = z.strictObject({
  by: z.enum(["day", "hour"]),
  from: text,
  to: text,
  usage: z.array(
    z.strictObject({
      at: text,
      ...perLookup,
      total: count,
      batch: lookups.meta({ description: "Those of the lookups that were values of batches" }),
      refused: refusals,
    }),
  ),
});

const TIME = /^\d{4}-\d\d-\d\d(T\d\d)?$/;
const timeQuery = (description: string) =>
  z.string().regex(TIME, "must be a day or an hour").optional().meta({ description });
export const usageQuery = {
  by: z.enum(["day", "hour"], "must be day or hour").default("day").meta({ description: "Length of a row" }),
  from: timeQuery("First day, as 2026-06-01, or hour, as 2026-06-01T13 (UTC)"),
  to: timeQuery("Last day or hour"),
};

type Use = Readonly<Partial<Record<Counted, number>>>;
export const lookupsOf = ({ geolocate = 0, reputation = 0, email = 0 }: Use) => ({
  geolocate,
  reputation,
  email,
});
export const refusalsOf = ({ not_allowed = 0, rate_limited = 0, quota_exceeded = 0 }: Use) => ({
  not_allowed,
  rate_limited,
  quota_exceeded,
});

const batchOf = ({ geolocate_batch = 0, reputation_batch = 0, email_batch = 0 }: Use) => ({
  geolocate: geolocate_batch,
  reputation: reputation_batch,
  email: email_batch,
});

export async function keyUsage(
  store: Store,
  keyId: string,
  { by, ...span }: z.output<z.ZodObject<typeof usageQuery>>,
  now: number,
) {
  const { textOf, defaultMs } = STEPS[by];
  const { from = textOf(now - defaultMs), to = textOf(now) } = span;
  requireSpan(by, from, to);
  const rows =
    by === "hour"
      ? (await store.usage.readByHour(keyId, from, to)).map(({ hour, ...row }) => ({ at: hour, ...row }))
      : (await store.usage.readByDay(keyId, from, to)).map(({ day, ...row }) => ({ at: day, ...row }));
  return { by, from, to, usage: inColumns(rows) };
}

/** One row for each moment, with a number for each lookup and each reason of a refusal. */
function inColumns(rows: readonly { at: string; lookup: Counted; count: number }[]) {
  const byTime = new Map<string, Use>();
  for (const { at, lookup, count } of rows) byTime.set(at, { ...byTime.get(at), [lookup]: count });
  return [...byTime].map(([at, use]) => {
    const found = lookupsOf(use);
    const total = found.geolocate + found.reputation + found.email;
    return { at, ...found, total, batch: batchOf(use), refused: refusalsOf(use) };
  });
}

function requireSpan(by: keyof typeof STEPS, from: string, to: string): void {
  const { textOf, rest, maxMs, must } = STEPS[by];
  const digits = textOf(0).length;
  const ms = Date.parse(to + rest) - Date.parse(from + rest);
  if (from.length === digits && to.length === digits && ms >= 0 && ms <= maxMs) return;
  throw new AdminProblem("QUERY_INVALID", must);
}
