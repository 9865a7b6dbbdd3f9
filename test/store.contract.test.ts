// store.contract.test.ts: runs the same tests for every store: an SQLite file and a real PostgreSQL.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { HISTORY_FACTS, type Outcome } from "@inkling/contract";
import { isEmptyStamp } from "@inkling/data";
import type { NewOverride } from "@inkling/engine";
import { SQL } from "bun";
import { isAdminToken } from "../packages/store/src/admin-token.ts";
import { adoptKey } from "../packages/store/src/adopt-key.ts";
import { auditJson } from "../packages/store/src/audit.ts";
import { Database } from "../packages/store/src/database.ts";
import { type MemoryQuestion, recallQuery } from "../packages/store/src/decisions/memory.ts";
import type { NamedDecision } from "../packages/store/src/decisions/record.ts";
import { type DecisionRow, decisionJson } from "../packages/store/src/decisions/record.ts";
import type { DecidedDomain, DecisionFilter } from "../packages/store/src/decisions.ts";
import type { QueuedEvent } from "../packages/store/src/deliveries.ts";
import type { StoreError } from "../packages/store/src/error.ts";
import { type Key, rowFromKey } from "../packages/store/src/keys/key.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { idsOf, KeyTable } from "../packages/store/src/keys/key-table.ts";
import { hashToken, isWellFormedToken, tokenHint } from "../packages/store/src/keys/token.ts";
import { MIGRATIONS } from "../packages/store/src/migrations.ts";
import { MAX_OVERRIDES } from "../packages/store/src/overrides/override.ts";
import { overrideJson } from "../packages/store/src/overrides/record.ts";
import { Retention } from "../packages/store/src/retention.ts";
import { loadedRuleset } from "../packages/store/src/rulesets/record.ts";
import { openStore, type Store } from "../packages/store/src/store.ts";
import { sumTraffic } from "../packages/store/src/traffic-counts.ts";
import type { UsageBatch } from "../packages/store/src/usage.ts";
import { decisionId, decisionRow } from "./harness/decision-rows.ts";
import { tokensOf } from "./harness/key-updates.ts";
import { Postgres } from "./harness/postgres.ts";
import { tried } from "./harness/recorded-rows.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import { freshToken } from "./harness/tokens.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const ADA = { author: "ada", source: "cli" } as const;
const DAY = "2026-06-01";
const IDLE = { refresh: async () => {} };
/** The tables of ba0a7277. */
const EARLIER = MIGRATIONS.slice(0, 1);

interface Backend {
  readonly name: string;
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** Returns the address of an empty database. */
  readonly fresh: () => Promise<string>;
}

let postgres: Postgres;
let folder: string;
let files = 0;

const BACKENDS: readonly Backend[] = [
  {
    name: "sqlite",
    begin: async () => {
      folder = temporaryFolder();
    },
    end: async () => rmSync(folder, { recursive: true, force: true }),
    fresh: async () => `sqlite://${join(folder, `${++files}.db`)}`,
  },
  {
    name: "postgres",
    begin: async () => {
      postgres = await Postgres.create();
    },
    end: async () => postgres?.close(),
    fresh: () => postgres.freshDatabase(),
  },
];

function wanted(input: object = {}) {
  return parseNewKey({ name: "shop", ...input }, NOW);
}

/** Compares keys by their rows, because an IPv4 address leaves words unspecified. */
const rows = (keys: readonly Key[]) => keys.map(rowFromKey);

/** A decision as ba0a7277 stored it. */
function earlierRow(n: number, over: Partial<DecisionRow> = {}) {
  const { key_id, request_id, trace_id, unweighted, ...row } = decisionRow(n, NOW, over);
  const { mailbox_hash, network_hash, address_hash, account_hash, ...earlier } = row;
  return earlier;
}

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: StoreError) => error.code,
  );
}

