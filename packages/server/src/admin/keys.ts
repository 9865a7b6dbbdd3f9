// keys.ts: API keys over the admin API: make, list, change, rotate, revoke, and their usage.
//
// err  AdminProblem, KeyInputError, StoreError
// src  docs/admin-api.md
// note A token is in the answer that made it, and nowhere else.

import { z } from "zod";
import { type Counted, type Key, keyJson, parseKeyChange, parseNewKeyBody } from "../keys/key.ts";
import { KEY_PAGES } from "../store/store.ts";
import type { AdminServer } from "./app.ts";
import {
  ADMIN_PATH,
  type AdminRoute,
  ANY,
  bodyProblem,
  type Call,
  LIMIT,
  type Reply,
  readPage,
} from "./call.ts";
import { AdminProblem } from "./problems.ts";

const DAY_MS = 86_400_000;
/** Days that a question about usage may span; hours are kept for a month. */
const MOST_DAYS = 400;
const MOST_HOURS = 31 * 24;
const DAYS_TOLD = 30;
const DAY_DIGITS = "2026-06-01".length;
const HOUR_DIGITS = "2026-06-01T13".length;

const BY = /^(day|hour)$/;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d)?$/;
const KEY_PATH = "keys\\/(key_[0-9A-Za-z]{16})";

export const KEY_ROUTES: readonly AdminRoute<AdminServer>[] = [
  {
    template: "/admin/v1/keys",
    path: /^keys$/,
    methods: {
      GET: { id: "list_keys", parameters: { limit: LIMIT, cursor: ANY }, run: list },
      POST: { id: "make_key", isOnce: true, run: create },
    },
  },
  {
    template: "/admin/v1/keys/{id}",
    path: new RegExp(`^${KEY_PATH}$`),
    methods: {
      GET: { id: "get_key", run: find },
      PATCH: { id: "change_key", run: change },
      DELETE: { id: "revoke_key", run: revoke },
    },
  },
  {
    template: "/admin/v1/keys/{id}/rotate",
    path: new RegExp(`^${KEY_PATH}\\/rotate$`),
    methods: { POST: { id: "rotate_key", isOnce: true, run: rotate } },
  },
  {
    template: "/admin/v1/keys/{id}/usage",
    path: new RegExp(`^${KEY_PATH}\\/usage$`),
    methods: { GET: { id: "key_usage", parameters: { by: BY, from: TIME, to: TIME }, run: usage } },
  },
];

type Use = Readonly<Partial<Record<Counted, number>>>;
const lookupsOf = ({ geolocate = 0, reputation = 0, email = 0 }: Use) => ({ geolocate, reputation, email });
const refusedOf = ({ not_allowed = 0, rate_limited = 0, quota_exceeded = 0 }: Use) => ({
  not_allowed,
  rate_limited,
  quota_exceeded,
});
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, DAY_DIGITS);
const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, HOUR_DIGITS);

async function list({ store, now }: AdminServer, { query }: Call): Promise<Reply> {
  const at = now();
  const [page, today] = await Promise.all([
    store.keyPage(readPage(query, (text) => KEY_PAGES.isCursor(text))),
    store.usageOfDay(dayOf(at)),
  ]);
  const keys = page.items.map((key) => ({
    ...keyJson(key, at),
    lookups_today: lookupsOf(today.get(key.id) ?? {}),
    refused_today: refusedOf(today.get(key.id) ?? {}),
  }));
  return { status: 200, document: { keys, next_cursor: page.next ?? null } };
}

async function create({ store, keyring, now }: AdminServer, { json, actor }: Call): Promise<Reply> {
  const at = now();
  const wanted = parseNewKeyBody(await json(), at);
  const { key, token } = await store.createKey(wanted, undefined, actor);
  await keyring.refresh();
  return {
    status: 201,
    document: { ...keyJson(key, at), token },
    headers: { Location: `${ADMIN_PATH}keys/${key.id}` },
  };
}

async function find({ store, now }: AdminServer, { id }: Call): Promise<Reply> {
  return { status: 200, document: keyJson(await existing(store, id), now()) };
}

