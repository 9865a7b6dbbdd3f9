// group-limits.test.ts: tests that several servers with one PostgreSQL keep one rate and one quota together, even
// without the database.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { parseNewKey } from "../../../packages/server/src/keys/key-input.ts";
import type { LeaseWish } from "../../../packages/server/src/leases/group.ts";
import { LeaseTables } from "../../../packages/server/src/leases/tables.ts";
import type { ServerOptions } from "../../../packages/server/src/server.ts";
import { openStore } from "../../../packages/server/src/store/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { startGroupHost } from "../../harness/server.ts";
import { TcpProxy } from "../../harness/tcp-proxy.ts";
import { until } from "../../harness/until.ts";

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await postgres?.close();
});

async function host(databaseUrl: string, over: Partial<ServerOptions> = {}) {
  const started = await startGroupHost(databaseUrl, over);
  cleanUps.push(() => started.server.stop());
  return started;
}

async function issue(url: string, over: object) {
  const store = await openStore(url);
  cleanUps.push(() => store.close());
  return { store, ...(await store.createKey(parseNewKey({ name: "shop", ...over }, 0))) };
}

test.concurrent.each([1, 2])(
  "a quota of three servers is used up to the last, and not exceeded; workers: %i",
  async (workers) => {
    const url = await postgres.freshDatabase();
    const { store, key, token } = await issue(url, { quota: 500 });
    const hosts = [await host(url, { workers }), await host(url), await host(url)];
    let allowed = 0;
    let spent = 0;
    await until(async () => {
      const statuses = await Promise.all(
        hosts.flatMap(({ lookUp }, i) =>
          Array.from({ length: 3 * (i + 1) }, async () => (await lookUp(token)).status),
        ),
      );
      allowed += statuses.filter((status) => status === 200).length;
      spent = statuses.every((status) => status === 429) ? spent + 1 : 0;
      if (spent > 0) await Bun.sleep(100);
      return spent >= 30;
    });
    expect(allowed).toBe(500);
    for (const { server } of hosts) await server.stop();
    const used = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
    const lookups = used
      .filter(({ lookup }) => lookup === "geolocate")
      .reduce((sum, { count }) => sum + count, 0);
    expect(lookups).toBe(500);
  },
);

// Runs alone. If its process were busy for longer than a host may be silent, that would be a second cut.
test("a rate of three servers is never exceeded, and used: with the database, without it, and again with it", async () => {
  const url = await postgres.freshDatabase();
  const rate = 100;
  const burst = 200;
  const { token } = await issue(url, { rate, burst });
  const proxy = await TcpProxy.to(postgres.port);
  cleanUps.push(() => proxy.stop());
  const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const hosts = [await host(through), await host(through), await host(through)];
  await until(async () =>
    (await Promise.all(hosts.map(({ metric }) => metric("inkling_group_hosts")))).every((n) => n === 3),
  );
  const started = performance.now();
  let allowed = 0;
  const seconds = () => (performance.now() - started) / 1_000;
  const load = async (isDone: () => boolean) => {
    while (!isDone()) {
      const statuses = await Promise.all(
        hosts.flatMap(({ lookUp }, i) =>
          Array.from({ length: 2 * i + 2 }, async () => (await lookUp(token)).status),
        ),
      );
      allowed += statuses.filter((status) => status === 200).length;
      expect(allowed).toBeLessThanOrEqual(burst + rate * seconds());
      await Bun.sleep(15);
    }
  };
  await load(() => allowed > 500);
  proxy.cut();
  await load(() => hosts.every(({ events }) => events("group-away").length === 1));
  const before = allowed;
  await load(() => allowed > before + 200);
  expect(await hosts[0]!.metric("inkling_group_away")).toBe(1);
  for (const { events } of hosts)
    expect(events("group-away")).toMatchObject([
      { effect: "this host may use 1/hosts of each rate, and its shares of the quotas" },
    ]);
  proxy.mend();
  await load(() => hosts.every(({ events }) => events("group-back").length === 1));
  const after = allowed;
  await load(() => allowed > after + 200);
});

test("a key can be used as soon as it is in force, and a server that stops leaves the group", async () => {
  const url = await postgres.freshDatabase();
  const hosts = [await host(url), await host(url)];
  await until(async () => (await hosts[0]!.metric("inkling_group_hosts")) === 2);
  const { token } = await issue(url, { rate: 10, burst: 20, quota: 100 });
  for (const { lookUp } of hosts) {
    let status = 401;
    await until(async () => {
      status = (await lookUp(token)).status;
      return status !== 401;
    });
    expect(status).toBe(200);
  }
  await hosts[1]!.server.stop();
  await until(async () => (await hosts[0]!.metric("inkling_group_hosts")) === 1);
});

/** Returns the request of a host without tokens for a key with this burst, which does not refill during a test. */
const wishFor = (keyId: string, burst: number, want: number): LeaseWish => ({
  keyId,
  isInUse: true,
  rate: { rate: 1e-6, burst, held: 0, alone: 0, want },
});

async function openTables(url: string) {
  const store = await openStore(url);
  cleanUps.push(() => store.close());
  return store.tables;
}

