// group-limits.test.ts: several servers on one PostgreSQL keep one rate and one quota together, also without the database.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { parseNewKey } from "../packages/server/src/keys/key-input.ts";
import type { ServerOptions } from "../packages/server/src/server.ts";
import { openStore } from "../packages/server/src/store/store.ts";
import { startGroupHost } from "./group-host.ts";
import { Postgres } from "./postgres.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import { until } from "./until.ts";

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => postgres?.close());

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

test.each([1, 2])(
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