async function change({ store, keyring, now }: AdminServer, { id, json, actor }: Call): Promise<Reply> {
  const wanted = parseKeyChange(await json(), now());
  const key = await store.changeKey(id, wanted, actor);
  if (key === undefined) throw await notInForce(store, id);
  await keyring.refresh();
  return { status: 200, document: keyJson(key, now()) };
}

async function revoke({ store, keyring, now }: AdminServer, { id, actor }: Call): Promise<Reply> {
  const key = await store.revokeKey(id, actor);
  if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
  await keyring.refresh();
  return { status: 200, document: keyJson(key, now()) };
}

export const rotateBody = z
  .strictObject({
    overlap_seconds: z
      .int("must be a whole number of seconds")
      .min(0, "must be at least 0")
      .max(30 * 86_400, "must be at most 30 days")
      .default(86_400)
      .meta({ description: "How long the token of before stays valid" }),
  })
  .meta({ id: "Rotation" });

async function rotate({ store, keyring, now }: AdminServer, { id, json, actor }: Call): Promise<Reply> {
  const read = rotateBody.safeParse(await json());
  if (!read.success) {
    throw bodyProblem(
      read.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`),
    );
  }
  const until = now() + read.data.overlap_seconds * 1000;
  const issued = await store.rotateKey(id, until, actor);
  if (issued === undefined) throw await notInForce(store, id);
  await keyring.refresh();
  const { key, token } = issued;
  return {
    status: 200,
    document: { ...keyJson(key, now()), token, old_token_valid_until: new Date(until).toISOString() },
  };
}

async function usage({ store, now }: AdminServer, { id, query }: Call): Promise<Reply> {
  const key = await existing(store, id);
  const by = query.get("by") === "hour" ? "hour" : "day";
  const textOf = by === "hour" ? hourOf : dayOf;
  const from = query.get("from") ?? textOf(now() - (by === "hour" ? DAY_MS : DAYS_TOLD * DAY_MS));
  const to = query.get("to") ?? textOf(now());
  requireSpan(by, from, to);
  const rows =
    by === "hour"
      ? (await store.hourlyUsage(key.id, from, to)).map(({ hour, lookup, count }) => ({
          at: hour,
          lookup,
          count,
        }))
      : (await store.usage(key.id, from, to)).map(({ day, lookup, count }) => ({ at: day, lookup, count }));
  return { status: 200, document: { by, from, to, usage: inColumns(rows) } };
}

/** One row for each moment, with a number for each look-up and each reason of a refusal. */
function inColumns(rows: readonly { at: string; lookup: Counted; count: number }[]) {
  const byTime = new Map<string, Use>();
  for (const { at, lookup, count } of rows) byTime.set(at, { ...byTime.get(at), [lookup]: count });
  return [...byTime].map(([at, use]) => {
    const lookups = lookupsOf(use);
    const total = lookups.geolocate + lookups.reputation + lookups.email;
    return { at, ...lookups, total, refused: refusedOf(use) };
  });
}

function requireSpan(by: "day" | "hour", from: string, to: string): void {
  const digits = by === "hour" ? HOUR_DIGITS : DAY_DIGITS;
  const time = (text: string) => Date.parse(by === "hour" ? `${text}:00:00Z` : `${text}T00:00:00Z`);
  const most = by === "hour" ? MOST_HOURS * 3_600_000 : MOST_DAYS * DAY_MS;
  const isRight =
    from.length === digits && to.length === digits && time(to) >= time(from) && time(to) - time(from) <= most;
  if (!isRight) {
    throw new AdminProblem(
      "QUERY_INVALID",
      by === "hour"
        ? "With `by=hour`, `from` and `to` are hours in UTC such as 2026-06-01T13, at most 31 days apart."
        : `\`from\` and \`to\` are days in UTC such as 2026-06-01, at most ${MOST_DAYS} days apart.`,
    );
  }
}

async function existing(store: AdminServer["store"], id: string): Promise<Key> {
  const key = await store.findKey(id);
  if (key === undefined) throw new AdminProblem("KEY_NOT_FOUND");
  return key;
}

async function notInForce(store: AdminServer["store"], id: string): Promise<AdminProblem> {
  await existing(store, id);
  return new AdminProblem("KEY_REVOKED");
}