test("hosts that exchange the same keys at once, in any order: none waits in a ring, each token is given once, and none is lost", async () => {
  const url = await postgres.freshDatabase();
  const hosts: LeaseTables[] = [];
  for (let i = 0; i < 6; i++) hosts.push(new LeaseTables(await openTables(url), `h${i}`));
  const [burst, keys] = [60, Array.from({ length: 40 }, (_, i) => `key_${i}`)];
  const given = new Map<string, number>();
  const failures: unknown[] = [];
  // Each host takes more in steps: 10 of each key.
  const take = async (host: LeaseTables, order: readonly string[]) => {
    const held = new Map<string, number>();
    for (let round = 0; round < 10; round++) {
      const wishes = order.map((keyId) => {
        const wish = wishFor(keyId, burst, 1);
        return { ...wish, rate: { ...wish.rate!, held: held.get(keyId) ?? 0 } };
      });
      const { grants } = await host.exchange({ confirmed: undefined, wishes });
      for (const { keyId, rate } of grants) {
        held.set(keyId, (held.get(keyId) ?? 0) + rate!.grant);
        given.set(keyId, (given.get(keyId) ?? 0) + rate!.grant);
      }
    }
  };
  const orders = [keys, keys.toReversed(), keys.toSorted((a, b) => (a < b ? 1 : -1))];
  const work = hosts.map((host, i) => take(host, orders[i % 3]!).catch((error) => failures.push(error)));
  await Promise.all(work);
  expect(failures).toEqual([]);
  for (const keyId of keys) expect(given.get(keyId)).toBeGreaterThan(0);
  expect(Math.max(...given.values())).toBeLessThanOrEqual(burst);
  // The rest is still available to a host that is the only one to ask. Hosts that were silent for two seconds, as on a
  // slow machine, may have used a millionth of a token on their own. Then one token fewer is granted.
  const { grants } = await new LeaseTables(await openTables(url), "last").exchange({
    confirmed: undefined,
    wishes: keys.map((keyId) => wishFor(keyId, burst, burst)),
  });
  for (const { keyId, rate } of grants) expect([burst - 1, burst]).toContain(rate!.grant + given.get(keyId)!);
  expect(grants).toHaveLength(keys.length);
});

test("an exchange is a statement that reads and one that writes, and one more of each where another host was quicker", async () => {
  const url = await postgres.freshDatabase();
  const tables = await openTables(url);
  const other = new LeaseTables(await openTables(url), "other");
  const host = new LeaseTables(tables, "host");
  const one = { confirmed: undefined, wishes: [wishFor("key_a", 10, 1)] };
  await host.exchange(one);
  await other.exchange(one);
  const sent: string[] = [];
  let meanwhile: (() => Promise<unknown>) | undefined;
  const { read, writeOnce } = tables;
  tables.read = async (work) => {
    sent.push("read");
    const rows = await read.call(tables, work);
    await meanwhile?.();
    meanwhile = undefined;
    return rows as Awaited<ReturnType<typeof work>>;
  };
  tables.writeOnce = (work) => {
    sent.push("write");
    return writeOnce.call(tables, work) as ReturnType<typeof work>;
  };
  tables.write = () => {
    throw new Error("no transaction of several statements");
  };
  expect((await host.exchange(one)).grants).toMatchObject([{ rate: { grant: 1 } }]);
  expect(sent.splice(0)).toEqual(["read", "write"]);
  meanwhile = () => other.exchange({ ...one, wishes: [wishFor("key_a", 10, 6)] });
  // 9 of 10 tokens are used by then.
  expect((await host.exchange({ ...one, wishes: [wishFor("key_a", 10, 9)] })).grants).toMatchObject([
    { rate: { grant: 1 } },
  ]);
  expect(sent.splice(0)).toEqual(["read", "write", "read", "write"]);
});

test.concurrent("a row that somebody keeps locked: the exchange fails within seconds, and leaves nothing behind that waits", async () => {
  const url = await postgres.freshDatabase();
  const host = new LeaseTables(await openTables(url), "host");
  const request = (keyId: string) => ({ confirmed: undefined, wishes: [wishFor(keyId, 10, 1)] });
  await host.exchange(request("key_a"));
  await using locker = new SQL(url, { max: 1 });
  const locked = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const holding = locker.begin(async (tx) => {
    await tx`SELECT 1 FROM inkling_leases WHERE key_id = 'key_a' FOR UPDATE`;
    locked.resolve();
    await done.promise;
  });
  await locked.promise;
  await expect(host.exchange(request("key_a"))).rejects.toThrow("lock timeout");
  expect((await host.exchange(request("key_b"))).grants).toHaveLength(1);
  done.resolve();
  await holding;
  expect((await host.exchange(request("key_a"))).grants).toHaveLength(1);
});

test.concurrent("the log of a host that never reached the database: no share", async () => {
  const { events } = await host("postgres://nobody@127.0.0.1:1/nothing");
  await until(() => events("group-away").length > 0);
  expect(events("group-away")).toMatchObject([{ effect: "this host has no share of any key's limits yet" }]);
});
