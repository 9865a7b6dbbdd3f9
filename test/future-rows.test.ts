// Checks that one row from a newer version stops nothing: it is left out, counted and reported, and the other rows of
// its table load. The tables come from the migrations, so a new table needs a case here.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WEBHOOK_EVENT_NAMES } from "@inkling/contract";
import { SQL } from "bun";
import { keyCopy } from "../packages/store/src/keys/key-copy.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { KeyTable } from "../packages/store/src/keys/key-table.ts";
import { MIGRATIONS } from "../packages/store/src/migrations.ts";
import { readSnapshot, snapshotText } from "../packages/store/src/overrides/file.ts";
import { openStore, type Store } from "../packages/store/src/store.ts";
import type { UnreadableRow } from "../packages/store/src/unreadable.ts";
import { decisionRow } from "./harness/decision-rows.ts";
import { tokensOf } from "./harness/key-updates.ts";
import { Postgres } from "./harness/postgres.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const ADA = { author: "ada", source: "cli" } as const;
const EVENT = WEBHOOK_EVENT_NAMES[0]!;
const HOUR = "2026-06-01T11";

/** Rows of which the second one gets a value that only a newer version has. */
interface Case {
  /** Adds two rows. @returns their ids */
  readonly fill: (store: Store) => Promise<readonly [good: string, future: string]>;
  /** A statement that changes the row with the id $1. */
  readonly future: string;
  /** @returns the ids that load afterwards */
  readonly load: (store: Store, ids: readonly [string, string]) => Promise<readonly unknown[]>;
  /** What loads, if it is more than the first row. */
  readonly loaded?: (ids: readonly [string, string]) => readonly unknown[];
  /** False if the row loads with its unknown value, which is only shown. */
  readonly reported?: false;
}

const newKey = (name: string) => parseNewKey({ name, scopes: ["geolocate", "email"] }, NOW);
const keys = async (store: Store) => {
  const first = await store.createKey(newKey("first"), undefined, ADA);
  const second = await store.createKey(newKey("second"), undefined, ADA);
  return [first.key.id, second.key.id] as const;
};
const override = (value: string) => ({
  kind: "address" as const,
  value,
  flag: "is_proxy" as const,
  verdict: false,
  note: "n",
  author: "ada",
  expiresAt: undefined,
});
const overrides = async (store: Store) => {
  const [first] = await store.overrides.put([override("203.0.114.1")], ADA);
  const [second] = await store.overrides.put([override("203.0.114.2")], ADA);
  return [first!.override.id, second!.override.id] as const;
};
const loadOverrides = async (store: Store) => {
  await store.overrides.put([override("203.0.114.9")], ADA); // a change reads the active overrides
  const { items } = await store.overrides.list({ limit: 10 }, true);
  const active = (await store.overrides.load()).overrides;
  expect(items.length).toBe(active.length);
  return active.filter(({ value }) => value !== "203.0.114.9").map(({ id }) => id);
};
const webhook = (path: string) => ({
  url: `https://example.org/${path}`,
  events: [EVENT],
  allowPrivate: false,
});
const webhooks = async (store: Store) => {
  const first = await store.webhooks.add(webhook("a"), ADA);
  const second = await store.webhooks.add(webhook("b"), ADA);
  return [first.webhook.id, second.webhook.id] as const;
};
const traffic = (host: string) => ({
  host,
  hour: HOUR,
  counts: {
    requests: 1,
    statuses: {},
    lookups: {},
    batchLookups: {},
    problems: {},
    flags: {},
    countries: {},
    latency: { single: [1], batch: [0] },
  },
});
const decisions = async (store: Store) => {
  await store.decisions.add([decisionRow(1, NOW - 2), decisionRow(2, NOW - 1)]);
  return [decisionRow(1, 0).id, decisionRow(2, 0).id] as const;
};
const loadDecisions = async (store: Store) => {
  const { items } = await store.decisions.list({ limit: 10 });
  const read: unknown[] = [];
  for await (const rows of store.decisions.read()) read.push(...rows.map(({ id }) => id));
  expect(items.map(({ id }) => id)).toEqual(read.toReversed() as string[]);
  return read;
};

