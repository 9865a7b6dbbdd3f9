// keys.ts: creates, lists, changes, rotates and revokes API keys, and shows their usage. A token appears only in the
// answer that creates it.

import { recordOf } from "@inkling/contract";
import { OVERRIDE_FLAGS, parseTime } from "@inkling/engine";
import { DAY_MS, dayOf } from "@inkling/store/keys/day";
import { batchedOf, type Counted, type Key, keyJson, REFUSALS, SCOPES } from "@inkling/store/keys/key";
import { keyChange, keyChangeBody, newKey, newKeyBody } from "@inkling/store/keys/key-input";
import { KEY_MODES } from "@inkling/store/keys/token";
import { KEY_PAGES, type Store } from "@inkling/store/store";
import type { UsageEntry } from "@inkling/store/usage";
import { z } from "zod";
import {
  count,
  id,
  nextCursor,
  operation,
  overlap,
  pageInput,
  type Resource,
  text,
  time,
} from "./operation.ts";
import { AdminProblem, checked, found, written } from "./problem.ts";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 400;

const fields = {
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
const key = z.strictObject(fields).meta({ id: "Key", description: "A key without its token" });
const used = {
  last_used_at: text.nullable().meta({
    description: "The last UTC day with a lookup or a refusal, such as 2026-06-01; null if there is none",
  }),
};
const token = text.meta({ description: "Shown only once: the server stores only its hash" });

const perScope = recordOf(SCOPES, () => count);
const lookups = z.strictObject(perScope);
const refusals = z.strictObject(recordOf(REFUSALS, () => count)).meta({
  description:
    "Refused requests and refused batch values: not allowed (scope, network or expiry), over the rate, over the quota",
});
const flagged = z
  .strictObject(recordOf(OVERRIDE_FLAGS, () => count))
  .meta({ description: "Answers that set each flag, including those in decisions" });
const day = (description: string) =>
  z.iso.date("must be a day such as 2026-06-01").optional().meta({ description });

const EXPIRES_IN = `must be a whole number from 1 to ${MAX_DAYS}`;

const one = id("The key's id");
const EXAMPLE = "key_3fK9mB2xQ7vR1tYz";
const flags = {
  scopes: { help: `what it may do: ${SCOPES.join(", ")}`, none: { word: "all", value: SCOPES } },
  networks: { help: "networks that its callers must come from", none: { word: "any", value: [] } },
  rate: { help: "lookups per second; 0 = no limit", none: { word: "default", means: "the server's" } },
  burst: {
    help: "burst size in lookups",
    none: { word: "default", means: "twice the rate, or the server's" },
  },
  quota: { help: "lookups per UTC day", none: { word: "none" } },
  expires_at: { help: "when it expires", none: { word: "never" } },
};

export const KEYS = {
  tag: "Keys",
  noun: "key",
  command: { name: "keys", summary: "create, list, update, rotate and revoke API keys" },
  operations: {
    list_keys: operation({
      route: "GET keys",
      summary: "List all keys, newest first, with today's lookups (UTC), without their tokens",
      docs: "all keys, newest first, with today's lookups and `last_used_at`, the last UTC day with a lookup or a refusal, or null. `/v1/status`, documents and invalid requests do not count. `expires_in_days`, `limit`, `cursor`",
      input: {
        expires_in_days: z
          .int(EXPIRES_IN)
          .min(1, EXPIRES_IN)
          .max(MAX_DAYS, EXPIRES_IN)
          .optional()
          .meta({ description: "Only active keys that expire within this number of days" }),
        ...pageInput((cursor) => KEY_PAGES.isCursor(cursor)),
      },
      output: z.strictObject({
        keys: z.array(
          z.strictObject({ ...fields, ...used, lookups_today: lookups, refused_today: refusals }),
        ),
        ...nextCursor,
      }),
      command: {
        words: "keys list",
        notes:
          "While the database is unreachable, the command lists the active keys of this host's copy, without usage.",
        examples: ["inkling keys list", "inkling keys list --expires-in-days 14", "inkling keys list --json"],
      },
      run: async ({ store, now }, { expires_in_days: days, ...request }) => {
        const at = now();
        const ending = days === undefined ? undefined : { from: at, until: at + days * DAY_MS };
        const [page, today] = await Promise.all([
          store.readKeyPage(request, ending),
          store.usage.readDay(dayOf(at)),
        ]);
        const lastDays = await store.usage.readLastDays(page.items.map(({ id }) => id));
        const keys = page.items.map((key) => ({
          ...keyJson(key, at),
          last_used_at: lastDays.get(key.id) ?? null,
          lookups_today: lookupsOf(today.get(key.id) ?? {}),
          refused_today: refusalsOf(today.get(key.id) ?? {}),
        }));
        return { keys, next_cursor: page.next ?? null };
      },
    }),
    create_key: operation({
      route: "POST keys",
      summary: "Create a key; its token is shown only once",
      docs: "201: creates a key and returns its token, shown once. `name`; optional `mode`, `scopes`, `networks`, `rate`, `burst`, `quota`, `expires_at`",
      status: 201,
      audits: ["key-created"],
      refreshes: "keys",
      input: newKeyBody.shape,
      output: z.strictObject({ ...fields, token }).meta({ id: "IssuedKey" }),
      command: {
        words: "keys create",
        flags: {
          ...flags,
          name: { default: "unnamed" },
          mode: {
            name: "sandbox",
            value: "test",
            help: "a sandbox key (ink_test_…): fixed answers, see docs/sandbox.md",
          },
        },
        notes: "Standard output has only the token.",
        examples: [
          "inkling keys create --name checkout",
          "inkling keys create --name signup --scopes email --networks 10.0.0.0/8 --expires 90d",
          "KEY=$(inkling keys create --sandbox --name tests)",
        ],
      },
      run: async ({ store, now, by }, input) => {
        const { key, token } = await store.createKey(
          checked(() => newKey(input, now())),
          undefined,
          by,
        );
        return { ...keyJson(key, now()), token };
      },
    }),
    get_key: operation({
      route: "GET keys/{id}",
      summary: "One key",
      docs: "a key with its `last_used_at`, without its token",
      problems: ["KEY_NOT_FOUND"],
      input: one,
      output: z.strictObject({ ...fields, ...used }).meta({ id: "UsedKey" }),
      run: async ({ store, now }, { id }) => {
        const [key, lastDays] = await Promise.all([existingKey(store, id), store.usage.readLastDays([id])]);
        return { ...keyJson(key, now()), last_used_at: lastDays.get(id) ?? null };
      },
    }),
    change_key: operation({
      route: "PATCH keys/{id}",
      summary:
        "Change a key's name, scopes, networks, limits or expiry, or trace it; its token remains the same",
      docs: "changes the given fields; `mode` cannot change, and `null` unsets a field. Until `traced_until`, at most 7 days from now, the server logs [the networks that use the key](security-incidents.md#trace-a-key)",
      audits: ["key-changed"],
      problems: ["KEY_NOT_FOUND", "KEY_REVOKED"],
      refreshes: "keys",
      input: { ...one, ...keyChangeBody.shape },
      output: key,
      command: {
        words: "keys update",
        flags: {
          ...flags,
          traced_until: {
            name: "trace",
            help: "log the networks that use the key until then, at most 7 days",
            none: { word: "off" },
          },
        },
        notes: `Settings whose flags you leave out do not change.

To investigate a leak, trace the key. Once a minute, each worker logs a "key-traced" line for each network: the /24 of an
IPv4 address or the /48 of an IPv6 address, never the address itself. Tracing ends automatically.`,
        examples: [
          `inkling keys update ${EXAMPLE} --rate 50 --burst 100`,
          `inkling keys update ${EXAMPLE} --name signup --scopes email --networks 10.0.0.0/8,192.0.2.7/32`,
          `inkling keys update ${EXAMPLE} --expires never --quota none`,
          `inkling keys update ${EXAMPLE} --trace 24h`,
        ],
      },
      run: async ({ store, now, by }, { id, ...given }) => {
        const key = await store.changeKey(
          id,
          checked(() => keyChange(given, now())),
          by,
        );
        return keyJson(key ?? (await requireActive(store, id)), now());
      },
    }),
    revoke_key: operation({
      route: "DELETE keys/{id}",
      summary: "Revoke a key permanently, on every server within a second",
      docs: "revokes a key. If the database is unreachable, [revoke the key on each host](security-incidents.md#revoke-without-the-database)",
      audits: ["key-revoked"],
      problems: ["KEY_NOT_FOUND", "REVOCATION_UNWRITTEN"],
      refreshes: "keys",
      input: one,
      output: key,
      command: {
        words: "keys revoke",
        notes: `With --here, the command writes the key into the file "revoked" in the data folder, and does not use the database.
Repeat it on each host. When the database is reachable again, revoke the key without --here.`,
        examples: [`inkling keys revoke ${EXAMPLE}`, `inkling keys revoke ${EXAMPLE} --here`],
      },
      run: async ({ store, now, by }, { id }) => {
        const key = await written(store.revokeKey(id, by));
        return keyJson(key ?? (await existingKey(store, id)), now());
      },
    }),
    rotate_key: operation({
      route: "POST keys/{id}/rotate",
      summary: "Give a key a new token; the old token remains valid for a while",
      docs: "rotates the token and returns the new one. The old token remains valid for `overlap_seconds` (default 86,400; at most 30 days)",
      isIdempotent: true,
      audits: ["key-rotated"],
      problems: ["KEY_NOT_FOUND", "KEY_REVOKED"],
      refreshes: "keys",
      input: { ...one, ...overlap("How long the old token remains valid") },
      output: z.strictObject({ ...fields, token, old_token_valid_until: time }).meta({ id: "RotatedKey" }),
      command: {
        words: "keys rotate",
        examples: [
          `inkling keys rotate ${EXAMPLE}`,
          `inkling keys rotate ${EXAMPLE} --overlap 0s      the token leaked: it expires now`,
        ],
      },
      run: async ({ store, now, by }, { id, overlap_seconds }) => {
        const until = now() + overlap_seconds * 1_000;
        const { key, token } = (await store.rotateKey(id, until, by)) ?? (await requireActive(store, id));
        return { ...keyJson(key, now()), token, old_token_valid_until: new Date(until).toISOString() };
      },
    }),
    key_usage: operation({
      route: "GET keys/{id}/usage",
      summary: "Show a key's lookups, refusals and flags by day",
      docs: "lookups, refusals and flags by day (UTC), from `from` to `to` (default 30 days, at most 400)",
      problems: ["KEY_NOT_FOUND"],
      input: { ...one, from: day("First day, such as 2026-06-01 (UTC)"), to: day("Last day") },
      output: z.strictObject({
        from: text,
        to: text,
        usage: z.array(
          z.strictObject({
            at: text.meta({ description: "The day (UTC), such as 2026-06-01" }),
            ...perScope,
            total: count,
            batch: lookups.meta({ description: "Lookups made in batches" }),
            refused: refusals,
            flagged,
          }),
        ),
      }),
      command: {
        words: "keys usage",
        notes: "Days are in UTC. Without --from, the command shows the last 30 days.",
        examples: [`inkling keys usage ${EXAMPLE}`, `inkling keys usage ${EXAMPLE} --from 2026-06-01 --json`],
      },
      run: async ({ store, now }, { id, ...days }) => {
        await existingKey(store, id);
        const { from = dayOf(now() - DEFAULT_DAYS * DAY_MS), to = dayOf(now()) } = days;
        const ms = (parseTime(to) ?? Number.NaN) - (parseTime(from) ?? Number.NaN);
        if (!(ms >= 0 && ms <= MAX_DAYS * DAY_MS)) {
          const must = `\`from\` and \`to\` are days in UTC such as 2026-06-01, at most ${MAX_DAYS} days apart.`;
          throw new AdminProblem("PARAMETER_INVALID", must);
        }
        return { from, to, usage: inColumns(await store.usage.readByDay(id, from, to)) };
      },
    }),
  },
} as const satisfies Resource;

/** @throws AdminProblem if there is no such key. If a command was given the name of keys, it lists their ids. */
async function existingKey(store: Store, id: string): Promise<Key> {
  const key = await store.findKey(id);
  if (key !== undefined || id.startsWith("key_")) return found(key, "KEY_NOT_FOUND");
  const named = (await store.listKeys()).filter(({ name, revokedAt }) => name === id && !revokedAt);
  const ids = named.map((key) => `${key.id} is named ${id}`);
  throw new AdminProblem("KEY_NOT_FOUND", ids.length > 0 ? `use the id: ${ids.join(", ")}` : undefined);
}

/** @throws AdminProblem, because the store has not changed the key: it does not exist, or is revoked */
async function requireActive(store: Store, id: string): Promise<never> {
  await existingKey(store, id);
  throw new AdminProblem("KEY_REVOKED");
}

type Use = Readonly<Partial<Record<Counted, number>>>;
const countsOf = <Name extends string>(names: readonly Name[], count: (name: Name) => number | undefined) =>
  recordOf(names, (name) => count(name) ?? 0);
const lookupsOf = (use: Use) => countsOf(SCOPES, (scope) => use[scope]);
const refusalsOf = (use: Use) => countsOf(REFUSALS, (reason) => use[reason]);

/** Groups counts into one row per day, with a count for each kind of lookup, reason for a refusal, and flag. */
function inColumns(rows: readonly UsageEntry[]) {
  const byDay = new Map<string, Use>();
  for (const { day, lookup, count } of rows) byDay.set(day, { ...byDay.get(day), [lookup]: count });
  return [...byDay].map(([at, use]) => {
    const lookups = lookupsOf(use);
    return {
      at,
      ...lookups,
      total: SCOPES.reduce((sum, scope) => sum + lookups[scope], 0),
      batch: countsOf(SCOPES, (scope) => use[batchedOf(scope)]),
      refused: refusalsOf(use),
      flagged: countsOf(OVERRIDE_FLAGS, (flag) => use[flag]),
    };
  });
}
