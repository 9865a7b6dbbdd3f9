// store-outage.test.ts: tests a database that is unavailable, silent or shared, and processes that are killed.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { currentName, releaseNames } from "@inkling/data";
import { SQL } from "bun";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { UsageRecorder } from "../../../packages/server/src/limits/usage-recorder.ts";
import { StoreError } from "../../../packages/store/src/error.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { Keyring } from "../../../packages/store/src/keys/keyring.ts";
import { liveKeys } from "../../../packages/store/src/live-keys.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { POSTGRES_PASSWORD, Postgres } from "../../harness/postgres.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { GEOLOCATE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { onSignal } from "../../harness/thread-faults.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";
import type { Report } from "./store-process.ts";

const ALL_DAYS = ["2000-01-01", "2999-12-31"] as const;

let postgres: Postgres;
let folder: string;
const cleanUps: (() => unknown)[] = [];

beforeAll(async () => {
  folder = temporaryFolder();
  postgres = await Postgres.create();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(async () => {
  await postgres?.close();
});

async function open(address: string, options = {}): Promise<Store> {
  const store = await openStore(address, options);
  cleanUps.push(() => store.close());
  return store;
}

async function stored(store: Store, keyId: string): Promise<number> {
  const entries = await store.usage.readByDay(keyId, ...ALL_DAYS);
  return entries.reduce((sum, { count }) => sum + count, 0);
}

/** Does everything that a server does with the store, as traffic with one key. */
async function traffic(store: Store, token: string, intervalMs = 10) {
  const keyring = new Keyring();
  const loader = liveKeys({ store, keyring, refreshMs: intervalMs });
  const recorder = new UsageRecorder({ store: store.usage, flushMs: intervalMs });
  await Promise.all([loader.start(), recorder.start()]);
  const counts = { recorded: 0, refused: 0 };
  const timer = setInterval(() => {
    const result = keyring.authenticate(`Bearer ${token}`, Date.now());
    if (result.ok) {
      recorder.record(result.key.id, "geolocate", Date.now());
      counts.recorded++;
    } else counts.refused++;
  }, 1);
  const stop = async () => {
    clearInterval(timer);
    const [{ lost }] = await Promise.all([recorder.stop(), loader.stop()]);
    return lost;
  };
  cleanUps.push(stop);
  return { keyring, recorder, counts, stop };
}

describe("PostgreSQL in the middle of traffic", () => {
  for (const way of ["stop", "kill"] as const) {
    test(`${way}, then started again: keys keep working, usage is counted exactly once`, async () => {
      const store = await open(await postgres.freshDatabase());
      const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
      const { keyring, recorder, counts, stop } = await traffic(store, token);
      for (let round = 0; round < 3; round++) {
        const before = counts.recorded;
        await until(() => counts.recorded > before + 20);
        await postgres[way]();
        await until(() => keyring.state.failures >= 2 && recorder.state.failuresInRow >= 2);
        const during = counts.recorded;
        await until(() => counts.recorded > during + 20 && recorder.state.pending > 0);
        await postgres.start();
        await until(() => keyring.state.failures === 0 && recorder.state.failuresInRow === 0);
      }
      expect(await stop()).toBe(0);
      expect(counts.refused).toBe(0);
      expect(counts.recorded).toBeGreaterThan(120);
      expect(await stored(store, key.id)).toBe(counts.recorded);
      drilled(
        import.meta.path,
        `PostgreSQL: ${way}, then started again, three times`,
        "the key is accepted each time",
        "usage, counted exactly once",
      );
    });
  }

  test("silent after it has counted: the time-out ends the wait, and the second try does not count again", async () => {
    const address = await postgres.freshDatabase();
    const direct = await open(address);
    const { key, token } = await direct.createKey(parseNewKey({ name: "shop" }, 0));
    const proxy = silentProxy(postgres.port);
    cleanUps.push(() => proxy.stop());
    const store = await open(address.replace(`:${postgres.port}/`, `:${proxy.port}/`), { timeoutMs: 3_000 });
    const keyring = new Keyring();
    const loader = liveKeys({ store, keyring, refreshMs: 10 });
    cleanUps.push(() => loader.stop());
    await loader.start();
    const batch = {
      recorder: "r1",
      sequence: 1,
      entries: [{ keyId: key.id, day: "2026-06-01", lookup: "email" as const, count: 5 }],
    };
    // Answers are held back from the moment that COMMIT passes.
    proxy.silentAfter = "COMMIT";
    const error: StoreError = await store.usage.add(batch).then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "UNREACHABLE" });
    expect(error.message).toContain("no answer within 3000 ms");
    expect(await stored(direct, key.id)).toBe(5);
    proxy.silentAfter = undefined;
    expect(await store.usage.add(batch)).toBe(false);
    expect(await stored(direct, key.id)).toBe(5);
    // Silent connections are not used again. This tries more connections than the pool has.
    proxy.silentAfter = "";
    const { failures } = keyring.state;
    await until(() => keyring.state.failures > failures);
    expect(keyring.authenticate(`Bearer ${token}`, 0).ok).toBe(true);
    const pings = await Promise.allSettled(Array.from({ length: 8 }, () => store.ping()));
    expect(pings.map(({ status }) => status)).toEqual(Array(8).fill("rejected"));
    proxy.silentAfter = undefined;
    await store.ping();
    drilled(
      import.meta.path,
      "PostgreSQL no longer answers, after it has counted",
      "the key is accepted",
      "usage, counted exactly once; a time limit ends the wait",
    );
  });

  test("unreachable at the start: the store opens, tables are made and keys are read once it is there", async () => {
    const address = await postgres.freshDatabase();
    await postgres.stop();
    cleanUps.push(() => postgres.start().catch(() => {})); // already running if the test succeeded
    expect(await openStore(address).catch((error) => error)).toMatchObject({ code: "UNREACHABLE" });
    const store = await open(address, { mayBeUnreachable: true });
    const token = freshToken();
    const keyring = new Keyring();
    const loader = liveKeys({
      store,
      keyring,
      refreshMs: 10,
      host: {
        prepare: async () => {
          await store.createKey(parseNewKey({ name: "chosen" }, 0), token);
        },
      },
    });
    cleanUps.push(() => loader.stop());
    await loader.start();
    expect(keyring.state).toMatchObject({ loaded: false, failures: 1 });
    expect(keyring.authenticate(`Bearer ${token}`, 0)).toMatchObject({ code: "KEYS_NOT_LOADED" });
    await postgres.start();
    await until(() => keyring.state.loaded);
    expect(keyring.authenticate(`Bearer ${token}`, 0).ok).toBe(true);
  });

  test("a rollback while it is unreachable is refused, because it cannot be recorded", async () => {
    const databaseUrl = await postgres.freshDatabase();
    const main = new ServerProgram({ env: { INKLING_DATABASE_URL: databaseUrl, INKLING_RATE: "" } });
    cleanUps.push(() => main.kill());
    smallRelease(main.dataDir, 2);
    await main.ready();
    const [current, before] = releaseNames(main.dataDir);
    const env = { INKLING_DATA_DIR: main.dataDir, INKLING_DATABASE_URL: databaseUrl };
    const rollBack = () => runHere(["data", "rollback"], { env, cwd: main.dataDir });
    await postgres.stop();
    cleanUps.push(() => postgres.start().catch(() => {})); // already running if the test succeeded
    await until(() => main.events("database-unreachable").length > 0);
    const refused = await rollBack();
    expect([refused.code, currentName(main.dataDir)]).toEqual([1, current]);
    expect(refused.err).toContain("connect");
    await postgres.start();
    expect([(await rollBack()).code, currentName(main.dataDir)]).toEqual([0, before]);
    const { items } = await (await open(databaseUrl)).audit.list({ limit: 10 });
    expect(items.map(({ source, action }) => `${source} ${action}`)).toEqual([
      "cli release-rolled-back",
      "file key-created",
    ]);
    expect(items[0]).toMatchObject({ before: { current }, after: { current: before } });
  });

  test("workers that start while it is away have the earlier keys", async () => {
    const databaseUrl = await postgres.freshDatabase();
    const { token } = await (await open(databaseUrl)).createKey(parseNewKey({ name: "shop" }, 0));
    const fault = onSignal({ workersBelow: 1 }, "throw new Error()");
    const main = await new ServerProgram({ env: { INKLING_DATABASE_URL: databaseUrl, ...fault } }).ready();
    cleanUps.push(() => main.kill());
    await postgres.stop();
    cleanUps.push(() => postgres.start().catch(() => {}));
    await until(() => main.events("database-unreachable").length > 0);
    main.child.kill("SIGUSR2");
    await until(() => main.events("worker-listening").length === 3);
    const statuses = await Promise.all(Array.from({ length: 32 }, () => main.status(GEOLOCATE, token)));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test("no message has the password, whatever is wrong", async () => {
    const good = await postgres.freshDatabase();
    const encoded = encodeURIComponent(POSTGRES_PASSWORD);
    expect(encoded).not.toBe(POSTGRES_PASSWORD);
    const wrong: [string, string, string][] = [
      ["password", good.replace(encoded, `${encoded}x`), "REFUSED"],
      ["user", good.replace("inkling:", "nobody:"), "REFUSED"],
      ["database", `${good}_nope`, "REFUSED"],
      ["port", good.replace(`:${postgres.port}/`, ":1/"), "UNREACHABLE"],
      ["host", good.replace("127.0.0.1", "host.invalid"), "UNREACHABLE"],
      ["no TLS there", `${good}?sslmode=require`, "UNREACHABLE"],
    ];
    for (const [name, address, code] of wrong) {
      const error: StoreError = await openStore(address).then(
        () => undefined,
        (reason) => reason,
      );
      expect([name, error?.code]).toEqual([name, code]);
      const everything = `${Bun.inspect(error)} ${error.stack} ${JSON.stringify(error)} ${error.hint}`;
      expect(everything).not.toContain(POSTGRES_PASSWORD);
      expect(everything).not.toContain(encoded);
    }
  });
});

describe("several processes on one database", () => {
  const addresses: [string, () => Promise<string>][] = [
    ["sqlite", async () => join(folder, "shared.db")],
    ["postgres", () => postgres.freshDatabase()],
  ];
  for (const [name, address] of addresses) {
    test(`${name}: revocation reaches the others, and usage adds up`, async () => {
      const where = await address();
      const store = await open(where);
      const { key, token } = await store.createKey(parseNewKey({ name: "shop", quota: 1_000_000 }, 0));
      const processes = [start(where, token, 1_000), start(where, token, 1_000)];
      for (const process of processes) await process.until(({ answer }) => answer === "OK");
      for (const process of processes) await process.until(({ confirmed }) => confirmed > 0);
      await store.revokeKey(key.id);
      for (const process of processes) await process.until(({ answer }) => answer === "KEY_INVALID");
      let recorded = 0;
      for (const process of processes) recorded += (await process.stop()).recorded;
      expect(recorded).toBeGreaterThan(0);
      expect(await stored(store, key.id)).toBe(recorded);
      expect((await store.usage.readQuotas(new Date().toISOString().slice(0, 10))).get(key.id)).toBe(
        recorded,
      );
    });
  }

  test("sqlite: a process killed in the middle of its flushes keeps what was confirmed, and the database is intact", async () => {
    const file = join(folder, "killed.db");
    const store = await open(file);
    const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
    let atLeast = 0;
    let atMost = 0;
    for (let round = 0; round < 5; round++) {
      const process = start(file, token, 1);
      await process.until(({ confirmed }) => confirmed >= 20 + 7 * round);
      const { recorded, confirmed } = await process.kill();
      atLeast += confirmed;
      atMost += recorded + 1; // counted after its last line
      const sql = new SQL({ adapter: "sqlite", filename: file });
      expect([...(await sql`PRAGMA integrity_check`)]).toEqual([{ integrity_check: "ok" }]);
      await sql.close();
      const total = await stored(store, key.id);
      expect(total).toBeGreaterThanOrEqual(atLeast);
      expect(total).toBeLessThanOrEqual(atMost);
    }
    expect(atLeast).toBeGreaterThan(100);
  });
});

/** Starts a process of store-process.ts. */
function start(address: string, token: string, intervalMs: number) {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "store-process.ts"), address, token, String(intervalMs)],
    { stdout: "pipe", stderr: "inherit" },
  );
  cleanUps.push(() => child.kill("SIGKILL"));
  let last: Report = { answer: "", keyId: undefined, recorded: 0, confirmed: 0 };
  const reading = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) last = JSON.parse(line);
    }
  })();
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    child.kill(signal);
    await Promise.all([child.exited, reading]);
    return last;
  };
  return {
    until: (isTrue: (report: Report) => boolean) => until(() => isTrue(last)),
    stop: async () => {
      const report = await end("SIGTERM");
      expect(child.exitCode).toBe(0);
      return report;
    },
    kill: () => end("SIGKILL"),
  };
}

/** Forwards everything to `port`. After a message that contains `silentAfter`, it answers nothing more. */
function silentProxy(port: number) {
  const proxy = { port: 0, silentAfter: undefined as string | undefined, stop: () => {} };
  interface Pair {
    server: ReturnType<typeof Bun.connect>;
    isSilent: boolean;
  }
  const listener = Bun.listen<Pair>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        const server = Bun.connect({
          hostname: "127.0.0.1",
          port,
          socket: {
            data: (_, bytes) => {
              if (!client.data.isSilent) client.write(bytes);
            },
            close: () => {
              if (!client.data.isSilent) client.end();
            },
          },
        });
        client.data = { server, isSilent: false };
      },
      async data(client, bytes) {
        if (proxy.silentAfter !== undefined && Buffer.from(bytes).includes(proxy.silentAfter)) {
          client.data.isSilent = true;
        }
        (await client.data.server).write(bytes);
      },
      async close(client) {
        (await client.data.server).end();
      },
    },
  });
  proxy.port = listener.port;
  proxy.stop = () => listener.stop(true);
  return proxy;
}
