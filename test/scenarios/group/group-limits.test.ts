// group-limits.test.ts: tests that several servers with one PostgreSQL keep one rate and one quota together, as exactly
// as their exchanges allow (limits/group-counts.ts), and each of them alone as with SQLite.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { LimitCells } from "../../../packages/server/src/limits/cells.ts";
import { GroupCounts, type GroupRequest } from "../../../packages/server/src/limits/group-counts.ts";
import { GroupExchange } from "../../../packages/server/src/limits/group-exchange.ts";
import { GroupTables } from "../../../packages/server/src/limits/group-tables.ts";
import type { ServerOptions } from "../../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { SMALL_NETWORK, temporaryFolder } from "../../harness/release.ts";
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
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  return { store, ...(await store.createKey(parseNewKey({ name: "shop", ...over }, 0))) };
}

/** Sends a JSON batch of this many addresses. @returns how many were answered, and the codes of the others */
async function batch(port: number, token: string, values: number) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/ip-intel/geolocate`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ values: new Array(values).fill(SMALL_NETWORK.replace("0/24", "142")) }),
  });
  const { answers = [], code }: { answers?: { code?: string }[]; code?: string } = JSON.parse(
    await response.text(),
  );
  const codes = answers.flatMap((answer) => answer.code ?? []);
  return { answered: answers.length - codes.length, codes: [...new Set([...codes, code ?? []].flat())] };
}

const hostCount = (started: Awaited<ReturnType<typeof host>>) => started.metric("inkling_group_hosts");

test.concurrent.each([
  [1, "rate", { rate: 1_000, burst: 2_000 }, [1_000]],
  [2, "rate", { rate: 1_000, burst: 2_000 }, [1_000]],
  [1, "a small rate", { rate: 0.01, burst: 20 }, [5, 10, 10]],
  [1, "a quota", { rate: 0, quota: 5_000 }, [8, 1_000, 4_500]],
])(
  "a cold burst on one idle host is answered as with SQLite; workers: %i, %s",
  async (workers, _, limits, sizes) => {
    const answers: unknown[][] = [];
    for (const url of [await postgres.freshDatabase(), `sqlite://${temporaryFolder()}/inkling.db`]) {
      const { token } = await issue(url, limits);
      const { server } = await host(url, { workers });
      const results: unknown[] = [];
      for (const size of sizes) results.push(await batch(server.port, token, size));
      answers.push(results);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]![0]).toMatchObject({ answered: sizes[0], codes: [] });
  },
);

test.concurrent("a cold burst on three idle hosts: none is refused, and what was too much is owed", async () => {
  const url = await postgres.freshDatabase();
  const { token } = await issue(url, { rate: 10, burst: 200 });
  const hosts = [await host(url), await host(url), await host(url)];
  for (const { lookUp } of hosts) expect((await lookUp(token)).status).toBe(200);
  await Bun.sleep(1_000);
  const first = await Promise.all(hosts.map(({ server }) => batch(server.port, token, 50)));
  expect(first.map(({ answered }) => answered)).toEqual([50, 50, 50]);
  // Half of the burst is left on each host, and all hosts use it at the same time.
  await Bun.sleep(1_500);
  await Promise.all(hosts.map(({ server }) => batch(server.port, token, 150)));
  // After an exchange, each host owes what the others took.
  for (const { lookUp } of hosts)
    await until(async () => Number((await lookUp(token)).headers.get("Retry-After")) > 5);
});

test.concurrent.each([1, 2])(
  "a quota of three servers is used up, and stays used up on a server that joins; workers: %i",
  async (workers) => {
    const url = await postgres.freshDatabase();
    const { store, key, token } = await issue(url, { quota: 500, rate: 0 });
    const hosts = [await host(url, { workers }), await host(url), await host(url)];
    let allowed = 0;
    let spent = 0;
    await until(async () => {
      const statuses = await Promise.all(
        hosts.flatMap(({ lookUp }, i) =>
          Array.from({ length: i + 1 }, async () => (await lookUp(token)).status),
        ),
      );
      allowed += statuses.filter((status) => status === 200).length;
      spent = statuses.every((status) => status === 429) ? spent + 1 : 0;
      await Bun.sleep(50);
      return spent >= 30;
    });
    expect(allowed).toBeGreaterThanOrEqual(500);
    const joined = await host(url);
    expect((await joined.lookUp(token)).status).toBe(429);
    for (const { server } of hosts) await server.stop();
    const used = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
    const lookups = used
      .filter(({ lookup }) => lookup === "geolocate")
      .reduce((sum, { count }) => sum + count, 0);
    expect(lookups).toBe(allowed);
  },
);

test("a rate of three servers is kept with the database, and again with it; without it, each server uses its own count", async () => {
  const url = await postgres.freshDatabase();
  const rate = 100;
  const burst = 200;
  const { token } = await issue(url, { rate, burst });
  const proxy = await TcpProxy.to(postgres.port);
  cleanUps.push(() => proxy.stop());
  const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const hosts = [await host(through), await host(through), await host(through)];
  let allowed = 0;
  let refused = 0;
  const load = async (isDone: () => boolean) => {
    while (!isDone()) {
      const statuses = await Promise.all(
        hosts.flatMap(({ lookUp }, i) =>
          Array.from({ length: 2 * i + 2 }, async () => (await lookUp(token)).status),
        ),
      );
      allowed += statuses.filter((status) => status === 200).length;
      refused += statuses.filter((status) => status === 429).length;
      await Bun.sleep(15);
    }
  };
  const started = performance.now();
  await load(() => refused > 500);
  // each host may use one burst, and twice what it gains between two exchanges
  expect(allowed).toBeLessThan(4 * burst + (rate * (performance.now() - started)) / 1_000 + 3 * rate);
  proxy.cut();
  await load(() => hosts.every(({ events }) => events("group-unreachable").length === 1));
  expect(await hosts[0]!.metric("inkling_group_unreachable")).toBe(1);
  for (const { events } of hosts)
    expect(events("group-unreachable")).toMatchObject([
      { effect: "this host uses only its own count for each key's rate" },
    ]);
  proxy.mend();
  await load(() => hosts.every(({ events }) => events("group-back").length === 1));
  const after = allowed;
  await load(() => allowed > after + 200);
});