const CASES: Readonly<Record<string, readonly Case[]>> = {
  keys: [
    {
      fill: keys,
      future: "UPDATE inkling_keys SET scopes = 'geolocate email future' WHERE id = $1",
      load: async (store, [good, future]) => {
        const loaded = tokensOf(await store.loadKeys()).map(({ key }) => [key.id, ...key.scopes].join(" "));
        expect((await store.listKeys()).length).toBe(2);
        expect((await store.readKeyPage({ limit: 1 })).next).toBeDefined();
        // Changes to this key and others work, and the unknown scope survives a change of something else.
        await store.changeKey(future, { name: "renamed" }, ADA);
        expect((await store.revokeKey(good, ADA))?.revokedAt).toBe(NOW);
        expect(tokensOf(await store.loadKeys()).map(({ key }) => key.id)).toEqual([future]);
        return loaded.sort();
      },
      loaded: (ids) => ids.map((id) => `${id} geolocate email`).sort(),
    },
    {
      fill: keys,
      future: "UPDATE inkling_keys SET mode = 'future' WHERE id = $1",
      load: async (store, [good, future]) => {
        const loaded = tokensOf(await store.loadKeys()).map(({ key }) => key.id);
        expect((await store.listKeys()).map(({ id }) => id)).toEqual(loaded);
        await store.revokeKey(good, ADA);
        expect(await store.revokeKey(future, ADA)).toMatchObject({ id: future, revokedAt: NOW });
        expect(tokensOf(await store.loadKeys())).toEqual([]);
        return loaded;
      },
    },
  ],
  overrides: [
    {
      fill: overrides,
      future: "UPDATE inkling_overrides SET kind = 'future' WHERE id = $1",
      load: loadOverrides,
    },
    {
      fill: overrides,
      future: "UPDATE inkling_overrides SET effect = 'is_future' WHERE id = $1",
      load: loadOverrides,
    },
  ],
  audit: [
    {
      fill: async (store) => {
        await keys(store);
        const { items } = await store.audit.list({ limit: 2 });
        return [String(items[1]!.sequence), String(items[0]!.sequence)];
      },
      future: "UPDATE inkling_audit SET became = 'future' WHERE sequence = CAST($1 AS INTEGER)",
      load: async (store) =>
        (await store.audit.list({ limit: 10 })).items.map(({ sequence }) => String(sequence)),
    },
    {
      fill: async (store) => {
        await keys(store);
        const { items } = await store.audit.list({ limit: 2 });
        return [String(items[1]!.sequence), String(items[0]!.sequence)];
      },
      future: "UPDATE inkling_audit SET action = 'future' WHERE sequence = CAST($1 AS INTEGER)",
      load: async (store) =>
        (await store.audit.list({ limit: 10 })).items.map(({ sequence }) => String(sequence)),
      loaded: ([good, future]) => [future, good],
      reported: false,
    },
  ],
  admin_tokens: [
    {
      fill: async (store) => {
        const add = (name: string) => store.adminToken.add({ name, role: "read", expiresAt: undefined }, ADA);
        await add("first");
        await add("second");
        return ["first", "second"];
      },
      future: "UPDATE inkling_named_admin_tokens SET scope = 'future' WHERE name = $1",
      load: async (store, [, future]) => {
        const loaded = (await store.adminToken.list()).map(({ name }) => name);
        expect((await store.adminToken.revoke(future, ADA))?.token.name).toBe(future);
        expect(await store.adminToken.revoke(future, ADA)).toBeUndefined();
        return loaded;
      },
    },
  ],
  webhooks: [
    {
      fill: webhooks,
      future: `UPDATE inkling_webhooks SET events = 'future.event ${EVENT}' WHERE id = $1`,
      load: async (store) =>
        (await store.webhooks.list()).map(({ id, events }) => [id, ...events].join(" ")).sort(),
      loaded: (ids) => ids.map((id) => `${id} ${EVENT}`).sort(),
    },
  ],
  deliveries: ["state = 'future'", "last_at = 1, last_outcome = 'future'"].map((change) => ({
    fill: async (store) => {
      const [id] = await webhooks(store);
      const first = await store.deliveries.queueTest(id);
      const second = await store.deliveries.queueTest(id);
      return [first.id, second.id];
    },
    future: `UPDATE inkling_deliveries SET ${change} WHERE id = $1`,
    load: async (store) => {
      const all = await Promise.all(
        (await store.webhooks.list()).map(({ id }) => store.deliveries.list(id, { limit: 10 })),
      );
      return all.flatMap(({ items }) => items.map(({ id }) => id));
    },
  })),
  decisions: ["action = 'future'", "outcome = 'future'"].map((change) => ({
    fill: decisions,
    future: `UPDATE inkling_decisions SET ${change} WHERE id = $1`,
    load: loadDecisions,
  })),
  traffic_hours: [
    {
      fill: async (store) => {
        const hosts = [traffic("a"), traffic("b")];
        await store.usage.add({ recorder: "r", sequence: 1, entries: [], traffic: hosts });
        return [`${HOUR} a`, `${HOUR} b`];
      },
      future: "UPDATE inkling_traffic_hours SET counts = '{}' WHERE hour || ' ' || host = $1",
      load: async (store) =>
        (await store.usage.readTraffic(NOW - 3_600_000)).map(({ host }) => `${HOUR} ${host}`),
    },
  ],
};

