// pgbouncer.test.ts: tests several servers behind PgBouncer in transaction mode, if it is installed. Nothing may depend
// on keeping the same connection.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { HAS_PGBOUNCER, PGBOUNCER_VERSION, startPgBouncer } from "../../harness/pgbouncer.ts";
import { Postgres } from "../../harness/postgres.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { FLAG_ADDRESS, startGroupHost } from "../../harness/server.ts";
import { until } from "../../harness/until.ts";

const behindPgBouncer = HAS_PGBOUNCER
  ? test.concurrent
  : (name: string, _: unknown) => test.skip(`${name}: needs PgBouncer (apt-get install pgbouncer)`, () => {});

const POOL_SIZE = 3;
let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  if (HAS_PGBOUNCER) postgres = await Postgres.create();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await postgres?.close();
});

/** Starts hosts with a new database, all behind one pooler. */
async function hostsBehind(count: number, server = postgres) {
  const direct = await server.freshDatabase();
  const pooler = await startPgBouncer(server.port, POOL_SIZE);
  cleanUps.push(() => pooler.stop());
  const url = direct.replace(`:${server.port}/`, `:${pooler.port}/`);
  // All start at once, so they create the tables together.
  const hosts = await Promise.all(Array.from({ length: count }, () => startGroupHost(url)));
  for (const { server } of hosts) cleanUps.push(() => server.stop());
  const store = await openStore(direct);
  cleanUps.push(() => store.close());
  return { hosts, store };
}

behindPgBouncer("changes arrive by checks, and the log and a metric name what is missing", async () => {
  const { hosts, store } = await hostsBehind(3);
  const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  for (const { status } of hosts) await until(async () => (await status(token)) === 200);
  await store.overrides.put([FLAG_ADDRESS], { author: "test", source: "cli" });
  for (const { isAbuser } of hosts) await until(() => isAbuser(token));
  await store.revokeKey(key.id);
  for (const { status } of hosts) await until(async () => (await status(token)) === 401);
  for (const { events, metric } of hosts) {
    await until(() => events("notices-missing").length > 0);
    expect(events("notices-missing")[0].reason).toContain("PgBouncer in transaction mode");
    expect(await metric("inkling_notices_listening")).toBe(0);
    expect(events("notices-listening")).toEqual([]);
  }
});

behindPgBouncer("a quota of three servers is used up, a rate is kept, and usage adds up", async () => {
  const { hosts, store } = await hostsBehind(3);
  const quota = 300;
  const { key, token } = await store.createKey(parseNewKey({ name: "shop", quota }, 0));
  for (const { status } of hosts) await until(async () => (await status(token)) !== 401);
  const first = hosts.length; // the hosts so far
  let allowed = first;
  let spent = 0;
  await until(async () => {
    const requests = hosts.flatMap(({ status }, i) =>
      Array.from({ length: 3 * (i + 1) }, () => status(token)),
    );
    const statuses = await Promise.all(requests);
    allowed += statuses.filter((status) => status === 200).length;
    spent = statuses.every((status) => status === 429) ? spent + 1 : 0;
    if (spent > 0) await Bun.sleep(100);
    return spent >= 20;
  });
  // Each server learns what the others used when they write their usage (group-limits.test.ts).
  expect(allowed).toBeGreaterThanOrEqual(quota);
  const limited = await store.createKey(parseNewKey({ name: "rated", rate: 50, burst: 100 }, 0));
  const started = performance.now();
  let taken = 0;
  await until(async () => {
    const statuses = await Promise.all(hosts.map(({ status }) => status(limited.token)));
    taken += statuses.filter((status) => status === 200).length;
    expect(taken).toBeLessThanOrEqual(100 + (50 * (performance.now() - started)) / 1_000);
    return taken > 200;
  });
  for (const { server } of hosts) await server.stop();
  const used = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
  const sum = (lookup: string) =>
    used.filter((one) => one.lookup === lookup).reduce((total, { count }) => total + count, 0);
  expect(sum("geolocate")).toBe(allowed);
});

behindPgBouncer(
  "PostgreSQL unreachable behind it: servers answer, and are a group again when it is back",
  async () => {
    const own = await Postgres.create();
    cleanUps.push(() => own.close());
    const { hosts, store } = await hostsBehind(2, own);
    const { token } = await store.createKey(parseNewKey({ name: "shop", rate: 100, burst: 200 }, 0));
    for (const { status } of hosts) await until(async () => (await status(token)) === 200);
    await own.kill();
    for (const { events } of hosts) {
      await until(() => events("group-unreachable").length > 0 && events("database-unreachable").length > 0);
    }
    for (const { status, ready } of hosts) {
      expect([await status(token), await ready()]).toEqual([200, 200]);
    }
    await own.start();
    for (const { events } of hosts) {
      await until(() => events("group-back").length > 0 && events("database-back").length > 0);
    }
    const made = await store.createKey(parseNewKey({ name: "later" }, 0));
    for (const { status } of hosts) await until(async () => (await status(made.token)) === 200);
    const what = "several hosts on PostgreSQL, in transaction mode";
    tried(import.meta.path, "PgBouncer", PGBOUNCER_VERSION, what);
  },
);
