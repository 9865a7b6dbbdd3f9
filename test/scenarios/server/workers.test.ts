// Tests a server with several worker threads on one port: shared state, a worker that throws or is stuck, and shutdown.

import { afterEach, describe, expect, test } from "bun:test";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { SMALL_NETWORK, smallDomain, smallFlag, smallRelease } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { FULL } from "../../harness/share.ts";
import { onSignal } from "../../harness/thread-faults.ts";
import { until } from "../../harness/until.ts";

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const GEOLOCATE = `/v1/ip-intel/geolocate/${ADDRESS}`;
const WORKERS = 2;

class Server extends ServerProgram {
  /**
   * Sends requests on many connections at once until `signal` is aborted. Each connection continues after an
   * error.
   */
  async load(signal: AbortSignal): Promise<{ ok: number; failed: number; other: number }> {
    const seen = { ok: 0, failed: 0, other: 0 };
    const client = async () => {
      while (!signal.aborted) {
        try {
          const response = await fetch(`http://127.0.0.1:${this.port}${GEOLOCATE}`, {
            headers: { Authorization: `Bearer ${this.token}` },
          });
          await response.arrayBuffer();
          if (response.status === 200) seen.ok++;
          else seen.other++;
        } catch {
          seen.failed++;
          await Bun.sleep(5);
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return seen;
  }
}

const CLIENTS = 8;

const running: Server[] = [];
function start(env: Record<string, string> = {}): Promise<Server> {
  const server = new Server({ env });
  running.push(server);
  return server.ready();
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.kill();
});

async function keyWith(
  store: Store,
  limits: Record<string, unknown>,
): Promise<{ token: string; id: string }> {
  const { key, token } = await store.createKey(parseNewKey({ name: "test", ...limits }, Date.now()));
  return { token, id: key.id };
}

async function withStore<T>({ databaseUrl }: Server, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(databaseUrl);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const linux = process.platform === "linux" ? describe : describe.skip;

linux("several workers", () => {
  test("share limits, quotas, usage and metrics", async () => {
    const server = await start();
    const [limited, quota] = await withStore(server, async (store) => [
      await keyWith(store, { rate: 1, burst: 60 }),
      await keyWith(store, { quota: 50 }),
    ]);
    await server.everywhere("/v1/status", ({ status }) => status === 200, quota!.token);
    const allow = async (token: string, requests: number) => {
      const statuses = await Promise.all(
        Array.from({ length: requests }, async () => (await server.get(GEOLOCATE, token)).status),
      );
      return {
        allowed: statuses.filter((status) => status === 200).length,
        refused: statuses.filter((status) => status === 429).length,
      };
    };

    const from = Date.now();
    const rated = await allow(limited!.token, 200);
    const seconds = (Date.now() - from) / 1_000;
    expect(rated.allowed).toBeGreaterThanOrEqual(60);
    expect(rated.allowed).toBeLessThanOrEqual(60 + seconds);
    expect(rated.allowed + rated.refused).toBe(200);

    expect(await allow(quota!.token, 120)).toEqual({ allowed: 50, refused: 70 });
    const last = await server.get(GEOLOCATE, quota!.token);
    expect(((await last.json()) as { code: string }).code).toBe("QUOTA_EXCEEDED");
    expect(last.headers.get("ratelimit")).toContain('"daily";r=0');

    expect(await server.metric("inkling_lookups_total")).toBe(50 + rated.allowed);
    expect(await server.metric("inkling_http_requests_total", 'status="429"')).toBe(70 + 1 + rated.refused);
    expect(await server.metric("inkling_http_request_duration_seconds_count", "geolocate")).toBe(321);
    expect(await server.metric("inkling_workers", 'state="serving"')).toBe(WORKERS);
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    await withStore(server, async (store) => {
      const used = await store.usage.readByDay(quota!.id, "2000-01-01", "2999-12-31");
      expect(used).toMatchObject([
        { lookup: "geolocate", count: 50 },
        { lookup: "quota_exceeded", count: 71 },
      ]);
      const [, slowed] = await store.usage.readByDay(limited!.id, "2000-01-01", "2999-12-31");
      expect(slowed).toMatchObject({ lookup: "rate_limited", count: rated.refused });
    });
  });

  test("count flags by key", async () => {
    const server = await start();
    const key = await withStore(server, (store) => keyWith(store, {}));
    await server.everywhere("/v1/status", ({ status }) => status === 200, key.token);
    const path = `/v1/ip-intel/reputation/${ADDRESS}`;
    for (let i = 0; i < 20; i++) {
      expect((await server.get(GEOLOCATE, key.token)).status).toBe(200);
      expect((await server.get(path, key.token)).status).toBe(200);
    }
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    await withStore(server, async ({ usage }) => {
      const used = await usage.readByDay(key.id, "2000-01-01", "2999-12-31");
      expect(used.map(({ lookup, count }) => [lookup, count])).toEqual([
        ["geolocate", 20],
        [smallFlag(1), 20],
        ["reputation", 20],
      ]);
    });
  });

  test("all get changed keys, overrides and releases", async () => {
    const server = await start();
    const { dataDir } = server;
    const key = await withStore(server, (store) => keyWith(store, {}));
    await server.everywhere(GEOLOCATE, ({ status }) => status === 200, key.token);
    await withStore(server, (store) => store.revokeKey(key.id));
    await server.everywhere(GEOLOCATE, ({ status }) => status === 401, key.token);

    const reputation = `/v1/ip-intel/reputation/${ADDRESS}`;
    await withStore(server, (store) =>
      store.overrides.put(
        [
          {
            kind: "network",
            value: SMALL_NETWORK,
            flag: smallFlag(1),
            verdict: false,
            note: "",
            author: "test",
            createdAt: Date.now(),
            expiresAt: undefined,
          } as never,
        ],
        { author: "test", source: "cli" },
      ),
    );
    await server.everywhere(
      reputation,
      async (response) => ((await response.json()) as Record<string, boolean>)[smallFlag(1)] === false,
    );

    for (const n of [2, 3]) {
      const { id } = smallRelease(dataDir, n);
      await server.everywhere(GEOLOCATE, (response) => response.headers.get("inkling-data-version") === id);
      await server.everywhere("/v1/status", async (response) => {
        return ((await response.json()) as { release: { id: string } }).release.id === id;
      });
    }
    const email = await server.get(`/v1/user-intel/email/a@${smallDomain(3)}`);
    expect(((await email.json()) as { disposable: boolean }).disposable).toBe(true);
  });

  test("log the networks of a traced key, and nothing of its callers once that has ended", async () => {
    const server = await start({ INKLING_LOG_LEVEL: "error" });
    const id = await withStore(server, async (store) => {
      const { token, id } = await keyWith(store, {});
      await until(async () => (await server.get(GEOLOCATE, token)).status === 200);
      expect(server.events("key-traced")).toEqual([]);
      await store.changeKey(id, { tracedUntil: Date.now() + 60_000 });
      await until(async () => {
        await server.get(GEOLOCATE, token);
        return server.events("key-traced").length > 0;
      });
      return id;
    });
    expect(server.events("key-traced")[0]).toMatchObject({ key: id, network: "127.0.0.0/24", level: "info" });
    expect(server.err).not.toContain("127.0.0.1");
  });

  test("one that throws loses only its own requests, no count and no log line", async () => {
    const server = await start({
      ...onSignal({ workersBelow: 1 }, "throw new TypeError('odd')"),
      INKLING_LOG_LEVEL: "access",
    });
    const stop = new AbortController();
    const load = server.load(stop.signal);
    await until(async () => (await server.metric("inkling_lookups_total")) > 200);
    server.child.kill("SIGUSR2");
    await until(() => server.events("worker-died").length > 0);
    await until(async () => (await server.metric("inkling_workers", 'state="serving"')) === WORKERS);
    const after = await server.metric("inkling_lookups_total");
    await until(async () => (await server.metric("inkling_lookups_total")) > after + 200);
    stop.abort();
    const seen = await load;
    // A client has one request under way. A second may fail while the queue on the port is cleared.
    expect(seen.failed).toBeLessThanOrEqual(2 * CLIENTS);
    expect(seen.other).toBe(0);
    expect(seen.ok).toBeGreaterThan(400);
    expect(await server.metric("inkling_worker_restarts_total")).toBe(1);
    expect(server.events("uncaught-error")).toMatchObject([{ worker: 0, error: "TypeError: odd" }]);
    expect(server.events("worker-died")).toMatchObject([{ level: "error", worker: 0, next_in_ms: 0 }]);
    const counted = await server.metric("inkling_lookups_total");
    expect(counted).toBeGreaterThanOrEqual(seen.ok);
    // Counts may be higher, because a client's fetch may have sent a request again to another worker.
    expect(counted).toBeLessThanOrEqual(seen.ok + seen.failed + CLIENTS);
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    const accesses = server.err.split("\n").filter((line) => line.includes('/geolocate/{ip}","status":200'));
    expect(accesses.length).toBe(counted);
    await withStore(server, async (store) => {
      const [key] = await store.listKeys();
      const [entry] = await store.usage.readByDay(key!.id, "2000-01-01", "2999-12-31");
      expect(entry!.count).toBe(counted);
    });
  });

  test("that throw again and again are replaced again and again, after a wait", async () => {
    const server = await start(onSignal({ workersBelow: 8 }, "throw new Error()"));
    for (let deaths = WORKERS; deaths <= 4 * WORKERS; deaths += WORKERS) {
      server.child.kill("SIGUSR2");
      await until(() => server.events("worker-died").length === deaths);
      await until(async () => (await server.metric("inkling_workers", 'state="serving"')) === WORKERS);
    }
    const waits = server.events("worker-died").map(({ next_in_ms }) => next_in_ms as number);
    expect(waits[0]).toBe(0);
    expect(Math.max(...waits)).toBeGreaterThanOrEqual(100);
    expect(await server.status(GEOLOCATE)).toBe(200);
  });

  test.if(FULL)("one that is stuck is replaced", async () => {
    const server = await start(onSignal({ workersBelow: 1 }, "for (;;) {}"));
    server.child.kill("SIGUSR2");
    await until(() => server.events("worker-stuck").length > 0);
    await until(() => server.events("worker-listening").length === WORKERS + 1);
    await server.everywhere(GEOLOCATE, ({ status }) => status === 200);
  });

  test("end with the server if the runtime crashes in one, and another server gets the port", async () => {
    const server = await start({
      ...onSignal({ workersBelow: 1 }, 'require("bun:ffi").read.u8(8)'),
      INKLING_LOG_LEVEL: "access",
    });
    await server.everywhere(GEOLOCATE, ({ status }) => status === 200);
    const lines = () => server.err.split("\n").filter((line) => line.includes('/geolocate/{ip}"')).length;
    const lookups = await server.metric("inkling_lookups_total");
    await until(() => lines() === lookups); // lines wait for up to 200 ms, and then a crash does not lose them
    server.child.kill("SIGUSR2");
    await server.child.exited;
    expect(server.child.signalCode).toBe("SIGSEGV");
    expect(lines()).toBe(lookups);
    const next = new Server({
      dataDir: server.dataDir,
      token: server.token,
      env: { INKLING_PORT: String(server.port) },
    });
    running.push(next);
    await next.ready();
    expect(await next.status(GEOLOCATE)).toBe(200);
  });

  test("finish requests under way when the server stops", async () => {
    const server = await start();
    const stop = new AbortController();
    const load = server.load(stop.signal);
    await until(async () => (await server.metric("inkling_lookups_total")) > 100);
    server.child.kill("SIGTERM");
    const exitCode = await server.child.exited;
    stop.abort();
    const { ok } = await load;
    expect(exitCode).toBe(0);
    expect(server.events("worker-died")).toEqual([]);
    await withStore(server, async (store) => {
      const [key] = await store.listKeys();
      const [entry] = await store.usage.readByDay(key!.id, "2000-01-01", "2999-12-31");
      expect(entry!.count).toBe(ok);
    });
  });

  test.each([
    ["not shared", false],
    ["may be shared", true],
  ])("do not start on a port that another program has and %s", async (_, reusePort) => {
    const other = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      reusePort,
      development: false,
      fetch: () => new Response(),
    });
    const server = new Server({ env: { INKLING_PORT: String(other.port) } });
    expect(await server.end()).not.toBe(0);
    expect(server.err).toContain(`port ${other.port} on 127.0.0.1 is in use by another program`);
    await other.stop(true);
  });

  test("do not start on a port that other workers use", async () => {
    const first = await start();
    const second = new Server({ env: { INKLING_PORT: String(first.port) } });
    expect(await second.end()).not.toBe(0);
    expect(second.err).toContain("is in use by another program");
    expect((await first.get(GEOLOCATE)).status).toBe(200);
  });
});