test("a key can be used as soon as it is in force, and a server that stops leaves the group", async () => {
  const url = await postgres.freshDatabase();
  const hosts = [await host(url), await host(url)];
  await until(async () => (await hostCount(hosts[1]!)) === 2);
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
  await until(async () => {
    await hosts[0]!.lookUp(token); // a host with traffic exchanges more often
    return (await hostCount(hosts[0]!)) === 1;
  });
});

async function openTables(url: string) {
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  return store.database;
}

const request = (sequence: number, taken: GroupRequest["taken"], since = Date.now()): GroupRequest => ({
  sequence,
  since,
  taken,
});

test.concurrent("hosts that exchange the same keys at once, in any order: none waits in a ring, and no count is lost or doubled", async () => {
  const url = await postgres.freshDatabase();
  const keys = Array.from({ length: 40 }, (_, i) => `key_${String(i).padStart(2, "0")}`);
  const tables = await Promise.all(Array.from({ length: 6 }, () => openTables(url)));
  const work = tables.map(async (each, i) => {
    const host = new GroupTables(each, `h${i}`);
    for (let sequence = 1; sequence <= 20; sequence++) {
      const taken = keys.map((keyId): [string, number] => [keyId, i + 1]);
      const { totals } = await host.exchange(request(sequence, taken));
      expect(totals.size).toBe(keys.length);
      if (sequence % 3 === 0) await host.exchange(request(sequence, taken)); // the answer was lost
    }
  });
  await Promise.all(work);
  const { totals } = await new GroupTables(tables[0]!, "last").exchange(
    request(
      1,
      keys.map((keyId) => [keyId, 0]),
    ),
  );
  expect([...totals.values()]).toEqual(keys.map(() => 20 * (1 + 2 + 3 + 4 + 5 + 6)));
});

test.concurrent("an exchange is one statement, counts of a process that starts again count, and late counts say so", async () => {
  const url = await postgres.freshDatabase();
  const tables = await openTables(url);
  let sent = 0;
  const { run } = tables;
  const host = new GroupTables(tables, "host");
  await host.exchange(request(1, []));
  tables.run = (work) => {
    sent++;
    return run.call(tables, work) as ReturnType<typeof work>;
  };
  expect((await host.exchange(request(2, [["key_a", 3]]))).totals).toEqual(new Map([["key_a", 3]]));
  expect(sent).toBe(1);
  const again = new GroupTables(tables, "host");
  const answer = await again.exchange(request(1, [["key_a", 2]]));
  expect(answer).toMatchObject({ totals: new Map([["key_a", 5]]), lateMs: 0, hosts: 1 });
  const other = new GroupTables(tables, "other");
  await other.exchange(request(1, []));
  await other.exchange(request(2, [["key_a", 1]], answer.now - 5_000));
  const { lateMs, hosts } = await again.exchange(request(2, [["key_a", 0]]));
  expect(hosts).toBe(2);
  expect(lateMs).toBeGreaterThanOrEqual(5_000);
  expect((await other.exchange(request(3, []))).lateMs).toBe(0);
});

test.concurrent("a row that somebody keeps locked: the exchange fails within seconds, and leaves nothing behind that waits", async () => {
  const url = await postgres.freshDatabase();
  const host = new GroupTables(await openTables(url), "host");
  await host.exchange(request(1, [["key_a", 1]]));
  await using locker = new SQL(url, { max: 1 });
  const locked = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const holding = locker.begin(async (tx) => {
    await tx`SELECT 1 FROM inkling_group_counts WHERE key_id = 'key_a' FOR UPDATE`;
    locked.resolve();
    await done.promise;
  });
  await locked.promise;
  await expect(host.exchange(request(2, [["key_a", 1]]))).rejects.toThrow("lock timeout");
  const other = new GroupTables(await openTables(url), "other");
  expect((await other.exchange(request(1, [["key_b", 1]]))).totals.size).toBe(1);
  done.resolve();
  await holding;
  expect((await host.exchange(request(2, [["key_a", 1]]))).totals).toEqual(new Map([["key_a", 2]]));
});

test.concurrent("a host that cannot reach the database says so, and a host without traffic sends one statement in ten seconds", async () => {
  const { events } = await host("postgres://nobody@127.0.0.1:1/nothing");
  await until(() => events("group-unreachable").length > 0);
  expect(events("group-unreachable")).toMatchObject([
    { effect: "this host uses only its own count for each key's rate" },
  ]);
  const clock = { elapsed: 0 };
  let statements = 0;
  const exchange = new GroupExchange({
    counts: new GroupCounts(new LimitCells(0), () => undefined),
    source: {
      exchange: async () => {
        statements++;
        return { now: 0, totals: new Map(), lateMs: 0, hosts: 1, lowQuotas: new Map() };
      },
      leave: async () => {},
    },
    keyCells: { takeUsed: () => new Set<string>(), takeStored: () => {} },
    elapsed: () => clock.elapsed,
    now: () => clock.elapsed,
  });
  await exchange.look();
  for (; clock.elapsed < 100_000; clock.elapsed += 100) await exchange.look();
  expect(statements).toBe(10);
});
