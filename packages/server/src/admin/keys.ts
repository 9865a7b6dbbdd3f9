// keys.ts: creates, lists, changes, rotates and revokes API keys over the admin API, and shows their usage.
//
// err  AdminProblem, KeyInputError, StoreError
// src  docs/admin-api.md
// note A token appears only in the response to the request that creates it.

import { ADMIN_PATH, recordOf } from "@inkling/contract";
import { OVERRIDE_FLAGS, parseTime } from "@inkling/engine";
import { DAY_MS, dayOf } from "@inkling/store/keys/day";
import { batchedOf, type Counted, type Key, keyJson, REFUSALS, SCOPES } from "@inkling/store/keys/key";
import { keyChangeBody, newKeyBody, parseKeyChange, parseNewKey } from "@inkling/store/keys/key-input";
import { KEY_MODES } from "@inkling/store/keys/token";
import { KEY_PAGES, type Store } from "@inkling/store/store";
import type { UsageEntry } from "@inkling/store/usage";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import {
  type AdminContext,
  type AdminHandlers,
  count,
  handler,
  nextCursor,
  pageQuery,
  rawBody,
  text,
  time,
} from "./handler.ts";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 400;

const perScope = recordOf(SCOPES, () => count);
const lookups = z.strictObject(perScope);
const refusals = z.strictObject({ not_allowed: count, rate_limited: count, quota_exceeded: count }).meta({
  description:
    "Refused requests and refused batch values: not allowed (scope, network or expiry), over the rate, over the quota",
});
const flags = z
  .strictObject(recordOf(OVERRIDE_FLAGS, () => count))
  .meta({ description: "Answers that set each flag, including those in decisions" });
export const usageAnswer = z.strictObject({
  from: text,
  to: text,
  usage: z.array(
    z.strictObject({
      at: text.meta({ description: "The day (UTC), such as 2026-06-01" }),
      ...perScope,
      total: count,
      batch: lookups.meta({ description: "Lookups made in batches" }),
      refused: refusals,
      flagged: flags,
    }),
  ),
});

const DAY = /^\d{4}-\d\d-\d\d$/;
const dayQuery = (description: string) =>
  z.string().regex(DAY, "must be a day such as 2026-06-01").optional().meta({ description });
const usageQuery = { from: dayQuery("First day, such as 2026-06-01 (UTC)"), to: dayQuery("Last day") };

const members = {
  id: text,
  hint: text.meta({ description: "First characters of the newest token" }),
  name: text,
  mode: z.enum(KEY_MODES),
  state: z.enum(["live", "sandbox", "expired", "revoked"]),
  scopes: z.array(z.enum(SCOPES)),
  networks: z.array(text),
  rate: z.number().nullable(),
  burst: count.nullable(),
  quota: count.nullable(),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  traced_until: time.nullable().meta({
    description: "Until this time, the server logs the callers' networks; null if the key is not traced",
  }),
};
export const keyAnswer = z.strictObject(members).meta({ id: "Key", description: "A key without its token" });
const used = {
  last_used_at: text.nullable().meta({
    description: "The last UTC day with a lookup or a refusal, such as 2026-06-01; null if there is none",
  }),
};
export const usedKeyAnswer = z.strictObject({ ...members, ...used }).meta({ id: "UsedKey" });
export const keysAnswer = z.strictObject({
  keys: z.array(z.strictObject({ ...members, ...used, lookups_today: lookups, refused_today: refusals })),
  ...nextCursor,
});
const token = text.meta({ description: "Shown only once: the server stores only its hash" });

export const rotationBody = z
  .strictObject({
    overlap_seconds: z
      .int("must be a whole number of seconds")
      .min(0, "must be at least 0")
      .max(30 * 86_400, "must be at most 30 days")
      .default(86_400)
      .meta({ description: "How long the old token or secret remains valid" }),
  })
  .meta({ id: "Rotation" });

