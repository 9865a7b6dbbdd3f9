// decisions.ts: lists, shows, labels, counts and deletes stored decisions over the admin API.
//
// err  AdminProblem, StoreError
// src  docs/stored-decisions.md

import {
  ACTIONS,
  DEGRADED_DATA,
  OUTCOMES,
  REASON_CODES,
  type Outcome as VisitorOutcome,
} from "@inkling/contract";
import { visitorNetworkOf } from "@inkling/engine";
import { DECISION_PAGES, type Deletion } from "@inkling/store/decisions";
import { decisionJson } from "@inkling/store/decisions/record";
import { DAY_MS } from "@inkling/store/keys/day";
import { isoTime } from "@inkling/store/text/fields";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { type AdminHandlers, count, handler, nextCursor, pageQuery, text, time } from "./handler.ts";

const action = z.enum(ACTIONS);
const outcome = z.enum(OUTCOMES);
const facts = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
  .meta({ description: "The facts that rules read, by name. Unknown facts are omitted" });

export const decisionAnswer = z
  .strictObject({
    id: text,
    at: time,
    event: text,
    ref: z.string().nullable(),
    action,
    review: z.boolean(),
    score: z.number(),
    reasons: z.array(z.strictObject({ code: text, weight: z.number() })),
    rule: text
      .nullable()
      .meta({ description: "The rule that decided; null if the score or `on_missing` decided" }),
    shadow: z.array(z.strictObject({ rule: text, action, review: z.literal(true).optional() })),
    degraded: z.array(z.enum(DEGRADED_DATA)),
    ruleset: count,
    data_version: text.meta({ description: "The data release" }),
    request_id: text.nullable().meta({ description: "The answer's `X-Request-Id`" }),
    trace_id: text.nullable().meta({ description: "The trace id of the caller's `traceparent`" }),
    facts,
    outcome: outcome.nullable(),
    outcome_at: time.nullable(),
  })
  .meta({ id: "Decision" });

export const countsAnswer = z.strictObject({
  stores_decisions: z
    .boolean()
    .meta({ description: "True if this server stores decisions (`INKLING_DECISIONS`)" }),
  days: z.array(
    z.strictObject({
      day: text.meta({ description: "UTC" }),
      action,
      count,
      legitimate: count,
      abuse: count,
    }),
  ),
});

const since = isoTime.optional().meta({ description: "Only decisions since this date (UTC) or time" });
const until = isoTime.optional().meta({ description: "Only decisions before this date (UTC) or time" });
const NETWORK = "must be an address, or a /24 (IPv4) or /48 (IPv6): decisions store no wider network";
const oneOf = (values: readonly string[]) => `must be one of ${values.join(", ")}`;
const word = (most: number) => z.string().min(1).max(most).optional();

const filters = {
  action: z.enum(ACTIONS, oneOf(ACTIONS)).optional().meta({ description: "Only this action" }),
  event: word(64).meta({ description: "Only this event" }),
  rule: word(64).meta({
    description: "Only decisions that this rule made, or would have made if it were live",
  }),
  reason: z
    .enum(REASON_CODES as [string, ...string[]], oneOf(REASON_CODES))
    .optional()
    .meta({ description: "Only decisions with this reason" }),
  outcome: z
    .enum([...OUTCOMES, "none"], oneOf([...OUTCOMES, "none"]))
    .optional()
    .meta({ description: "Only decisions with this outcome; `none` selects decisions without an outcome" }),
  ref: word(128).meta({ description: "Only decisions with this `ref`" }),
  network: z
    .string()
    .optional()
    .transform((value, { issues }) => {
      const network = value === undefined ? undefined : visitorNetworkOf(value);
      if (value !== undefined && network === undefined)
        issues.push({ code: "custom", input: value, message: NETWORK });
      return network;
    })
    .meta({
      description:
        "Only decisions about this network, a /24 (IPv4) or /48 (IPv6), or about the network of this address",
    }),
  domain: word(255).meta({ description: "Only decisions about email addresses in this domain" }),
  since,
  until,
};

const DEFAULT_DAYS = 30;

export const DECISION_HANDLERS = {
  list_decisions: handler({
    query: { ...pageQuery((cursor) => DECISION_PAGES.isCursor(cursor)), ...filters },
    answer: z.strictObject({ decisions: z.array(decisionAnswer), ...nextCursor }),
    run: async ({ store }, { query: { limit, cursor, ...filter } }) => {
      const page = await store.decisions.list({ limit, cursor }, filter);
      return { document: { decisions: page.items.map(decisionJson), next_cursor: page.next ?? null } };
    },
  }),
  count_decisions: handler({
    query: { event: filters.event, since, until },
    answer: countsAnswer,
    run: async ({ store, settings, now }, { query }) => {
      const counts = await store.decisions.count({ since: now() - DEFAULT_DAYS * DAY_MS, ...given(query) });
      const days = counts.map(({ day, ...row }) => ({
        day: new Date(day).toISOString().slice(0, 10),
        ...row,
      }));
      return { document: { stores_decisions: settings.decisions, days } };
    },
  }),
  get_decision: handler({
    answer: decisionAnswer,
    run: async ({ store }, { id }) => {
      const found = await store.decisions.find(id);
      if (found === undefined) throw new AdminProblem("DECISION_NOT_FOUND");
      return { document: decisionJson(found) };
    },
  }),
  set_decision_outcome: handler({
    body: { schema: z.strictObject({ outcome }).meta({ id: "DecisionOutcome" }) },
    answer: decisionAnswer,
    run: async ({ decisions, store }, { id, body, by }) => {
      const result = await decisions.label(id, body.outcome as VisitorOutcome, undefined, by);
      if (result === "unreachable") throw new AdminProblem("DATABASE_UNREACHABLE");
      const found = result === "labelled" ? await store.decisions.find(id) : undefined;
      if (found === undefined) throw new AdminProblem("DECISION_NOT_FOUND");
      return { document: decisionJson(found) };
    },
  }),
  delete_decisions: handler({
    query: {
      ref: word(128).meta({ description: "All decisions with this `ref`" }),
      before: isoTime.optional().meta({ description: "All decisions before this date (UTC) or time" }),
    },
    answer: z.strictObject({ deleted: count }),
    run: async ({ decisions, store }, { query, by }) => {
      const which = deletionOf(query);
      if (which === undefined) throw new AdminProblem("PARAMETER_INVALID", "Send either `ref` or `before`.");
      await decisions.flush(); // the caller may mean decisions that are not stored yet
      return { document: { deleted: await store.decisions.delete(which, by) } };
    },
  }),
} satisfies AdminHandlers;

/** Omits parameters that were not sent: spreading their `undefined` would overwrite a default. */
const given = <T extends object>(query: T): Partial<T> =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as Partial<T>;

function deletionOf(query: {
  readonly ref?: string | undefined;
  readonly before?: number | undefined;
}): Deletion | undefined {
  const { ref, before } = query;
  if (ref !== undefined && before === undefined) return { ref };
  return ref === undefined && before !== undefined ? { before } : undefined;
}
