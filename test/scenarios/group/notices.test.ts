// notices.test.ts: tests that several servers with one PostgreSQL learn of each other's changes at once, without
// waiting for a check. If notices do not arrive, checks find the changes. A server that has lost the database for too
// long refuses keys.

import { afterAll, beforeAll, expect, jest, test } from "bun:test";
import { type EventLog, recordOf } from "@inkling/contract";
import { SQL } from "bun";
import { clockProblem } from "../../../packages/cli/src/runtime/doctor-checks.ts";
import type { ServerOptions } from "../../../packages/server/src/run/server.ts";
import type { Database } from "../../../packages/store/src/database.ts";
import { NOTICED } from "../../../packages/store/src/database.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { NoticeListener } from "../../../packages/store/src/notices.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { FLAG_ADDRESS, startGroupHost } from "../../harness/server.ts";
import { TcpProxy } from "../../harness/tcp-proxy.ts";
import { until } from "../../harness/until.ts";

/** An interval so long that no test waits for a check. */
const NEVER_MS = 3_600_000;

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await postgres?.close();
});

async function storeOf(databaseUrl: string): Promise<Store> {
  const store = await openStore(databaseUrl, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  return store;
}

async function host(databaseUrl: string, over: Partial<ServerOptions> = {}) {
  const started = await startGroupHost(databaseUrl, { checkMs: NEVER_MS, ...over });
  cleanUps.push(() => started.server.stop());
  return started;
}

const listens = (server: Awaited<ReturnType<typeof host>>) =>
  until(() => server.events("notices-listening").length > 0);

async function issue(store: Store) {
  return store.createKey(parseNewKey({ name: "shop" }, 0));
}

/** Notes the states that the log names. */
const logInto = (states: string[]): EventLog => ({
  info: () => void states.push("listening"),
  error: () => void states.push("polling"),
});

test.concurrent.each([1, 2])(
  "a key that is made or revoked, and an override, without a check; workers: %i",
  async (workers) => {
    const url = await postgres.freshDatabase();
    const store = await storeOf(url);
    const hosts = [await host(url, { workers }), await host(url)];
    for (const server of hosts) await listens(server);
    const { key, token } = await issue(store);
    for (const server of hosts) await until(async () => (await server.status(token)) === 200);
    for (const server of hosts) expect(await server.isAbuser(token)).toBe(false);
    await store.overrides.put([FLAG_ADDRESS], { author: "test", source: "cli" });
    for (const server of hosts) await until(async () => await server.isAbuser(token));
    await store.revokeKey(key.id);
    for (const server of hosts) await until(async () => (await server.status(token)) === 401);
    expect(await Promise.all(hosts.map((server) => server.metric("inkling_notices_listening")))).toEqual([
      1, 1,
    ]);
  },
);

test.concurrent("a connection that ends is made anew, and what changed in between is found", async () => {
  const url = await postgres.freshDatabase();
  const store = await storeOf(url);
  const proxy = await TcpProxy.to(postgres.port);
  cleanUps.push(() => proxy.stop());
  const server = await host(url.replace(`:${postgres.port}/`, `:${proxy.port}/`));
  await listens(server);
  const { key, token } = await issue(store);
  await until(async () => (await server.status(token)) === 200);
  // Uses the metric, because the log reports an unstable connection only once an hour.
  const isListening = async () => (await server.metric("inkling_notices_listening")) === 1;
  proxy.cut();
  await until(async () => !(await isListening()));
  await store.revokeKey(key.id);
  expect(await server.status(token)).toBe(200);
  proxy.mend();
  await until(isListening);
  expect(server.events("notices-missing").length).toBeGreaterThan(0);
  await until(async () => (await server.status(token)) === 401);
});

// Runs alone. If its process were busy for a second, the connection would count as silent again.
test("a connection that falls silent is found by a notice to itself, and made anew", async () => {
  const url = await postgres.freshDatabase();
  const direct = await storeOf(url);
  const proxy = await TcpProxy.to(postgres.port);
  cleanUps.push(() => proxy.stop());
  const store = await openStore(url.replace(`:${postgres.port}/`, `:${proxy.port}/`), { timeoutMs: 1_000 });
  cleanUps.push(() => store.close());
  const received: string[] = [];
  const states: string[] = [];
  const listener = store.listen({
    live: recordOf(NOTICED, (noticed) => ({ refresh: async () => received.push(noticed) })),
    log: logInto(states),
    probeMs: 20,
    probeTimeoutMs: 1_000,
    firstRetryMs: 20,
  });
  cleanUps.push(() => listener.stop());
  await listener.start();
  expect([states, received]).toEqual([["listening"], [...NOTICED]]);
  proxy.isSilent = true;
  await until(() => listener.state === "polling");
  proxy.mend();
  await until(() => listener.state === "listening");
  expect(states).toEqual(["listening", "polling", "listening"]);
  received.length = 0;
  await issue(direct);
  await until(() => received.includes("keys"));
});

test("notices that come and go, or stay away, are reported once an hour; the state is always the true one", async () => {
  let now = 0;
  let take = (_: string) => {};
  let end = () => {};
  let isDropping = false;
  const database = {
    isShared: true,
    connectForNotices: (onEnd: () => void) => {
      end = onEnd;
      return {
        listen: async (_: string, onText: (text: string) => void) => {
          take = onText;
        },
        close: async () => {},
      };
    },
    run: async (act: (sql: (...parts: unknown[]) => void) => void) =>
      act((_, __, id) => {
        if (!isDropping) take(String(id));
      }),
    errorFrom: (error: Error) => error,
  } as unknown as Database;
  const states: string[] = [];
  const listener = new NoticeListener(database, {
    live: recordOf(NOTICED, () => ({ refresh: async () => {} })),
    log: logInto(states),
    elapsed: () => now,
    firstRetryMs: 1,
    probeTimeoutMs: 1,
    probeMs: 3_600_000,
  });
  cleanUps.push(() => listener.stop());
  await listener.start();
  const comeAndGo = async (times: number, ms: number) => {
    for (let n = 0; n < times; n++) {
      await until(() => listener.state === "listening");
      now += ms;
      end();
      expect(listener.state).toBe("polling");
    }
  };
  await comeAndGo(20, 5_000);
  expect(states).toEqual(["listening", "polling", "listening"]);
  await comeAndGo(2, 61_000); // each connection worked for a minute
  await until(() => listener.state === "listening");
  expect(states.slice(3)).toEqual(["polling", "listening", "polling", "listening"]);
  now += 61_000;
  isDropping = true;
  end();
  const tries = jest.spyOn(database, "connectForNotices");
  await until(() => tries.mock.calls.length >= 3);
  expect(states.slice(7)).toEqual(["polling"]);
  now += 3_600_000;
  await until(() => states.length === 9);
  expect(states.at(-1)).toBe("polling");
});

test.concurrent("where a pooler drops notices, checks find changes, and the log and a metric name it", async () => {
  const url = await postgres.freshDatabase();
  const store = await storeOf(url);
  const proxy = await TcpProxy.to(postgres.port);
  cleanUps.push(() => proxy.stop());
  proxy.dropsNotices = true;
  const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const server = await host(through, { checkMs: 20 });
  const { key, token } = await issue(store);
  await until(async () => (await server.status(token)) === 200);
  await store.revokeKey(key.id);
  await until(async () => (await server.status(token)) === 401);
  await until(() => server.events("notices-missing").length === 1);
  expect(server.events("notices-missing")[0].reason).toContain("PgBouncer in transaction mode");
  expect(server.events("notices-listening")).toEqual([]);
  expect(await server.metric("inkling_notices_listening")).toBe(0);
  expect(clockProblem(-60_000)).toBeUndefined();
  expect(clockProblem(3_600_000)).toMatchObject({
    state: "problem",
    found: expect.stringContaining("3600 s ahead"),
  });
});

test.concurrent("usage is counted without a notice", async () => {
  const url = await postgres.freshDatabase();
  const store = await storeOf(url);
  const server = await host(url);
  const { key, token } = await issue(store);
  const received: string[] = [];
  const sql = new SQL(url, { max: 1 });
  cleanUps.push(() => sql.close());
  await until(async () => (await server.status(token)) === 200);
  await sql.listen("inkling_notices", (text) => received.push(text));
  for (let i = 0; i < 20; i++) expect(await server.status(token)).toBe(200);
  await until(async () => {
    const used = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
    return used.reduce((sum, { count }) => sum + count, 0) >= 21;
  });
  await store.revokeKey(key.id); // the connection receives notices
  await until(() => received.includes("keys"));
  expect(received.filter((text) => text === "keys" || text === "overrides")).toEqual(["keys"]);
});

test.concurrent.each([1, 2])(
  "without the database for INKLING_MAX_STALE_SECONDS every key is refused, until it is back; workers: %i",
  async (workers) => {
    const url = await postgres.freshDatabase();
    const store = await storeOf(url);
    const { token } = await issue(store);
    const proxy = await TcpProxy.to(postgres.port);
    cleanUps.push(() => proxy.stop());
    const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const server = await host(through, { workers, maxStaleSeconds: 5, checkMs: 100 });
    const patient = await host(through, { checkMs: 100 });
    expect([await server.status(token), await patient.status(token)]).toEqual([200, 200]);
    proxy.cut();
    await until(async () => (await server.status(token)) === 503);
    expect(await (await server.lookUp(token)).json()).toMatchObject({
      code: "KEYS_NOT_LOADED",
      detail: expect.stringContaining("INKLING_MAX_STALE_SECONDS"),
    });
    expect(await server.ready()).toBe(503);
    expect(await server.metric("inkling_keys_stale")).toBe(1);
    expect(server.events("keys-stale").at(-1)).toMatchObject({ level: "error", seconds: 5 });
    expect([await patient.status(token), await patient.ready()]).toEqual([200, 200]);
    proxy.mend();
    await until(async () => (await server.status(token)) === 200);
    expect([await server.ready(), await server.metric("inkling_keys_stale")]).toEqual([200, 0]);
  },
);
