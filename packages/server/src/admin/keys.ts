// keys.ts: API keys over the admin API: make, list, change, rotate, revoke.
//
// err  AdminProblem, KeyInputError, StoreError
// src  docs/admin-api.md
// note A token is in the answer that made it, and nowhere else.

import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import type { Actor } from "../keys/actor.ts";
import { dayOf } from "../keys/day.ts";
import { type Key, keyJson, SCOPES } from "../keys/key.ts";
import { keyChangeBody, newKeyBody, parseKeyChange, parseNewKey } from "../keys/key-input.ts";
import { KEY_MODES } from "../keys/token.ts";
import { StoreError } from "../store/error.ts";
import { KEY_PAGES } from "../store/store.ts";
import { ADMIN_PATH } from "./constants.ts";
import type { AdminContext } from "./context.ts";
import { keyUsage, lookups, lookupsOf, refusals, refusalsOf, usageAnswer, usageQuery } from "./key-usage.ts";
import { type Operation, operation, rawBody } from "./operation.ts";
import { count, nextCursor, pageQuery, text, time } from "./schemas.ts";

const members = {
  id: text,
  hint: text.meta({ description: "First characters of its newest token" }),
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
};
export const keyAnswer = z.strictObject(members).meta({ id: "Key", description: "Never its token" });
const used = {
  last_used_at: text
    .nullable()
    .meta({ description: "The last UTC day with a lookup or a refusal, as 2026-06-01; null: none" }),
};
const usedKeyAnswer = z.strictObject({ ...members, ...used }).meta({ id: "UsedKey" });
const revokedAnswer = z
  .strictObject({
    ...members,
    stored: z.boolean().meta({
      description:
        "false: revoked on this host; the database cannot be written and takes it later, other hosts with it",
    }),
  })
  .meta({ id: "RevokedKey" });
export const keysAnswer = z.strictObject({
  keys: z.array(z.strictObject({ ...members, ...used, lookups_today: lookups, refused_today: refusals })),
  ...nextCursor,
});
const token = text.meta({ description: "Shown this once: only its hash is stored" });

const rotationBody = z
  .strictObject({
    overlap_seconds: z
      .int("must be a whole number of seconds")
      .min(0, "must be at least 0")
      .max(30 * 86_400, "must be at most 30 days")
      .default(86_400)
      .meta({ description: "How long the previous token stays valid" }),
  })
  .meta({ id: "Rotation" });

/** A leaked key must not wait for a database that is busy: then this host revokes it first. */
const REVOKE_WAIT_MS = 5_000;

const path = "keys";
const tag = "Keys";
const one = { path: "keys/{id}", idPattern: "key_[0-9A-Za-z]{16}", tag } as const;

export const KEY_OPERATIONS: readonly Operation[] = [
  operation({
    id: "list_keys",
    method: "GET",
    path,
    tag,
    summary: "All keys, newest first, with today's lookups",
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
  operation({
    id: "make_key",
    method: "POST",
    path,
    tag,
    summary: "Make a key; its token is shown only in this answer",
    isIdempotent: true,
    body: rawBody(newKeyBody),
    answer: z.strictObject({ ...members, token }).meta({ id: "MadeKey" }),
    status: 201,
    headers: ["Location"],
    codes: ["IDEMPOTENCY_KEY_INVALID"],
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
  operation({
    ...one,
    id: "get_key",
    method: "GET",
    summary: "A key",
    answer: usedKeyAnswer,
    codes: ["KEY_NOT_FOUND"],
    run: async ({ store, now }, { id }) => {
      const [key, lastDays] = await Promise.all([existingKey(store, id), store.usage.readLastDays(id)]);
      return { document: { ...keyJson(key, now()), last_used_at: lastDays.get(id) ?? null } };
    },
  }),
  operation({
    ...one,
    id: "change_key",
    method: "PATCH",
    summary: "Change what a key may do",
    body: rawBody(keyChangeBody),
    answer: keyAnswer,
    codes: ["KEY_NOT_FOUND", "KEY_REVOKED"],
    run: async ({ store, keyLoader, now }, { id, body, by }) => {
      const key = await store.changeKey(id, parseKeyChange(body, now()), by);
      if (key === undefined) throw await notInForce(store, id);
      await keyLoader.refresh();
      return { document: keyJson(key, now()) };
    },
  }),
  operation({
    ...one,
    id: "revoke_key",
    method: "DELETE",
    summary: "Revoke a key for good; 202 while the database cannot be written",
    answer: revokedAnswer,
    otherStatus: 202,
    codes: ["KEY_NOT_FOUND"],
    run: async (context, { id, by }) => {
      const { store, keyLoader, now } = context;
      let key: Key | undefined;
      try {
        key = await withinWait(store.revokeKey(id, by));
      } catch (error) {
        const document = { ...keyJson(await revokeHere(context, id, by, error), now()), stored: false };
        return { status: 202, document };
      }
      if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
      await keyLoader.refresh();
      return { document: { ...keyJson(key, now()), stored: true } };
    },
  }),
  operation({
    ...one,
    id: "rotate_key",
    method: "POST",
    path: "keys/{id}/rotate",
    summary: "Give a key a new token; the old one stays valid for a while",
    isIdempotent: true,
    body: { schema: rotationBody },
    answer: z.strictObject({ ...members, token, old_token_valid_until: time }).meta({ id: "RotatedKey" }),
    codes: ["KEY_NOT_FOUND", "KEY_REVOKED", "IDEMPOTENCY_KEY_INVALID"],
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
  operation({
    ...one,
    id: "key_usage",
    method: "GET",
    path: "keys/{id}/usage",
    summary: "Lookups of a key by day, or by hour for a month",
    query: usageQuery,
    answer: usageAnswer,
    codes: ["KEY_NOT_FOUND"],
    run: async ({ store, now }, { id, query }) => {
      await existingKey(store, id);
      return { document: await keyUsage(store, id, query, now()) };
    },
  }),
];

/** A database that is busy may take it later still: revoking it again changes nothing. @throws StoreError AWAY */
async function withinWait<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const error = new StoreError("AWAY", "the database is busy", "it is tried again");
  const timer = setTimeout(() => late.reject(error), REVOKE_WAIT_MS);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {}); // it came too late, or the caller has the error
  }
}

/**
 * Revokes a key on this host while the database cannot be written.
 * @throws `cause` unless the database is only unreachable or full
 */
async function revokeHere(
  { guard, keyring }: AdminContext,
  id: string,
  by: Actor,
  cause: unknown,
): Promise<Key> {
  const key = keyring.find(id);
  if (!(cause instanceof StoreError) || cause.code !== "AWAY" || key === undefined) throw cause;
  const { at } = await guard.revocations.revoke(id, by);
  return { ...key, revokedAt: at };
}

async function existingKey(store: AdminContext["store"], id: string): Promise<Key> {
  const key = await store.findKey(id);
  if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
  return key;
}

async function notInForce(store: AdminContext["store"], id: string): Promise<AdminProblem> {
  await existingKey(store, id);
  return new AdminProblem("KEY_REVOKED");
}