for (const backend of BACKENDS) {
  describe(`store on ${backend.name}`, () => {
    let address: string;
    let clock = NOW;
    const opened: Store[] = [];

    async function open(options = {}): Promise<Store> {
      // A slow machine must not cause a time-out.
      const store = await openStore(address, { now: () => clock, timeoutMs: 60_000, ...options });
      opened.push(store);
      return store;
    }

    /** Lets time pass as a running server sees it, which checks the clock every minute. */
    async function pass(store: Store, ms: number): Promise<void> {
      for (const end = clock + ms; clock < end; await store.retention.now())
        clock = Math.min(end, clock + 86_400_000);
    }

    if (backend.name === "postgres")
      test("a server that is read-only is not writable", async () => {
        const store = await open();
        await store.checkWritable();
        const sql = new SQL(address);
        const [row] = await sql`SELECT current_database() AS name`;
        await sql.unsafe(`ALTER DATABASE ${row.name} SET default_transaction_read_only = on`);
        await sql.close();
        const later = await open();
        expect(await codeOf(later.checkWritable())).toBe("UNREACHABLE");
      });

    beforeAll(backend.begin, 60_000);
    beforeEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
      address = await backend.fresh();
      clock = NOW;
    });
    afterAll(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
      await backend.end();
    });

    describe("keys", () => {
      test("a new key is listed, found by its hash, and loaded", async () => {
        const store = await open();
        const input = wanted({
          name: "Büro 東京 🗝",
          scopes: ["email"],
          networks: ["10.0.0.0/8", "2001:db8::/32"],
          rate: 0.25,
          burst: 10_000_000,
          quota: 1_000_000_000_000,
          expires_at: "2027-01-31",
        });
        const { key, token } = await store.createKey(input);
        expect(isWellFormedToken(token)).toBe(true);
        expect(key).toMatchObject({ name: "Büro 東京 🗝", hint: tokenHint(token), createdAt: NOW });
        expect(key.id).toMatch(/^key_[0-9A-Za-z]{16}$/);
        expect(rows(await store.listKeys())).toEqual(rows([key]));
        expect(rows([(await store.findKeyByHash(hashToken(token)))!])).toEqual(rows([key]));
        const loaded = await store.loadKeys();
        expect(tokensOf(loaded).map(({ hash, validUntil }) => ({ hash, validUntil }))).toEqual([
          { hash: hashToken(token), validUntil: undefined },
        ]);
        expect(rows(tokensOf(loaded).map((loadedToken) => loadedToken.key))).toEqual(rows([key]));
      });

      test("the token is nowhere in the database", async () => {
        const store = await open();
        const { token } = await store.createKey(wanted());
        const secret = token.slice(14, 41);
        const everything = [await store.listKeys(), tokensOf(await store.loadKeys())];
        expect(JSON.stringify(everything)).toContain(hashToken(token));
        expect(JSON.stringify(everything)).not.toContain(secret);
      });

      test("a missing key is undefined, not an error", async () => {
        const store = await open();
        expect(await store.findKeyByHash("0".repeat(64))).toBeUndefined();
        expect(await store.revokeKey("key_nope")).toBeUndefined();
        expect(await store.rotateKey("key_nope", NOW)).toBeUndefined();
        // Otherwise servers would drop the keys that they have of a lost database.
        expect(isEmptyStamp(await store.readKeyStamp())).toBe(true);
        expect(await store.listKeys()).toEqual([]);
        expect(await store.usage.readByDay("key_nope", DAY, DAY)).toEqual([]);
      });

      test("keys are listed from oldest to newest", async () => {
        const store = await open();
        for (const name of ["a", "b", "c"]) {
          clock++;
          await store.createKey(wanted({ name }));
        }
        expect((await store.listKeys()).map((key) => key.name)).toEqual(["a", "b", "c"]);
      });

      test("a revoked key is listed but not loaded; revoking again changes nothing", async () => {
        const store = await open();
        const { key, token } = await store.createKey(wanted());
        clock += 5;
        expect((await store.revokeKey(key.id))?.revokedAt).toBe(NOW + 5);
        clock += 5;
        expect((await store.revokeKey(key.id))?.revokedAt).toBe(NOW + 5);
        expect(tokensOf(await store.loadKeys())).toEqual([]);
        expect((await store.listKeys()).map((listed) => listed.revokedAt)).toEqual([NOW + 5]);
        expect((await store.findKeyByHash(hashToken(token)))?.revokedAt).toBe(NOW + 5);
        expect(await store.rotateKey(key.id, NOW)).toBeUndefined();
      });

      test("a change replaces the named fields; the others and the tokens stay", async () => {
        const store = await open();
        const { key, token } = await store.createKey(wanted({ quota: 5, networks: ["10.0.0.0/8"] }));
        const stamp = await store.readKeyStamp();
        const changed = (await store.changeKey(key.id, { name: "till", quota: undefined, networks: [] }))!;
        expect(rows([changed])).toEqual(rows([{ ...key, name: "till", quota: undefined, networks: [] }]));
        expect(rows([(await store.findKey(key.id))!])).toEqual(rows([changed]));
        expect(rows([(await store.findKeyByHash(hashToken(token)))!])).toEqual(rows([changed]));
        expect(await store.readKeyStamp()).not.toBe(stamp);
        await store.revokeKey(key.id);
        expect(await store.changeKey(key.id, { name: "back" })).toBeUndefined();
        expect(await store.changeKey("key_nope", { name: "x" })).toBeUndefined();
        expect(await store.findKey("key_nope")).toBeUndefined();
      });

      test("pages of keys, newest first, also with equal times", async () => {
        const store = await open();
        for (let i = 0; i < 7; i++) {
          await store.createKey(wanted({ name: `key ${i}` }));
          if (i % 3 === 2) clock++;
        }
        const seen: Key[] = [];
        let cursor: string | undefined;
        do {
          const page = await store.readKeyPage({ limit: 2, cursor });
          seen.push(...page.items);
          cursor = page.next;
        } while (cursor !== undefined);
        expect(new Set(seen.map(({ id }) => id)).size).toBe(7);
        expect(seen.map(({ createdAt }) => createdAt)).toEqual([2, 1, 1, 1, 0, 0, 0].map((ms) => NOW + ms));
      });

      test("the audit trail has every change, who made it, before and after, and no token", async () => {
        const store = await open();
        const { key, token } = await store.createKey(wanted(), undefined, ADA);
        await store.changeKey(key.id, { rate: 5 }, { author: "bob", source: "cli" });
        await store.changeKey(key.id, { rate: 5 }, { author: "bob", source: "cli" }); // changes nothing
        const second = (await store.rotateKey(key.id, NOW, { author: "cy", source: "cli" }))!;
        await store.revokeKey(key.id, { author: "dan", source: "cli" });
        await store.revokeKey(key.id, { author: "dan", source: "cli" });
        const { items } = await store.audit.list({ limit: 10 });
        expect(items.map(({ author, action, subject }) => [author, action, subject])).toEqual([
          ["dan", "key-revoked", key.id],
          ["cy", "key-rotated", key.id],
          ["bob", "key-changed", key.id],
          ["ada", "key-created", key.id],
        ]);
        expect([items[3]?.before, items[2]?.before, items[2]?.after]).toMatchObject([
          undefined,
          { rate: null },
          { rate: 5 },
        ] as object[]);
        for (const secret of [token, second.token]) expect(JSON.stringify(items)).not.toContain(secret);
      });

      test("rotation: same key, new token, the old one ends at the overlap", async () => {
        const store = await open();
        const first = await store.createKey(wanted());
        const second = (await store.rotateKey(first.key.id, NOW + 1_000))!;
        expect(second.key).toMatchObject({ id: first.key.id, hint: tokenHint(second.token) });
        const third = (await store.rotateKey(first.key.id, NOW + 9_000))!;
        const until = new Map(
          tokensOf(await store.loadKeys()).map((token) => [token.hash, token.validUntil]),
        );
        expect(until).toEqual(
          new Map([
            [hashToken(first.token), NOW + 1_000], // an earlier expiry is not postponed
            [hashToken(second.token), NOW + 9_000],
            [hashToken(third.token), undefined],
          ]),
        );
        clock += 31 * 86_400_000;
        await store.rotateKey(first.key.id, clock);
        expect(tokensOf(await store.loadKeys())).toHaveLength(2);
        // A start with the first token in INKLING_API_KEY creates no new key from it, however late that start is.
        expect((await store.findKeyByHash(hashToken(first.token)))?.id).toBe(first.key.id);
      });

      test("the stamp changes with every change, and only then", async () => {
        const store = await open();
        const stamps = [await store.readKeyStamp()];
        const { key } = await store.createKey(wanted());
        stamps.push(await store.readKeyStamp());
        await store.rotateKey(key.id, NOW);
        stamps.push(await store.readKeyStamp());
        await store.revokeKey(key.id);
        stamps.push(await store.readKeyStamp());
        expect(new Set(stamps).size).toBe(4);
        await store.usage.add(batch(1));
        expect(await store.readKeyStamp()).toBe(stamps[3]!);
        expect((await store.loadKeys()).stamp).toBe(stamps[3]!);
      });

      test("only changed keys are read, and all keys if a change is unknown or a row was edited by hand", async () => {
        const store = await open();
        const [stays, changes, ends] = [
          await store.createKey(wanted()),
          await store.createKey(wanted()),
          await store.createKey(wanted()),
        ];
        const table = new KeyTable(await store.loadKeys());
        const added = await store.createKey(wanted());
        await store.changeKey(changes.key.id, { rate: 7 });
        await store.rotateKey(changes.key.id, NOW + 1_000);
        await store.revokeKey(ends.key.id);
        const update = await store.loadKeys(table.stamp);
        expect(update.from).toBe(table.stamp);
        const ids = (lines: Uint8Array) => [...idsOf(lines)].sort();
        expect(ids(update.lines)).toEqual([added.key.id, changes.key.id, ends.key.id].sort());
        table.append(update);
        const sorted = ({ tokens }: KeyTable) => tokens.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
        const whole = await store.loadKeys();
        expect(sorted(table)).toEqual(sorted(new KeyTable(whole)));
        expect([table.size, table.tokens.length, table.hasOnly(whole.lines)]).toEqual([3, 4, true]);

        const sql = new SQL(address);
        await sql`UPDATE inkling_keys SET rate = 9 WHERE id = ${stays.key.id}`;
        expect(table.hasOnly((await store.loadKeys()).lines)).toBe(false);
        // A server of an older version changes a key, and then one of this version does.
        await sql`UPDATE inkling_key_stamp SET stamp = 'older'`;
        await store.changeKey(added.key.id, { rate: 11 });
        const unknown = await store.loadKeys(table.stamp);
        expect([unknown.from, ids(unknown.lines).length]).toEqual([undefined, 3]);
        await sql.close();
      });

      test("the same token twice is a conflict, and leaves no partial row", async () => {
        const store = await open();
        const { token } = await store.createKey(wanted());
        expect(await codeOf(store.createKey(wanted(), token))).toBe("CONFLICT");
        expect(await store.listKeys()).toHaveLength(1);
      });

      test("a key with a given token is created once, also by two processes at the same time; a revoked one is refused", async () => {
        const stores = [await open(), await open()];
        const token = freshToken("test");
        const keys = await Promise.all(stores.map((store) => adoptKey(store, token)));
        expect(keys[0]!.id).toBe(keys[1]!.id);
        expect(keys[0]).toMatchObject({ mode: "test", name: "from settings" });
        expect(await stores[0]!.listKeys()).toHaveLength(1);
        await stores[0]!.revokeKey(keys[0]!.id);
        expect(adoptKey(stores[1]!, token)).rejects.toThrow("revoked");
        expect(adoptKey(stores[1]!, `${token.slice(0, -1)}!`)).rejects.toThrow("malformed");
      });
    });

    function batch(sequence: number, count = 3, recorder = "r1"): UsageBatch {
      return { recorder, sequence, entries: [{ keyId: "key_a", day: DAY, lookup: "email", count }] };
    }

    describe("usage", () => {
      test("adds up over batches and recorders, by key, day and lookup", async () => {
        const store = await open();
        await store.usage.add({
          recorder: "r1",
          sequence: 1,
          entries: [
            { keyId: "key_a", day: "2026-06-02", lookup: "geolocate", count: 1 },
            { keyId: "key_b", day: DAY, lookup: "email", count: 10 },
            { keyId: "key_a", day: DAY, lookup: "email", count: 5_000_000_000 },
          ],
        });
        await store.usage.add(batch(2, 4));
        await store.usage.add(batch(1, 3, "r2"));
        expect(await store.usage.readByDay("key_a", DAY, "2026-06-02")).toEqual([
          { keyId: "key_a", day: DAY, lookup: "email", count: 5_000_000_007 },
          { keyId: "key_a", day: "2026-06-02", lookup: "geolocate", count: 1 },
        ]);
        expect(await store.usage.readByDay("key_a", "2026-06-02", "2026-06-03")).toHaveLength(1);
      });

      test("a batch that is sent again counts once, also when both attempts run at the same time", async () => {
        const store = await open();
        const other = await open();
        expect(await store.usage.add(batch(1))).toBe(true);
        expect(await store.usage.add(batch(1))).toBe(false);
        const both = await Promise.all([store.usage.add(batch(2)), other.usage.add(batch(2))]);
        expect(both.sort()).toEqual([false, true]);
        expect(await store.usage.readByDay("key_a", DAY, DAY)).toMatchObject([{ count: 6 }]);
      });

      test("the day's usage of keys with a quota", async () => {
        const store = await open();
        const limited = (await store.createKey(wanted({ quota: 10 }))).key;
        const free = (await store.createKey(wanted())).key;
        const entries = [limited, free].flatMap(({ id }) => [
          { keyId: id, day: DAY, lookup: "email" as const, count: 2 },
          { keyId: id, day: DAY, lookup: "geolocate" as const, count: 3 },
          { keyId: id, day: DAY, lookup: "rate_limited" as const, count: 50 },
          { keyId: id, day: "2026-05-31", lookup: "email" as const, count: 100 },
        ]);
        await store.usage.add({ recorder: "r1", sequence: 1, entries });
        expect(await store.usage.readQuotas(DAY)).toEqual(new Map([[limited.id, 5]]));
      });

      test("a batch of 5,000 keys", async () => {
        const store = await open();
        const entries = Array.from({ length: 5_000 }, (_, i) => ({
          keyId: `key_${i}`,
          day: DAY,
          lookup: "email" as const,
          count: i + 1,
        }));
        await store.usage.add({ recorder: "r1", sequence: 1, entries });
        expect(await store.usage.readByDay("key_0", DAY, DAY)).toMatchObject([{ count: 1 }]);
        expect(await store.usage.readByDay("key_4999", DAY, DAY)).toMatchObject([{ count: 5_000 }]);
      });

      test("two processes that count the same keys in opposite order lose nothing and do not block each other", async () => {
        const stores = [await open(), await open()];
        const ids = Array.from({ length: 50 }, (_, i) => `key_${i}`);
        await Promise.all(
          stores.map(async (store, which) => {
            const order = which === 0 ? ids : ids.toReversed();
            for (let sequence = 1; sequence <= 10; sequence++) {
              const entries = order.map((keyId) => ({ keyId, day: DAY, lookup: "email" as const, count: 1 }));
              await store.usage.add({ recorder: `r${which}`, sequence, entries });
            }
          }),
        );
        for (const id of ["key_0", "key_49"]) {
          expect(await stores[0]!.usage.readByDay(id, DAY, DAY)).toMatchObject([{ count: 20 }]);
        }
      });

      test("the traffic of each host by the hour, added up, for a month", async () => {
        const store = await open();
        const hour = new Date(NOW).toISOString().slice(0, 13);
        const counts = (requests: number, tallies: object = {}) => ({
          ...sumTraffic([]),
          requests,
          ...tallies,
        });
        const send = (sequence: number, host: string, requests: number, tallies?: object) =>
          store.usage.add({
            recorder: host,
            sequence,
            entries: [],
            traffic: [{ host, hour, counts: counts(requests, tallies) }],
          });
        await send(1, "web-1", 3, { statuses: { "2xx": 3 }, countries: { DE: 2 } });
        await send(2, "web-1", 2, { statuses: { "2xx": 1, "4xx": 1 } });
        expect(await send(2, "web-1", 2, { statuses: { "2xx": 1, "4xx": 1 } })).toBe(false);
        await send(1, "web-2", 7);
        const at = Date.parse(`${hour}:00:00Z`);
        expect(await store.usage.readTraffic(at)).toEqual([
          {
            host: "web-1",
            at,
            counts: counts(5, { statuses: { "2xx": 4, "4xx": 1 }, countries: { DE: 2 } }),
          },
          { host: "web-2", at, counts: counts(7) },
        ]);
        expect(await store.usage.readTraffic(at + 3_600_000)).toEqual([]);
        await pass(store, 32 * 86_400_000);
        expect(await store.retention.expire(30)).toMatchObject({ traffic_hours: 2 });
        expect(await store.usage.readTraffic(0)).toEqual([]);
      });

      test("old recorders are deleted", async () => {
        const store = await open();
        await store.usage.add(batch(1, 1, "old"));
        await pass(store, 31 * 86_400_000);
        await store.usage.add(batch(1, 1, "new"));
        await store.retention.expire(30);
        const sql = new SQL(address);
        expect([...(await sql`SELECT id FROM inkling_recorders`)]).toEqual([{ id: "new" }]);
        await sql.close();
      });

      test("counts of keys that were revoked the day before are deleted", async () => {
        const store = await open();
        const sql = new SQL(address);
        const [before, today, valid] = await Promise.all(
          Array.from({ length: 3 }, async () => {
            const { key } = await store.createKey(wanted());
            await sql`INSERT INTO inkling_group_counts (key_id, total) VALUES (${key.id}, 1)`;
            return key.id;
          }),
        );
        await store.revokeKey(before!);
        await pass(store, 86_400_000);
        await store.revokeKey(today!);
        clock += 1;
        await store.retention.expire(30);
        const left: { key_id: string }[] = await sql`SELECT key_id FROM inkling_group_counts`;
        expect(left.map(({ key_id }) => key_id).sort()).toEqual([today!, valid!].sort());
        await sql.close();
      });
    });

    describe("rulesets", () => {
      test("are numbered one after the other, with an entry each in the trail", async () => {
        const { rulesets, audit } = await open();
        expect(await rulesets.readStamp()).toBe("new");
        expect((await rulesets.newest()).number).toBe(0);
        const first = await rulesets.publish({ text: "", note: "none" }, ADA);
        expect(first).toMatchObject({ number: 1, text: "", note: "none", author: "ada", createdAt: NOW });
        const second = await rulesets.publish({ text: 'on_missing = "deny"', note: "" }, ADA);
        const same = await rulesets.publish({ text: 'on_missing = "deny"', note: "again" }, ADA);
        expect([second.number, same.number]).toEqual([2, 2]);
        expect(await rulesets.readStamp()).toBe(loadedRuleset(second).version!);
        const back = await rulesets.publish({ text: "", note: "", current: 2, restores: 1 }, ADA);
        expect(back).toMatchObject({ number: 3, restores: 1 });
        expect(await rulesets.newest()).toEqual(back);
        expect(await rulesets.find(1)).toEqual(first);
        expect(await rulesets.find(4)).toBeUndefined();
        const page = await rulesets.list({ limit: 2 });
        expect([page.items.map(({ number }) => number), page.next]).toEqual([[3, 2], "2"]);
        expect((await rulesets.list({ limit: 2, cursor: page.next })).items).toEqual([first]);
        const { items } = await audit.list({ limit: 10 });
        expect(items.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
          "ruleset-rolled-back ruleset 3",
          "ruleset-published ruleset 2",
          "ruleset-published ruleset 1",
        ]);
      });

      test("are not published over what the author has not seen", async () => {
        const { rulesets } = await open();
        await rulesets.publish({ text: "", note: "" }, ADA);
        const late = rulesets.publish({ text: "[weights]", note: "", current: 0 }, ADA);
        expect(await codeOf(late)).toBe("CONFLICT");
        const both = await Promise.all(
          ["a", "b"].map((note) => rulesets.publish({ text: `# ${note}`, note }, ADA)),
        );
        expect(both.map(({ number }) => number).sort()).toEqual([2, 3]);
      });
    });

    describe("decisions", () => {
      const DAY_MS = 86_400_000;
      const HOUR_MS = 3_600_000;
      const id = decisionId;
      const decision = (n: number, over: Partial<DecisionRow> = {}) => decisionRow(n, NOW, over);
      const ids = async (page: Promise<{ readonly items: readonly { readonly id: string }[] }>) =>
        (await page).items.map((row) => Number(row.id.slice(4)));

      test("come back as they were, newest first, whole days and pages apart; a batch may be sent again", async () => {
        const { decisions } = await open();
        const rows = Array.from({ length: 7 }, (_, n) =>
          decision(n, {
            created_at: NOW - Math.floor(n / 2) * DAY_MS,
            ref: `user-${n}`,
            request_id: `request-${n}`,
          }),
        );
        await decisions.add(rows.slice(0, 4));
        await decisions.add(rows);
        const stored = decisionJson((await decisions.find(id(0)))!);
        expect(stored).toEqual({
          id: id(0),
          at: "2026-06-01T12:00:00.000Z",
          event: "sign_up",
          ref: "user-0",
          action: "allow",
          review: false,
          score: 0.35,
          reasons: [{ code: "proxy", weight: 0.35 }],
          rule: null,
          shadow: [],
          degraded: [],
          ruleset: 7,
          data_version: "3c05d22e1399",
          request_id: "request-0",
          trace_id: null,
          facts: { event: "sign_up", "ip.is_proxy": true },
          outcome: null,
          outcome_at: null,
          outcome_note: null,
        });
        const first = await decisions.list({ limit: 3 });
        expect(first.items.map((row) => row.id)).toEqual([id(1), id(0), id(3)]);
        const rest = await decisions.list({ limit: 10, cursor: first.next });
        expect(rest.items.map((row) => row.id)).toEqual([id(2), id(5), id(4), id(6)]);
        expect(rest.next).toBeUndefined();
        const read: string[] = [];
        for await (const page of decisions.read({ since: NOW - 2 * DAY_MS }))
          read.push(...page.map((row) => row.id));
        expect(read).toEqual([id(4), id(5), id(2), id(3), id(0), id(1)]);
      });

      test("are found by what they have, labelled, counted by day, and expire", async () => {
        const store = await open();
        const { decisions, retention } = store;
        await decisions.add([
          decision(1, { action: "deny", rule: "no-tor", event: "login", email_domain: "a.example" }),
          decision(2, {
            reasons: '[{"code":"tor_exit","weight":0.6}]',
            ref: "user-81",
            account_hash: "account now",
            mailbox_hash: "mailbox now",
          }),
          decision(3, {
            created_at: NOW - DAY_MS,
            email_domain: "a.example",
            mailbox_hash: "mailbox before",
            shadow: '[{"rule":"no_hosting","action":"deny"},{"rule":"no-tor","action":"deny"}]',
          }),
        ]);
        clock = NOW + 1_000;
        expect(await decisions.label(id(9), "fraud")).toBeUndefined();
        for (const outcome of ["fraud", "legitimate"] as const) await decisions.label(id(2), outcome);
        expect(decisionJson((await decisions.find(id(2)))!)).toMatchObject({
          outcome: "legitimate",
          outcome_at: "2026-06-01T12:00:01.000Z",
        });
        const cases: readonly (readonly [DecisionFilter, readonly number[]])[] = [
          [{ action: "deny" }, [1]],
          [{ event: "sign_up" }, [2, 3]],
          [{ rule: "no-tor" }, [1, 3]],
          [{ rule: "no_hosting" }, [3]],
          [{ rule: "no_tor" }, []],
          [{ rule: "no" }, []],
          [{ reason: "tor_exit" }, [2]],
          [{ outcome: "legitimate" }, [2]],
          [{ outcome: "none" }, [1, 3]],
          [{ ref: "user-81" }, [2]],
          [{ domain: "a.example" }, [1, 3]],
          [{ mailbox: ["mailbox now", "mailbox before"] }, [2, 3]],
          [{ mailbox: ["mailbox before"], domain: "a.example" }, [3]],
          [{ mailbox: ["mailbox before"], ref: "user-81" }, []],
          [{ account: ["account now"] }, [2]],
          [{ account: ["account now"], mailbox: ["mailbox before"] }, []],
          [{ account: ["another"] }, []],
          [{ since: NOW }, [2, 1]],
          [{ until: NOW }, [3]],
          [{ action: "challenge" }, []],
        ];
        for (const [filter, found] of cases)
          expect([filter, await ids(decisions.list({ limit: 10 }, filter))]).toEqual([filter, [...found]]);
        expect(await decisions.count()).toEqual([
          { day: Date.parse(DAY), action: "allow", count: 1, legitimate: 1, fraud: 0 },
          { day: Date.parse(DAY), action: "deny", count: 1, legitimate: 0, fraud: 0 },
          { day: Date.parse(DAY) - DAY_MS, action: "allow", count: 1, legitimate: 0, fraud: 0 },
        ]);
        await pass(store, DAY_MS - 1_000);
        expect([await retention.expire(1), await retention.expire(1)]).toEqual([{ decisions: 1 }, {}]);
        expect(await ids(decisions.list({ limit: 10 }))).toEqual([2, 1]);
      });

      /** What the decisions about a visitor say, where everything has the hashes of the keys `now` and `before`. */
      const QUESTION: MemoryQuestion = {
        facts: HISTORY_FACTS,
        traces: {
          mailbox: ["mailbox now", "mailbox before"],
          domain: ["example.com"],
          network: ["network now", "network before"],
          address: ["address now", "address before"],
          account: ["account now", "account before"],
        },
        now: NOW,
      };
      const LOGIN_FAILED = { event: "login_failed", network_hash: "network now" };
      const NOTHING = { value: 0, newest: undefined };

      test("say what they were about, by the hashes of two keys, until they are deleted", async () => {
        const { decisions, retention } = await open();
        const empty = await decisions.recall(QUESTION);
        expect(Object.keys(empty)).toEqual([...HISTORY_FACTS]);
        for (const memory of Object.values(empty)) expect(memory).toEqual(NOTHING);
        const day = (n: number) => NOW - n * DAY_MS;
        const hour = (n: number) => NOW - n * 3_600_000;
        await decisions.add([
          decision(1, {
            created_at: day(40),
            mailbox_hash: "mailbox before",
            network_hash: "network before",
          }),
          decision(2, { created_at: day(20), mailbox_hash: "mailbox now", email_domain: "example.com" }),
          decision(3, { created_at: day(10), network_hash: "network before", email_domain: "example.com" }),
          decision(4, { created_at: day(9), email_domain: "example.com", network_hash: "network now" }),
          decision(5, { created_at: day(8), mailbox_hash: "somebody else's", email_domain: "example.org" }),
          // the account in two networks, one of them under both keys
          decision(6, { created_at: day(5), account_hash: "account before", network_hash: "network before" }),
          decision(7, { created_at: day(4), account_hash: "account now", network_hash: "network now" }),
          decision(8, { created_at: day(3), account_hash: "account now", network_hash: "another now" }),
          decision(9, { created_at: day(40), account_hash: "account now", network_hash: "long ago" }),
          // logins from the network
          decision(10, {
            ...LOGIN_FAILED,
            created_at: hour(0.5),
            account_hash: "account now",
            address_hash: "address now",
          }),
          decision(11, { ...LOGIN_FAILED, created_at: hour(0.4), account_hash: "second" }),
          decision(12, {
            ...LOGIN_FAILED,
            created_at: hour(0.3),
            account_hash: "second",
            address_hash: "address before",
          }),
          decision(13, { ...LOGIN_FAILED, created_at: hour(2), account_hash: "third" }),
          decision(14, { ...LOGIN_FAILED, event: "login", created_at: hour(0.2), account_hash: "fourth" }),
          decision(15, { ...LOGIN_FAILED, event: "sign_up", created_at: hour(0.1) }),
        ]);
        clock = NOW + 1;
        for (const n of [1, 2, 3, 5, 12]) await decisions.label(id(n), "fraud");
        await decisions.label(id(12), "legitimate"); // the last label counts
        const labelled = (n: number) => ({ decision: id(n), at: new Date(NOW + 1).toISOString() });
        expect(await decisions.recall(QUESTION)).toEqual({
          "history.mailbox_seen": {
            value: 2,
            newest: { decision: id(2), at: new Date(day(20)).toISOString() },
          },
          "history.mailbox_fraud": { value: 2, newest: labelled(2) },
          "history.domain_fraud_30d": { value: 2, newest: labelled(3) },
          "history.network_fraud_30d": { value: 1, newest: labelled(3) },
          "history.account_networks_30d": { value: 2, newest: undefined },
          "history.account_failures_1h": { value: 1, newest: undefined },
          "history.address_failures_1h": { value: 2, newest: undefined },
          "history.network_failures_1h": { value: 3, newest: undefined },
          "history.network_failed_accounts_1h": { value: 2, newest: undefined },
          "history.network_logins_1h": { value: 1, newest: undefined },
        });
        await pass({ retention } as Store, DAY_MS);
        await retention.expire(15);
        const later = await decisions.recall(QUESTION);
        expect([later["history.mailbox_seen"], later["history.mailbox_fraud"]]).toEqual([NOTHING, NOTHING]);
        expect(later["history.domain_fraud_30d"]).toEqual({ value: 1, newest: labelled(3) });
      });

      test("are counted up to 1,000, however many an attacker adds", async () => {
        const { decisions } = await open();
        const failed = (n: number) => decision(n, { ...LOGIN_FAILED, account_hash: `account ${n % 3}` });
        await decisions.add(Array.from({ length: 1_200 }, (_, n) => failed(n)));
        const { "history.network_failures_1h": failures, "history.network_failed_accounts_1h": accounts } =
          await decisions.recall(QUESTION);
        expect([failures?.value, accounts?.value]).toEqual([1_000, 3]);
      });

      if (backend.name === "sqlite")
        test("are found by indexes that have only such decisions, without sorting", async () => {
          await (await open()).decisions.add([decision(1)]);
          const sql = new SQL(address);
          for (const fact of HISTORY_FACTS) {
            const { text, values } = recallQuery({ ...QUESTION, facts: [fact] });
            const plan: { detail: string }[] = await sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, [...values]);
            const details = plan.map(({ detail }) => detail).join("; ");
            expect(details).toMatch(
              /USING (COVERING )?INDEX inkling_decisions_(mailbox|domain|network|account|address)_?\w* /,
            );
            expect(details).not.toMatch(/SCAN inkling|TEMP B-TREE FOR ORDER/);
          }
          await sql.close();
        });

      test("distinct domains have their newest decision, page after page", async () => {
        const { decisions } = await open();
        const domain = (n: number) => `d${String(n).padStart(4, "0")}.example`;
        await decisions.add([
          ...Array.from({ length: 600 }, (_, n) => decision(n, { email_domain: domain(n) })),
          decision(1_000, { email_domain: domain(3), created_at: NOW + 5 }),
          decision(1_001, { email_domain: domain(4), created_at: NOW - DAY_MS }),
          decision(1_002, { email_domain: "old.example", created_at: NOW - DAY_MS }),
          decision(1_003),
        ]);
        const found: DecidedDomain[] = [];
        for await (const page of decisions.domainsSince(NOW, NOW + DAY_MS)) found.push(...page);
        expect(found.map((one) => one.domain)).toEqual(Array.from({ length: 600 }, (_, n) => domain(n)));
        expect([3, 4].map((n) => found[n]!.newest.id)).toEqual([id(1_000), id(4)]);
        const [page] = await Array.fromAsync(decisions.domainsSince(NOW, NOW + 5));
        expect([3, 4].map((n) => page![n]!.newest.id)).toEqual([id(3), id(4)]);
      });

      test("are deleted by ref and by time, with an entry in the trail that has no ref", async () => {
        const { decisions, audit } = await open();
        await decisions.add(
          Array.from({ length: 1_200 }, (_, n) =>
            decision(n, { ref: n % 2 === 0 ? "user-81" : null, created_at: NOW - n }),
          ),
        );
        expect(await decisions.delete({ ref: "user-81" }, ADA)).toBe(600);
        expect(await decisions.delete({ ref: "user-81" }, ADA)).toBe(0);
        expect(await decisions.delete({ before: NOW - 100 }, ADA)).toBe(550);
        expect((await decisions.list({ limit: 100 })).items).toHaveLength(50);
        const { items } = await audit.list({ limit: 10 });
        expect(items.map(({ action, subject, after }) => ({ action, subject, after }))).toEqual([
          {
            action: "decisions-deleted",
            subject: "decisions",
            after: { before: "2026-06-01T11:59:59.900Z", deleted: 550 },
          },
          { action: "decisions-deleted", subject: "decisions", after: { by: "ref", deleted: 0 } },
          { action: "decisions-deleted", subject: "decisions", after: { by: "ref", deleted: 600 } },
        ]);
      });

      test("a clock that is 40 days ahead deletes nothing, until it has kept its time for hours", async () => {
        const store = await open();
        await store.decisions.add([decision(1), decision(2, { created_at: NOW - 20 * DAY_MS })]);
        await store.usage.add(batch(1, 1, "r"));
        let running = 0;
        const retention = new Retention(store.database, () => running);
        expect(await retention.expire(30)).toEqual({});
        clock += 40 * DAY_MS;
        const restarted = new Retention(store.database, () => running);
        expect([await restarted.expire(30), restarted.aheadMs]).toEqual([{}, 40 * DAY_MS]);
        running = 6 * 3_600_000 - 1;
        expect(await restarted.expire(30)).toEqual({});
        clock = NOW + 60_000; // corrected in time
        expect([await restarted.expire(30), restarted.aheadMs]).toEqual([{}, 0]);
        clock += 40 * DAY_MS; // the server was off
        expect(await restarted.expire(30)).toEqual({});
        running += 6 * 3_600_000;
        expect(await restarted.expire(30)).toMatchObject({ decisions: 2, recorders: 1 });
        expect(await restarted.expire(30)).toEqual({});
      });

      test("the oldest are deleted above a size", async () => {
        const { decisions, retention } = await open();
        const rows = Array.from({ length: 1_600 }, (_, n) =>
          decision(n, { created_at: NOW - n * 60_000, facts: `{"facts.x":"${"y".repeat(1_000)}"}` }),
        );
        await decisions.add(rows.slice(100));
        expect(await retention.limitDecisions(10_000_000)).toBe(0);
        const each = retention.decisions.bytes / 1_500;
        expect(each).toBeWithin(1_400, 1_600);
        await decisions.add(rows.slice(0, 100));
        expect(await retention.limitDecisions(1_300 * each)).toBe(500);
        expect(retention.decisions.bytes / each).toBeCloseTo(1_100);
        const [oldest] = (await decisions.list({ limit: 1 }, { until: NOW - 1_098.5 * 60_000 })).items;
        expect([oldest?.id, await retention.limitDecisions(1_300 * each)]).toEqual([id(1_099), 0]);
        await decisions.delete({ before: NOW + 1 }, ADA);
        expect([await retention.limitDecisions(0), retention.decisions.bytes]).toEqual([0, 0]);
      });

      test("are found by a filter that few have, across slices and in pages", async () => {
        const { decisions } = await open();
        const rare = new Set([3, 2_500, 4_100]);
        await decisions.add(
          Array.from({ length: 4_200 }, (_, n) =>
            decision(n, {
              created_at: NOW - n,
              ...(rare.has(n) && {
                reasons: '[{"code":"tor_exit","weight":0.6}]',
                facts: '{"ip.network":"192.0.2.0/24"}',
              }),
            }),
          ),
        );
        const network = "192.0.2.0/24";
        expect(await ids(decisions.list({ limit: 10 }, { network }))).toEqual([...rare]);
        expect(await ids(decisions.list({ limit: 10 }, { network, reason: "tor_exit" }))).toEqual([...rare]);
        expect(await ids(decisions.list({ limit: 10 }, { network, reason: "proxy" }))).toEqual([]);
        expect(await ids(decisions.list({ limit: 10 }, { network, action: "deny" }))).toEqual([]);
        const { next, items } = await decisions.list({ limit: 1 }, { network, outcome: "none" });
        expect(items.map((row) => Number(row.id.slice(4)))).toEqual([3]);
        expect(await ids(decisions.list({ limit: 1, cursor: next }, { network }))).toEqual([2_500]);
        expect(await ids(decisions.list({ limit: 10 }, { reason: "tor_exit" }))).toEqual([...rare]);
        const first = await decisions.list({ limit: 2 }, { reason: "tor_exit", action: "allow" });
        expect(first.items.map((row) => Number(row.id.slice(4)))).toEqual([3, 2_500]);
        expect(await ids(decisions.list({ limit: 2, cursor: first.next }, { reason: "tor_exit" }))).toEqual([
          4_100,
        ]);
        expect(await decisions.count()).toMatchObject([{ action: "allow", count: 4_200 }]);
      });

      test("are found by the visitor's network, also with facts that no JSON column holds", async () => {
        const { decisions } = await open();
        const facts = (network: string, agent: string) =>
          JSON.stringify({ user_agent: agent, "ip.network": network });
        await decisions.add([
          decision(1, { facts: facts("81.2.69.0/24", 'x","ip.network":"8.8.8.0/24"') }),
          decision(2, { facts: facts("8.8.8.0/24", "\u0000 \ud800") }),
        ]);
        expect(await ids(decisions.list({ limit: 9 }, { network: "8.8.8.0/24" }))).toEqual([2]);
        expect(await ids(decisions.list({ limit: 9 }, { network: "81.2.69.0/24" }))).toEqual([1]);
      });

      test("are deleted with the deliveries that contain their ref, waiting or sent", async () => {
        const { decisions, deliveries, webhooks } = await open();
        const wanted = {
          url: "https://example.com/",
          events: ["decision.changed"],
          allowPrivate: false,
        } as const;
        const { webhook } = await webhooks.add(wanted, ADA);
        await decisions.add([decision(1, { ref: "user-81" }), decision(2, { ref: "user-82" })]);
        const event = (n: number, ref: string): QueuedEvent => ({
          key: `${n}`,
          message: {
            type: "decision.changed",
            data: {
              id: id(n),
              ref,
              domain: "a.example",
              before: {},
              after: {},
              evidence: [],
              data_version: "",
            } as never,
          },
        });
        await deliveries.queue([event(1, "user-81"), event(2, "user-82")]);
        expect(await decisions.delete({ ref: "user-81" }, ADA)).toBe(1);
        const [claimed, ...more] = await deliveries.claim(webhook.id, 9);
        expect([JSON.parse(claimed!.body).data.ref, more]).toEqual(["user-82", []]);
        await decisions.delete({ before: NOW + 1 }, ADA);
        expect((await deliveries.list(webhook.id, { limit: 9 })).items).toEqual([]);
      });

      test("that are deleted before the deletion fails are in the audit trail", async () => {
        const { decisions, audit } = await open();
        await decisions.add(Array.from({ length: 501 }, (_, n) => decision(n, { created_at: NOW + n })));
        await using sql = new SQL(address);
        await sql`DROP TABLE inkling_deliveries`; // which deleteOrphanedDeliveries reads afterwards
        await expect(decisions.delete({ before: NOW + 1_000 }, ADA)).rejects.toThrow("inkling_deliveries");
        expect(await ids(decisions.list({ limit: 1 }))).toEqual([]);
        const [entry] = (await audit.list({ limit: 1 })).items;
        expect(entry).toMatchObject({ author: "ada", action: "decisions-deleted", after: { deleted: 501 } });
      });

      test("are labelled by the key that asked for them, and by an operator", async () => {
        const { decisions } = await open();
        await decisions.add([decision(1, { key_id: "key_a" }), decision(2)]);
        expect(await decisions.label(id(1), "fraud", "key_b")).toBeUndefined();
        expect((await decisions.label(id(1), "fraud", "key_a"))?.outcome).toBe("fraud");
        expect((await decisions.label(id(1), "legitimate"))?.outcome).toBe("legitimate");
        expect((await decisions.label(id(2), "fraud", "key_b"))?.outcome).toBe("fraud"); // of an earlier version
      });

      test("are counted by reasons and rules, once, with their outcomes; the counts outlive them", async () => {
        const store = await open();
        const { decisions, retention } = store;
        const reasons = '[{"code":"proxy","weight":0.35},{"code":"tor_exit","weight":0.6}]';
        const rows = [
          decision(1, { rule: "no-tor", reasons, unweighted: "free_mail" }),
          decision(2, { rule: "no-tor", shadow: '[{"rule":"all","action":"deny"}]' }),
          decision(3, { created_at: NOW - 2 * HOUR_MS, reasons: "[]" }),
        ];
        const tally = async (since = 0) => {
          const { tallies } = await decisions.tallies(since);
          return tallies.map(({ kind, name, ...n }) => [kind, name, ...Object.values(n)].join("|")).sort();
        };
        await Promise.all([decisions.add(rows), decisions.add(rows)]);
        for (const outcome of ["fraud", "fraud", "legitimate"] as const)
          await decisions.label(id(1), outcome);
        await decisions.label(id(2), "fraud", undefined, ADA, "a chargeback");
        // The same outcome again keeps the note and its time, so there is nothing to record.
        await decisions.label(id(2), "fraud", undefined, ADA);
        await decisions.label(id(2), "fraud");
        const disagreeing = (["legitimate", "fraud"] as const).map((outcome) => ({ ref: id(2), outcome }));
        await decisions.labelRefs(disagreeing, true, ADA);
        expect((await store.audit.list({ limit: 9 })).items).toHaveLength(1);
        expect((await decisions.find(id(2)))?.outcome_note).toBe("a chargeback");
        const counted = [
          "live|no-tor|2|1|1",
          "reasons|proxy tor_exit free_mail|1|0|1",
          "reasons|proxy|1|1|0",
        ] as const;
        expect(await tally(NOW - HOUR_MS)).toEqual([...counted, "shadow|all|1|1|0"]);
        expect(await tally()).toEqual([...counted, "reasons||1|0|0", "shadow|all|1|1|0"]);
        await decisions.label(id(2), null, undefined, ADA);
        expect((await decisions.find(id(2)))?.outcome).toBeNull();
        expect(await decisions.delete({ before: NOW + 1 }, ADA)).toBe(3);
        expect((await tally()).at(-1)).toBe("shadow|all|1|0|0");
        await pass(store, 101 * DAY_MS);
        expect(await retention.expire(30)).toEqual({ decision_counts: 5 });
        expect(await tally()).toEqual([]);
      });

      test("wait for review, oldest first, until they have an outcome", async () => {
        const { decisions } = await open();
        const at = (n: number) => ({ created_at: NOW + n, review: 1 }) as const;
        await decisions.add([3, 1, 2].map((n) => decision(n, at(n))).concat(decision(4)));
        const { waiting, items } = await decisions.queued(2);
        expect([waiting, items.map((row) => row.id)]).toEqual([3, [id(1), id(2)]]);
        await decisions.label(id(1), "legitimate");
        expect(await decisions.queued(1)).toMatchObject({ waiting: 2, items: [{ id: id(2) }] });
      });

      test("get outcomes by ref or id, up to a time, without replacing other outcomes unless asked to", async () => {
        const { decisions, audit } = await open();
        await decisions.add([
          decision(1, { ref: "a" }),
          decision(2, { ref: "a", created_at: NOW - 9 }),
          decision(3, { ref: "b" }),
          ...Array.from({ length: 101 }, (_, n) => decision(100 + n, { ref: "many" })),
        ]);
        const label = (
          replace: boolean,
          ...lines: readonly [ref: string, outcome: Outcome | null, at?: number][]
        ) =>
          decisions
            .labelRefs(
              lines.map(([ref, outcome, at]) => ({ ref, outcome, at })),
              replace,
              ADA,
            )
            .then((all) => all.map(({ found, labelled, kept }) => [found, labelled, kept]));
        expect(
          await label(
            false,
            ["a", "fraud", NOW - 5],
            ["a", "legitimate"],
            [id(3), "fraud"],
            ["c", "fraud"],
            ["many", "fraud"],
          ),
        ).toEqual([
          [1, 1, 0],
          [2, 1, 1],
          [1, 1, 0],
          [0, 0, 0],
          [101, 0, 0],
        ]);
        expect(await label(false, ["a", "fraud"], [id(3), "fraud"])).toEqual([
          [2, 0, 1],
          [1, 0, 0],
        ]);
        expect(await label(true, ["a", "fraud"], ["a", "legitimate"])).toEqual([
          [2, 0, 0],
          [2, 1, 0],
        ]);
        expect(await decisions.find(id(2))).toMatchObject({ outcome: "legitimate" });
        expect(await label(false, ["a", null])).toEqual([[2, 0, 2]]);
        expect(await label(true, [id(2), "fraud"], [id(2), null], ["b", null], ["c", null])).toEqual([
          [1, 0, 0],
          [1, 1, 0],
          [1, 1, 0],
          [0, 0, 0],
        ]);
        expect(await decisions.find(id(2))).toMatchObject({ outcome: null, outcome_at: null });
        const { items } = await audit.list({ limit: 9 });
        expect(items.map(({ action, after }) => [action, after])).toEqual([
          ["decisions-labelled", { none: 2 }],
          ["decisions-labelled", { legitimate: 1 }],
          ["decisions-labelled", { fraud: 2, legitimate: 1 }],
        ]);
      });

      // SQLite has one connection, and no lock of a table.
      const name = "do not keep a key from being revoked while their table is locked";
      test.skipIf(backend.name === "sqlite")(name, async () => {
        const store = await open({ timeoutMs: 2_000 });
        const { key } = await store.createKey(wanted());
        const notices = store.listen({ live: { keys: IDLE, overrides: IDLE, rulesets: IDLE } });
        await notices.start();
        await using locker = new SQL(address, { max: 2 });
        const { promise: revoked, resolve } = Promise.withResolvers<void>();
        const locked = Promise.withResolvers<void>();
        const lock = locker.begin(async (tx) => {
          await tx`LOCK TABLE inkling_decisions IN ACCESS EXCLUSIVE MODE`;
          locked.resolve();
          await revoked;
        });
        await locked.promise;
        const claims = Array.from({ length: 100 }, (_, n) =>
          store.decisions.claim([{ ...decision(n), idempotency: `${n}`, body_hash: "" }]).catch(() => {}),
        );
        expect((await store.revokeKey(key.id))?.revokedAt).toBe(NOW);
        const rows: { n: number | string }[] = await locker`SELECT COUNT(*) AS n FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'inkling'`;
        expect(Number(rows[0]?.n)).toBeLessThanOrEqual(4);
        resolve();
        await Promise.all([lock, ...claims]);
        await notices.stop();
      });

      test("the first decision of a request's name counts, also where two hosts decide at once, for a day", async () => {
        const [a, b] = [await open(), await open()];
        const named = (n: number, created_at = NOW) => ({
          ...decision(n, { created_at }),
          idempotency: "key",
          body_hash: "body",
        });
        const claim = async (store: Store, row: NamedDecision) => (await store.decisions.claim([row]))[0]!.id;
        const both = await Promise.all([claim(a, named(1)), claim(b, named(2))]);
        expect(both[0]).toBe(both[1]);
        await b.decisions.add([named(3)]);
        expect(await ids(b.decisions.list({ limit: 10 }))).toHaveLength(1);
        await pass(a, DAY_MS);
        clock++;
        expect(await claim(a, named(4, clock))).toBe(id(4));
        expect((await a.decisions.list({ limit: 10 })).items).toHaveLength(2);
      });
    });

    describe("overrides", () => {
      const flagged = (value: string, over: Partial<NewOverride> = {}): NewOverride => ({
        kind: "address",
        value,
        flag: "is_tor_exit",
        verdict: false,
        note: "our office 東京",
        author: "ada",
        expiresAt: undefined,
        ...over,
      });

      test("a new override is loaded, listed, found and audited", async () => {
        const store = await open();
        const wanted = flagged("81.2.69.142", { expiresAt: NOW + 5 });
        const [write] = await store.overrides.put([wanted], ADA);
        expect(write).toMatchObject({ outcome: "added", override: { ...wanted, createdAt: NOW } });
        const { override } = write!;
        expect(override.id).toMatch(/^ovr_[0-9A-Za-z]{16}$/);
        expect((await store.overrides.load()).overrides).toEqual([override]);
        expect(await store.overrides.list({ limit: 10 }, false)).toEqual({
          items: [override],
          next: undefined,
        });
        expect(await store.overrides.find(override.id)).toEqual(override);
        expect((await store.audit.list({ limit: 10 })).items).toEqual([
          {
            sequence: 1,
            at: NOW,
            author: "ada",
            source: "cli",
            action: "override-added",
            subject: override.id,
            before: undefined,
            after: overrideJson(override),
          },
        ]);
      });

      test("putting it again changes nothing; a new note or expiry changes it, under the same id", async () => {
        const store = await open();
        const [first] = await store.overrides.put([flagged("81.2.69.142")], ADA);
        const [again] = await store.overrides.put([flagged("81.2.69.142", { author: "bob" })], {
          author: "bob",
          source: "cli",
        });
        expect(again).toEqual({ override: first!.override, outcome: "unchanged" });
        const [changed] = await store.overrides.put([flagged("81.2.69.142", { note: "new" })], {
          author: "bob",
          source: "cli",
        });
        expect(changed).toEqual({ override: { ...first!.override, note: "new" }, outcome: "changed" });
        expect((await store.overrides.load()).overrides).toEqual([changed!.override]);
        const { items } = await store.audit.list({ limit: 10 });
        expect(items.map(({ author, action }) => `${author} ${action}`)).toEqual([
          "bob override-changed",
          "ada override-added",
        ]);
        expect(items[0]).toMatchObject({ before: { note: "our office 東京" }, after: { note: "new" } });
      });

      test("an opposite verdict is refused, and its batch is not written", async () => {
        const store = await open();
        const opposite = { flag: "is_tor_exit", verdict: true } as const;
        await store.overrides.put([flagged("81.2.69.142")], ADA);
        const stamp = await store.overrides.readStamp();
        const wanted = [flagged("81.2.69.143"), flagged("81.2.69.142", opposite)];
        const error = await store.overrides.put(wanted, ADA).catch((reason) => reason);
        expect(error).toMatchObject({ name: "OverrideConflictError", code: "CONFLICT", why: "CONTRADICTS" });
        expect(error.message).toContain(
          "81.2.69.142 is_tor_exit=true contradicts 81.2.69.142 is_tor_exit=false",
        );
        const among = [flagged("81.2.69.9"), flagged("81.2.69.9", opposite)];
        expect(await codeOf(store.overrides.put(among, ADA))).toBe("CONFLICT");
        expect((await store.overrides.load()).overrides).toHaveLength(1);
        expect((await store.audit.list({ limit: 10 })).items).toHaveLength(1);
        expect(await store.overrides.readStamp()).toBe(stamp);
      });

      test("no contradiction: another flag, another value, an ended override", async () => {
        const store = await open();
        const opposite = { flag: "is_tor_exit", verdict: true } as const;
        const [first] = await store.overrides.put([flagged("81.2.69.142")], ADA);
        await store.overrides.put(
          [
            flagged("81.2.69.142", { flag: "is_proxy", verdict: true }),
            flagged("81.2.69.0/24", { kind: "network", ...opposite }),
          ],
          ADA,
        );
        expect((await store.overrides.load()).overrides).toHaveLength(3);
        await store.overrides.remove(first!.override.id, ADA);
        const over = { ...opposite, expiresAt: NOW + 10 };
        await store.overrides.put([flagged("81.2.69.142", over)], ADA);
        clock += 10;
        const [later] = await store.overrides.put([flagged("81.2.69.142")], ADA);
        expect(later!.outcome).toBe("added");
        expect((await store.overrides.load()).overrides).toHaveLength(3);
      });

      test("removing ends it once; an unknown id is undefined", async () => {
        const store = await open();
        const [write] = await store.overrides.put([flagged("81.2.69.142")], ADA);
        const { id } = write!.override;
        clock += 5;
        expect((await store.overrides.remove(id, { author: "bob", source: "cli" }))?.removedAt).toBe(NOW + 5);
        clock += 5;
        expect((await store.overrides.remove(id, { author: "bob", source: "cli" }))?.removedAt).toBe(NOW + 5);
        expect(await store.overrides.remove("ovr_nope", { author: "bob", source: "cli" })).toBeUndefined();
        expect(await store.overrides.find("ovr_nope")).toBeUndefined();
        expect((await store.overrides.load()).overrides).toEqual([]);
        expect((await store.overrides.list({ limit: 10 }, false)).items).toEqual([]);
        expect((await store.overrides.list({ limit: 10 }, true)).items).toHaveLength(1);
        const { items } = await store.audit.list({ limit: 10 });
        expect(items.map(({ author, action }) => `${author} ${action}`)).toEqual([
          "bob override-removed",
          "ada override-added",
        ]);
      });

      test("pages: all of them, newest first, none twice", async () => {
        const store = await open();
        for (let round = 0; round < 3; round++) {
          clock++;
          await store.overrides.put(
            [0, 1, 2].map((i) => flagged(`81.2.69.${10 * round + i}`)),
            ADA,
          );
        }
        const seen: number[] = [];
        const ids = new Set<string>();
        let cursor: string | undefined;
        do {
          const page = await store.overrides.list({ limit: 2, cursor }, false);
          for (const { id, createdAt } of page.items) seen.push(ids.add(id) && createdAt);
          cursor = page.next;
        } while (cursor !== undefined);
        expect(seen).toEqual([3, 3, 3, 2, 2, 2, 1, 1, 1].map((n) => NOW + n));
        expect(ids.size).toBe(9);
        const sequences: number[] = [];
        do {
          const page = await store.audit.list({ limit: 4, cursor });
          sequences.push(...page.items.map(({ sequence }) => sequence));
          cursor = page.next;
        } while (cursor !== undefined);
        expect(sequences).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
      });

      test("a search of the audit trail reads a few entries at a time, so that lookups are answered meanwhile", async () => {
        const { audit } = await open();
        const sql = new SQL(address);
        const entry = { at: NOW, actor: "ada", action: "key-created", way: null, was: null, became: "{}" };
        for (let from = 0; from < 3_000; from += 500)
          await sql`INSERT INTO inkling_audit ${sql(
            Array.from({ length: 500 }, (_, i) => ({
              ...entry,
              sequence: from + i + 1,
              subject: `${from + i}`,
              ...(from + i === 8 && { became: '{"name":"Office_1"}' }),
            })),
          )}`;
        await sql.close();
        let turns = 0;
        const timer = setInterval(() => turns++, 0);
        const found = async (subject: string, limit: number) => {
          const { items, next } = await audit.list({ limit }, { subjects: [subject] });
          return [items.map(({ sequence }) => sequence), next];
        };
        expect(await found("7", 1)).toEqual([[8], undefined]);
        expect(await found("nothing", 1)).toEqual([[], undefined]);
        expect(await found("Office_1", 1)).toEqual([[9], undefined]);
        for (const other of ["office_1", "OfficeX1", "Office"])
          expect(await found(other, 1)).toEqual([[], undefined]);
        clearInterval(timer);
        expect(turns).toBeGreaterThanOrEqual(4);
        const { items, next } = await audit.list({ limit: 700 }, { author: "ada" });
        expect([items.length, items.at(-1)?.sequence, next]).toEqual([700, 2_301, "2301"]);
        expect((await audit.list({ limit: 1_000, cursor: "501" })).items).toHaveLength(500);
        expect((await audit.list({ limit: 1, cursor: "9999999999999999" })).items).toHaveLength(1);
      });

      test("the stamp changes with every change; keys have their own", async () => {
        const store = await open();
        const keyStamp = await store.readKeyStamp();
        const stamps = [await store.overrides.readStamp()];
        const [write] = await store.overrides.put([flagged("81.2.69.142")], ADA);
        stamps.push(await store.overrides.readStamp());
        await store.overrides.remove(write!.override.id, ADA);
        stamps.push(await store.overrides.readStamp());
        expect(new Set(stamps).size).toBe(3);
        expect((await store.overrides.load()).stamp).toBe(stamps[2]!);
        expect(await store.readKeyStamp()).toBe(keyStamp);
      });

      test("only overrides change it: keys, tokens and audit entries do not", async () => {
        const store = await open();
        const stamp = await store.overrides.readStamp();
        const { key } = await store.createKey(wanted());
        await store.changeKey(key.id, { name: "other" });
        await store.rotateKey(key.id, NOW);
        await store.revokeKey(key.id);
        await store.adminToken.rotate(ADA);
        const entry = { ...ADA, subject: "release", before: undefined, after: undefined };
        await store.audit.record({ ...entry, action: "release-pinned" });
        expect((await store.audit.list({ limit: 10 })).items).toHaveLength(6);
        expect(await store.overrides.readStamp()).toBe(stamp);
      });

      test("keys and overrides changed by several processes at once get a row of audit entries", async () => {
        const stores = [await open(), await open(), await open()];
        await Promise.all(
          Array.from({ length: 30 }, (_, i) =>
            i % 2 === 0
              ? stores[i % 3]!.createKey(wanted({ name: `key ${i}` }))
              : stores[i % 3]!.overrides.put([flagged(`81.2.69.${i}`)], ADA),
          ),
        );
        const { items } = await stores[0]!.audit.list({ limit: 100 });
        expect(items.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 30 }, (_, i) => 30 - i));
      });

      test("the limit is enforced", async () => {
        const store = await open();
        const many = Array.from({ length: MAX_OVERRIDES }, (_, i) => flagged(`9.9.${i >> 8}.${i & 255}`));
        expect(await store.overrides.put(many, { author: "import", source: "cli" })).toHaveLength(
          MAX_OVERRIDES,
        );
        expect((await store.overrides.load()).overrides).toHaveLength(MAX_OVERRIDES);
        expect(await codeOf(store.overrides.put([flagged("81.2.69.142")], ADA))).toBe("CONFLICT");
        expect((await store.audit.list({ limit: 1 })).items[0]?.sequence).toBe(MAX_OVERRIDES);
      });

      test("two processes put opposite overrides at the same time: one is refused", async () => {
        const stores = [await open(), await open()];
        for (let round = 0; round < 10; round++) {
          const results = await Promise.all(
            stores.map((store, i) =>
              codeOf(
                store.overrides.put(
                  [
                    flagged(`81.2.69.${round}`, {
                      flag: "is_proxy",
                      verdict: i === 0,
                    }),
                  ],
                  ADA,
                ),
              ),
            ),
          );
          expect(results.toSorted()).toEqual(["CONFLICT", undefined]);
        }
        const { items } = await stores[0]!.audit.list({ limit: 100 });
        expect(items.map(({ sequence }) => sequence)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
      });
    });

    describe("the admin token", () => {
      test("is created once, also by two processes at the same time; rotation ends the previous one", async () => {
        const stores = [await open(), await open()];
        const made = await Promise.all(
          stores.map((store) => store.adminToken.create({ author: "up", source: "cli" })),
        );
        const tokens = made.filter((token) => token !== undefined);
        expect(tokens).toHaveLength(1);
        expect(isAdminToken(tokens[0]!)).toBe(true);
        expect((await stores[1]!.adminToken.find(hashToken(tokens[0]!)))?.role).toBe("admin");
        const next = await stores[1]!.adminToken.rotate(ADA);
        expect((await stores[0]!.adminToken.find(hashToken(next)))?.role).toBe("admin");
        const { items } = await stores[0]!.audit.list({ limit: 10 });
        expect(items.map(({ author, action }) => `${author} ${action}`)).toEqual([
          "ada admin-token-created",
          "up admin-token-created",
        ]);
        expect(JSON.stringify(items)).not.toContain(next.slice(10, 42));
      });
    });

    describe("named admin tokens", () => {
      const READ = { name: "bob", role: "read", expiresAt: undefined } as const;

      test("are found by their hash in every process, until one revokes them", async () => {
        const stores = [await open(), await open()] as const;
        const root = (await stores[0].adminToken.create(ADA))!;
        const { adminToken, token } = await stores[0].adminToken.add(READ, ADA);
        expect([isAdminToken(token), adminToken.hint]).toEqual([true, `${token.slice(0, 14)}…`]);
        const found = await stores[1].adminToken.find(hashToken(token));
        expect(found).toMatchObject({ name: "bob", role: "read", lastUsedOn: undefined });
        expect(await stores[1].adminToken.find(hashToken(root))).toMatchObject({
          name: undefined,
          role: "admin",
        });
        expect(await codeOf(stores[1].adminToken.add({ ...READ, role: "admin" }, ADA))).toBe("CONFLICT");
        await stores[0].adminToken.rotate(ADA); // only the root token; named tokens remain
        expect(await stores[1].adminToken.find(hashToken(root))).toBeUndefined();
        expect(await stores[1].adminToken.find(hashToken(token))).toEqual(found!);
        expect(await stores[1].adminToken.revoke("bob", ADA)).toEqual({ token: adminToken, created: [] });
        expect(await stores[0].adminToken.find(hashToken(token))).toBeUndefined();
        expect(await stores[0].adminToken.revoke("bob", ADA)).toBeUndefined();
        expect(await stores[0].adminToken.list()).toEqual([]);
        const { items } = await stores[0].audit.list({ limit: 10 }, { subjects: ["bob"] });
        expect(items.map(({ author, action }) => `${author} ${action}`)).toEqual([
          "ada admin-token-revoked",
          "ada admin-token-created",
        ]);
        expect(JSON.stringify(items)).not.toContain(token.slice(14, 42));
      });

      test("are revoked with the token that created them, unless they are kept", async () => {
        const store = await open();
        const add = (name: string, parent?: string) =>
          store.adminToken.add({ ...READ, name, role: "admin" }, ADA, parent);
        for (const [name, parent] of [["a"], ["b", "a"], ["c", "b"], ["d", "c"], ["x"], ["y", "x"]] as const)
          await add(name, parent);
        const left = async () =>
          (await store.adminToken.list()).map(({ name, parent }) => `${name}<${parent}`).sort();
        expect((await store.adminToken.revoke("b", ADA, true))?.created).toEqual([]);
        expect(await left()).toEqual(["a<undefined", "c<a", "d<c", "x<undefined", "y<x"]);
        const names = (await store.adminToken.revoke("a", ADA))!.created.map(({ name }) => name);
        expect(names.sort()).toEqual(["c", "d"]);
        expect(await left()).toEqual(["x<undefined", "y<x"]);
        const { items } = await store.audit.list({ limit: 3 }, { action: "admin-token-revoked" });
        expect(items.map(({ subject }) => subject).sort()).toEqual(["a", "c", "d"]);
        await expect(add("e", "a")).rejects.toThrow("the admin token a was revoked");
      });

      test("two processes create the same name at the same time: one is refused", async () => {
        const stores = [await open(), await open()];
        const results = await Promise.all(stores.map((store) => codeOf(store.adminToken.add(READ, ADA))));
        expect(results.toSorted()).toEqual(["CONFLICT", undefined]);
      });

      test("end with their expiry, and keep their name until they are revoked", async () => {
        const store = await open();
        const at = (expiresAt: number) =>
          store.adminToken.add({ ...READ, name: `n${expiresAt}`, expiresAt }, ADA);
        const [over, valid] = [await at(NOW), await at(NOW + 1)];
        expect(await store.adminToken.find(hashToken(over.token))).toBeUndefined();
        expect(await store.adminToken.find(hashToken(valid.token))).toMatchObject({ name: `n${NOW + 1}` });
        expect(await store.adminToken.get(`n${NOW}`)).toEqual(over.adminToken);
        expect(await store.adminToken.list()).toEqual([over.adminToken, valid.adminToken]);
      });

      test("have the day of their last use", async () => {
        const store = await open();
        const { token } = await store.adminToken.add(READ, ADA);
        const find = async () => (await store.adminToken.find(hashToken(token)))!;
        await store.adminToken.recordUse(await find());
        const today = new Date(NOW).toISOString().slice(0, 10);
        expect([(await find()).lastUsedOn, (await store.adminToken.get("bob"))?.lastUsedOn]).toEqual([
          today,
          today,
        ]);
      });
    });

    describe("tables", () => {
      test("five processes that start at the same time migrate once", async () => {
        const stores = await Promise.all([1, 2, 3, 4, 5].map(() => open()));
        await Promise.all(stores.map((store) => store.ping()));
        const sql = new SQL(address);
        expect(await sql`SELECT id FROM inkling_migrations`).toHaveLength(MIGRATIONS.length);
        await sql.close();
      });

      test("a later version adds its steps to a database with data", async () => {
        await (await open()).createKey(wanted());
        const next = { id: 99, name: "next", statements: ["ALTER TABLE inkling_keys ADD COLUMN note TEXT"] };
        const migrations = [...MIGRATIONS, next];
        const [database, other] = [1, 2].map(() => new Database(address, {}, { migrations })) as [
          Database,
          Database,
        ];
        await Promise.all([database.ready(), other.ready()]);
        await other.close();
        const found = await database.run((sql) => sql`SELECT name, note FROM inkling_keys`);
        expect([...found]).toEqual([{ name: "shop", note: null }]);
        await database.close();
      });

      test("entries of versions that recorded no source are kept, their source unknown", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        const old = { sequence: 1, at: NOW, actor: "ada", action: "key-made", subject: "key_old" };
        await database.run((sql) => sql`INSERT INTO inkling_audit ${sql(old)}`);
        await database.close();
        const store = await open();
        await store.adminToken.create(ADA);
        const { items } = await store.audit.list({ limit: 10 });
        expect(items.map(({ action, source }) => [action, source])).toEqual([
          ["admin-token-created", "cli"],
          ["key-created", undefined],
        ]);
        expect(auditJson(items[1]!).source).toBeNull();
      });

      test("stored decisions are counted, and their outcome abuse becomes fraud", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        const row = earlierRow(1, {
          rule: "all",
          reasons: '[{"code":"proxy","weight":0.35},{"code":"tor_exit","weight":0.6}]',
          shadow: '[{"rule":"no-tor","action":"deny"}]',
        });
        const rows = [
          { ...row, outcome: "abuse" },
          { ...row, id: decisionId(2), reasons: "[]", rule: null, shadow: "[]", outcome: null },
        ];
        await database.run((sql) => sql`INSERT INTO inkling_decisions ${sql(rows)}`);
        await database.close();
        const { decisions } = await open();
        expect((await decisions.find(decisionId(1)))?.outcome).toBe("fraud");
        const { tallies } = await decisions.tallies(0);
        expect(tallies.toSorted((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1))).toEqual([
          { kind: "live", name: "all", decisions: 1, fraud: 1, legitimate: 0 },
          { kind: "reasons", name: "", decisions: 1, fraud: 0, legitimate: 0 },
          { kind: "reasons", name: "proxy tor_exit", decisions: 1, fraud: 1, legitimate: 0 },
          { kind: "shadow", name: "no-tor", decisions: 1, fraud: 1, legitimate: 0 },
        ]);
      });

      test("stored decisions are found by their network, action and event", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        const facts = '{"ip.network":"192.0.2.0/24"}';
        const rows = [earlierRow(1, { facts }), earlierRow(2)];
        await database.run((sql) => sql`INSERT INTO inkling_decisions ${sql(rows)}`);
        await database.close();
        const { decisions } = await open();
        const { action, event } = rows[0]!;
        for (const [filter, found] of [
          [{ network: "192.0.2.0/24", action, event }, [decisionId(1)]],
          [{ network: "192.0.2.0/24", event: "other" }, []],
          [{ action, event }, [decisionId(2), decisionId(1)]],
        ] as const)
          expect((await decisions.list({ limit: 9 }, filter)).items.map(({ id }) => id)).toEqual([...found]);
      });

      test("subscriptions to assessment.changed, and its waiting deliveries, get the event's new name", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        const webhook = {
          id: "whk_1",
          url: "https://example.com/",
          secret: "s",
          author: "ada",
          created_at: NOW,
        };
        const delivery = {
          webhook_id: "whk_1",
          id: "msg_1",
          state: "waiting",
          attempts: 0,
          due_at: NOW,
          created_at: NOW,
        };
        await database.run(async (sql) => {
          await sql`INSERT INTO inkling_webhooks ${sql({ ...webhook, events: "assessment.changed data.stale", allow_inner: 1 })}`;
          await sql`INSERT INTO inkling_deliveries ${sql({ ...delivery, event: "assessment.changed", body: '{"type":"assessment.changed"}' })}`;
        });
        await database.close();
        const store = await open();
        expect(await store.webhooks.find("whk_1")).toMatchObject({
          events: ["decision.changed", "data.stale"],
          allowPrivate: true,
        });
        const [row] = await store.database.run((sql) => sql`SELECT event, body FROM inkling_deliveries`);
        expect(row).toEqual({ event: "decision.changed", body: '{"type":"decision.changed"}' });
      });

      test("hours of an earlier version become days where the days are missing, and countries end", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        type Row = [at: string, key_id: string, lookup: string, count: number];
        const onDay = (...[day, key_id, lookup, count]: Row) => ({ day, key_id, lookup, count });
        const inHour = (...[hour, key_id, lookup, count]: Row) => ({ hour, key_id, lookup, count });
        const days = [
          onDay(DAY, "key_a", "geolocate", 5_000_000_000),
          onDay(DAY, "key_a", "country:DE", 4),
          onDay(DAY, "key_c", "email", 2),
        ];
        const hours = [
          inHour(`${DAY}T09`, "key_a", "geolocate", 2),
          inHour(`${DAY}T23`, "key_a", "geolocate", 3),
          inHour(`${DAY}T22`, "key_b", "geolocate", 4_000_000_000),
          inHour(`${DAY}T23`, "key_b", "geolocate", 3_000_000_000),
          inHour("2026-06-02T00", "key_b", "rate_limited", 6),
          inHour(`${DAY}T00`, "key_c", "email", 1),
          inHour(`${DAY}T01`, "key_c", "email", 8),
        ];
        // As ba0a7277 stores a batch.
        const add = () =>
          database.write(async (tx) => {
            await tx`INSERT INTO inkling_usage AS u ${tx(days)}
              ON CONFLICT (day, key_id, lookup) DO UPDATE SET count = u.count + excluded.count`;
            await tx`INSERT INTO inkling_usage_hours AS u ${tx(hours)}
              ON CONFLICT (hour, key_id, lookup) DO UPDATE SET count = u.count + excluded.count`;
          }, false);
        await add();
        const store = await open();
        const used = async (keyId: string) =>
          (await store.usage.readByDay(keyId, DAY, "2026-06-02")).map(({ day, lookup, count }) => [
            day,
            lookup,
            count,
          ]);
        expect(await used("key_a")).toEqual([[DAY, "geolocate", 5_000_000_000]]);
        expect(await used("key_b")).toEqual([
          [DAY, "geolocate", 7_000_000_000],
          ["2026-06-02", "rate_limited", 6],
        ]);
        expect(await used("key_c")).toEqual([[DAY, "email", 9]]);
        const left = await database.run((sql) => sql`SELECT hour FROM inkling_usage_hours`);
        expect([...left]).toEqual([]);
        await add(); // a server of that version that has not been restarted yet
        expect(await used("key_c")).toEqual([[DAY, "email", 11]]);
        await database.close();
      });

      test("webhooks for held releases become webhooks for held feeds", async () => {
        const database = new Database(address, {}, { migrations: EARLIER });
        const row = {
          id: "wh_a",
          url: "https://example.com/",
          events: "data.stale release.held",
          author: "ada",
        };
        const secret = { secret: "s", old_secret: null, old_secret_until: null, disabled_at: null };
        await database.run(
          (sql) =>
            sql`INSERT INTO inkling_webhooks ${sql({ ...row, ...secret, allow_inner: 0, created_at: NOW })}`,
        );
        const store = await open();
        expect((await store.webhooks.list()).map(({ events }) => events)).toEqual([
          ["feed.held", "data.stale"],
        ]);
        await database.close();
      });

      // A statement of SQLite runs inside the call, so that its time is never up.
      if (backend.name === "postgres")
        test("steps may take longer than other transactions", async () => {
          await open();
          const statements = ["SELECT pg_sleep(0.5)", "CREATE TABLE inkling_slow (a TEXT)"];
          const migrations = [...MIGRATIONS, { id: 99, name: "slow", statements }];
          const database = new Database(address, { timeoutMs: 200 }, { migrations });
          await database.ready();
          expect(await codeOf(database.write((tx) => tx.unsafe(statements[0]!), false))).toBe("UNREACHABLE");
          expect(await database.run((sql) => sql`SELECT * FROM inkling_slow`)).toBeEmpty();
          await database.close();
        });

      test("a running process of the previous version continues when a later one adds columns", async () => {
        const store = await open();
        const { key, token } = await store.createKey(wanted());
        const use = async () => [
          rows(await store.listKeys()),
          rows(tokensOf(await store.loadKeys()).map((loaded) => loaded.key)),
          rows([(await store.findKeyByHash(hashToken(token)))!]),
          rows([(await store.revokeKey(key.id))!]),
        ];
        const uses = () => Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(use)); // on every connection of the pool
        await uses();
        const before = await uses();
        const next = { id: 99, name: "next", statements: ["ALTER TABLE inkling_keys ADD COLUMN note TEXT"] };
        const database = new Database(address, {}, { migrations: [...MIGRATIONS, next] });
        await database.ready();
        await database.close();
        expect(await uses()).toEqual(before);
      });

      test("a step that fails leaves the database as it was", async () => {
        await open();
        const broken = { id: 99, name: "broken", statements: ["CREATE TABLE inkling_x (a TEXT)", "SELEC 1"] };
        const database = new Database(address, {}, { migrations: [...MIGRATIONS, broken] });
        expect(await codeOf(database.ready())).toBe("BROKEN");
        await database.close();
        const store = await open();
        expect(await codeOf(store.database.run((sql) => sql`SELECT * FROM inkling_x`))).toBe("BROKEN");
        await store.ping();
      });

      test("a database of a newer version is refused, with a hint, and not touched", async () => {
        await open();
        const sql = new SQL(address);
        await sql`INSERT INTO inkling_migrations (id, name, applied_at) VALUES (1000, 'future', 0)`;
        await sql.close();
        const error: StoreError = await open().catch((reason) => reason);
        expect(error).toMatchObject({ name: "StoreError", code: "NEWER" });
        expect(error.message).toContain("version 1000");
        expect(error.hint).not.toBe("");
      });

      test("a database of a version that was never released is refused, with a hint, and not touched", async () => {
        await open();
        const sql = new SQL(address);
        await sql`UPDATE inkling_migrations SET id = 20 WHERE id = ${MIGRATIONS.at(-1)!.id}`;
        const before = await sql`SELECT * FROM inkling_migrations`;
        const error: StoreError = await open().catch((reason) => reason);
        expect(error).toMatchObject({ name: "StoreError", code: "NEWER" });
        expect(error.message).toContain("development version of Inkling (tables at version 20)");
        expect(error.hint).not.toBe("");
        expect([...(await sql`SELECT * FROM inkling_migrations`)]).toEqual([...before]);
        await sql.close();
      });
    });

    test("calls after close fail, and closing twice is fine", async () => {
      const store = await open();
      await store.close();
      expect(await codeOf(store.ping())).toBe("UNREACHABLE");
      await store.close();
      if (backend.name === "postgres")
        tried(import.meta.path, "PostgreSQL", postgres.version, "the database: every operation of the store");
    });
  });
}