/** Tables without a value that a later version may extend, or that are tested elsewhere. */
const WITHOUT: Readonly<Record<string, string>> = {
  tokens: "a hash and times",
  key_stamp: "any text",
  key_changes: "texts",
  override_stamp: "any text",
  recorders: "a number and a time",
  usage: "counts of an unknown lookup are not read",
  decision_counts: "counts of an unknown reason or rule are not shown",
  usage_hours: "no longer read",
  hosts: "hosts.test.ts: a report that cannot be read counts as none",
  group_counts: "a number",
  low_quotas: "a day, a number and a time",
  rulesets: "live-rulesets.test.ts: the newest ruleset that this version can read applies",
  domain_verdicts: "a domain, 0 or 1, and a time",
  retention: "a time",
  webhook_watch: "a holder and a time",
};

test("every table has a case, or a reason for none", () => {
  const tables = new Set<string>();
  for (const statement of MIGRATIONS.flatMap(({ statements }) => statements)) {
    for (const [, action, name] of JSON.stringify(statement).matchAll(/(CREATE|DROP) TABLE inkling_(\w+)/g)) {
      if (action === "CREATE") tables.add(name!);
      else tables.delete(name!);
    }
  }
  const covered = Object.keys(CASES).map((name) => (name === "admin_tokens" ? "named_admin_tokens" : name));
  expect([...covered, ...Object.keys(WITHOUT), "admin_tokens"].sort()).toEqual([...tables].sort());
});

let postgres: Postgres;
const BACKENDS = {
  sqlite: async () => `sqlite://${join(temporaryFolder(), "inkling.db")}`,
  postgres: () => postgres.freshDatabase(),
};
beforeAll(async () => {
  postgres = await Postgres.create();
}, 60_000);
afterAll(() => postgres?.close());

for (const [backend, address] of Object.entries(BACKENDS)) {
  describe(backend, () => {
    for (const [table, cases] of Object.entries(CASES))
      for (const { fill, future, load, loaded, reported } of cases)
        test(`${table}: ${future}`, async () => {
          const found: UnreadableRow[] = [];
          const url = await address();
          const store = await openStore(url, {
            now: () => NOW,
            timeoutMs: 60_000,
            log: { error: (_, row) => void found.push(row as unknown as UnreadableRow) },
          });
          try {
            const ids = await fill(store);
            const sql = new SQL(url);
            await sql.unsafe(future, [ids[1]]);
            await sql.close();
            expect(await load(store, ids)).toEqual(loaded?.(ids) ?? [ids[0]]);
            expect(found.map((row) => [row.table, row.id])).toEqual(
              reported === false ? [] : [[table, ids[1]]],
            );
            expect(store.database.unreadable.counts.get(table)).toBe(reported === false ? undefined : 1);
          } finally {
            await store.close();
          }
        });
  });
}

test("a change to a key keeps a scope of a newer version; a change of its scopes replaces them", async () => {
  const url = await BACKENDS.sqlite();
  const store = await openStore(url, { now: () => NOW });
  const [id] = await keys(store);
  const sql = new SQL(url);
  const scopes = async () => (await sql`SELECT scopes FROM inkling_keys WHERE id = ${id}`)[0].scopes;
  await sql`UPDATE inkling_keys SET scopes = 'geolocate future' WHERE id = ${id}`;
  await store.changeKey(id, { name: "other" }, ADA);
  expect(await scopes()).toBe("geolocate future");
  await store.changeKey(id, { scopes: ["email"] }, ADA);
  expect(await scopes()).toBe("email");
  await sql.close();
  await store.close();
});

test("the copies in the data folder leave out the row, report it, and load the others", async () => {
  const store = await openStore(await BACKENDS.sqlite(), { now: () => NOW });
  await keys(store);
  await overrides(store);
  const path = join(temporaryFolder(), "keys.json");
  const failures: string[] = [];
  const options = { path, now: () => NOW, onFailure: (reason: string) => failures.push(reason) };
  const value = await store.loadKeys();
  const copy = keyCopy(options, () => new KeyTable(value));
  copy.save({ version: value.stamp, value });
  writeFileSync(path, readFileSync(path, "utf8").replace('"live"', '"future"'));
  expect(tokensOf(copy.read()!.value!).length).toBe(1);
  const loaded = await store.overrides.load();
  const [first, second] = loaded.overrides; // by id, because both were created at the same time
  const text = snapshotText(loaded).replace('"kind":"address"', '"kind":"future"');
  expect(readSnapshot(text, (reason) => failures.push(reason)).overrides.map(({ id }) => id)).toEqual([
    second!.id,
  ]);
  expect(failures).toEqual([
    expect.stringContaining('unknown mode "future"'),
    expect.stringContaining(`${first!.id}: kind`),
  ]);
  await store.close();
});