export const KEY_HANDLERS = {
  list_keys: handler({
    query: pageQuery((cursor) => KEY_PAGES.isCursor(cursor)),
    answer: keysAnswer,
    run: async ({ store, now }, { query }) => {
      const at = now();
      const [page, today, lastDays] = await Promise.all([
        store.readKeyPage(query),
        store.usage.readDay(dayOf(at)),
        store.usage.readLastDays(),
      ]);
      const keys = page.items.map((key) => ({
        ...keyJson(key, at),
        last_used_at: lastDays.get(key.id) ?? null,
        lookups_today: lookupsOf(today.get(key.id) ?? {}),
        refused_today: refusalsOf(today.get(key.id) ?? {}),
      }));
      return { document: { keys, next_cursor: page.next ?? null } };
    },
  }),
  create_key: handler({
    body: rawBody(newKeyBody),
    answer: z.strictObject({ ...members, token }).meta({ id: "MadeKey" }),
    run: async ({ store, keyLoader, now }, { body, by }) => {
      const at = now();
      const { key, token } = await store.createKey(parseNewKey(body, at), undefined, by);
      await keyLoader.refresh();
      return {
        document: { ...keyJson(key, at), token },
        headers: { Location: `${ADMIN_PATH}keys/${key.id}` },
      };
    },
  }),
  get_key: handler({
    answer: usedKeyAnswer,
    run: async ({ store, now }, { id }) => {
      const [key, lastDays] = await Promise.all([existingKey(store, id), store.usage.readLastDays(id)]);
      return { document: { ...keyJson(key, now()), last_used_at: lastDays.get(id) ?? null } };
    },
  }),
  change_key: handler({
    body: rawBody(keyChangeBody),
    answer: keyAnswer,
    run: async ({ store, keyLoader, now }, { id, body, by }) => {
      const key = await store.changeKey(id, parseKeyChange(body, now()), by);
      if (key === undefined) throw await notInForce(store, id);
      await keyLoader.refresh();
      return { document: keyJson(key, now()) };
    },
  }),
  revoke_key: handler({
    answer: keyAnswer,
    run: async ({ store, keyLoader, now }, { id, by }) => {
      const key = await store.revokeKey(id, by);
      if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
      await keyLoader.refresh();
      return { document: keyJson(key, now()) };
    },
  }),
  rotate_key: handler({
    body: { schema: rotationBody },
    answer: z.strictObject({ ...members, token, old_token_valid_until: time }).meta({ id: "RotatedKey" }),
    run: async ({ store, keyLoader, now }, { id, body, by }) => {
      const until = now() + body.overlap_seconds * 1000;
      const issued = await store.rotateKey(id, until, by);
      if (issued === undefined) throw await notInForce(store, id);
      await keyLoader.refresh();
      const { key, token } = issued;
      return {
        document: { ...keyJson(key, now()), token, old_token_valid_until: new Date(until).toISOString() },
      };
    },
  }),
  key_usage: handler({
    query: usageQuery,
    answer: usageAnswer,
    run: async ({ store, now }, { id, query }) => {
      await existingKey(store, id);
      return { document: await keyUsage(store, id, now(), query) };
    },
  }),
} satisfies AdminHandlers;

async function existingKey(store: AdminContext["store"], id: string): Promise<Key> {
  const key = await store.findKey(id);
  if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
  return key;
}

async function notInForce(store: AdminContext["store"], id: string): Promise<AdminProblem> {
  await existingKey(store, id);
  return new AdminProblem("KEY_REVOKED");
}

type Use = Readonly<Partial<Record<Counted, number>>>;
const countsOf = <Name extends string>(names: readonly Name[], count: (name: Name) => number | undefined) =>
  recordOf(names, (name) => count(name) ?? 0);
const lookupsOf = (use: Use) => countsOf(SCOPES, (scope) => use[scope]);
const batchOf = (use: Use) => countsOf(SCOPES, (scope) => use[batchedOf(scope)]);
const flagsOf = (use: Use) => countsOf(OVERRIDE_FLAGS, (flag) => use[flag]);
const refusalsOf = (use: Use) => countsOf(REFUSALS, (reason) => use[reason]);

async function keyUsage(
  store: Store,
  keyId: string,
  now: number,
  { from = dayOf(now - DEFAULT_DAYS * DAY_MS), to = dayOf(now) }: z.output<z.ZodObject<typeof usageQuery>>,
) {
  const ms = (parseTime(to) ?? Number.NaN) - (parseTime(from) ?? Number.NaN);
  if (!(ms >= 0 && ms <= MAX_DAYS * DAY_MS)) {
    const must = `\`from\` and \`to\` are days in UTC such as 2026-06-01, at most ${MAX_DAYS} days apart.`;
    throw new AdminProblem("PARAMETER_INVALID", must);
  }
  return { from, to, usage: inColumns(await store.usage.readByDay(keyId, from, to)) };
}

/** Groups counts into one row per day, with a count for each kind of lookup, reason for a refusal, and flag. */
function inColumns(rows: readonly UsageEntry[]) {
  const byDay = new Map<string, Use>();
  for (const { day, lookup, count } of rows) byDay.set(day, { ...byDay.get(day), [lookup]: count });
  return [...byDay].map(([at, use]) => {
    const found = lookupsOf(use);
    const total = SCOPES.reduce((sum, scope) => sum + found[scope], 0);
    return { at, ...found, total, batch: batchOf(use), refused: refusalsOf(use), flagged: flagsOf(use) };
  });
}
