// storage.test.ts: tests servers whose database file is locked, deleted or replaced while they serve, with one thread
// and with several. It also tests a server that starts while its database is unreachable, and a server that finds its
// database empty.

import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../../packages/cli/src/config/settings.ts";
import { CHECKS } from "../../../packages/cli/src/runtime/doctor-checks.ts";
import { makeFirstKeys } from "../../../packages/cli/src/runtime/keys.ts";
import { makeStyle } from "../../../packages/cli/src/terminal/terminal.ts";
import {
  type RunningServer,
  type ServerOptions,
  startServer,
} from "../../../packages/server/src/run/server.ts";
import { rowFromKey } from "../../../packages/store/src/keys/key.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { hashToken } from "../../../packages/store/src/keys/token.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { freePort } from "../../harness/ports.ts";
import { GEOLOCATE, SMALL_NETWORK, smallFlag, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { lockSqlite } from "../../harness/sqlite-lock.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

const SIDE_FILES = ["", "-wal", "-shm"];

async function setUp(over: Partial<ServerOptions> = {}) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const options = { ...testServerOptions(dataDir), logLevel: "info" as const, ...over };
  const file = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${file}`);
  const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  await store.close();
  return { dataDir, file, options, key, token };
}

async function start(options: ServerOptions) {
  const lines: string[] = [];
  const writeLog = (text: string) => void lines.push(...text.split("\n").filter(Boolean));
  const server: RunningServer = await startServer({ ...options, writeLog });
  cleanUps.push(() => server.stop());
  const lookUp = async (token: string, count = 1) => {
    const headers = { Authorization: `Bearer ${token}` };
    const url = `http://127.0.0.1:${server.port}/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
    const statuses = new Set<number>();
    for (let i = 0; i < count; i++) statuses.add((await fetch(url, { headers })).status);
    return [...statuses];
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  const ready = async () => (await fetch(`http://127.0.0.1:${server.port}/readyz`)).status;
  const events = (name: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ event }) => event === name);
  return { server, lookUp, metric, ready, events };
}

async function storedIn(file: string, keyId: string): Promise<number> {
  const store = await openStore(file);
  const entries = await store.usage.readByDay(keyId, "2000-01-01", "2999-12-31");
  await store.close();
  return entries.reduce((sum, { count }) => sum + count, 0);
}

describe.each([1, 2])("with workers: %i", (workers) => {
  test.concurrent("a database that another program has locked: logged, counted, unready by setting, and all stored later", async () => {
    const { file, options, key, token } = await setUp({ workers, maxUnstoredSeconds: 1 });
    const { server, lookUp, metric, ready, events } = await start(options);
    const release = await lockSqlite(file);
    expect(await lookUp(token, 30)).toEqual([200]);
    await until(() => events("usage-not-stored").length > 0);
    expect(events("usage-not-stored")).toMatchObject([
      { level: "error", reason: expect.stringContaining("locked"), lookups: expect.any(Number) },
    ]);
    expect(await lookUp(token, 20)).toEqual([200]);
    expect(await metric("inkling_usage_pending")).toBe(50); // including those of the last moment
    expect(await metric("inkling_usage_oldest_seconds")).toBeGreaterThan(1);
    expect(await metric("inkling_usage_flush_failures_total")).toBeGreaterThan(0);
    await until(async () => (await ready()) === 503);
    await release();
    await until(async () => (await ready()) === 200);
    await until(() => events("usage-stored-again").length > 0);
    expect(await metric("inkling_usage_oldest_seconds")).toBeLessThan(60);
    await server.stop();
    expect(events("usage-lost")).toEqual([]);
    expect(await storedIn(file, key.id)).toBe(50);
  });

  test.concurrent("a database file that is deleted: logged, answers go on, and what is lost at the stop is counted", async () => {
    const { file, options, key, token } = await setUp({ workers });
    const { server, lookUp, metric, ready, events } = await start(options);
    expect(await lookUp(token, 10)).toEqual([200]);
    await until(async () => (await metric("inkling_usage_pending")) === 0);
    for (const suffix of SIDE_FILES) rmSync(file + suffix, { force: true });
    expect(await lookUp(token, 30)).toEqual([200]);
    await until(() => events("database-unreachable").length > 0 && events("usage-not-stored").length > 0);
    expect(events("database-unreachable")[0].reason).toContain("the file was deleted while in use");
    expect(await metric("inkling_database_reachable")).toBe(0);
    expect(await ready()).toBe(200); // lookups need no database
    expect(await lookUp(token, 20)).toEqual([200]);
    await server.stop();
    expect(events("usage-lost")).toMatchObject([{ level: "error", lookups: 50 }]);
    expect(existsSync(file)).toBe(false); // an empty file would revoke every key at the next start
    expect(key.id).not.toBe("");
  });
});

test.concurrent("a data folder that is deleted is logged, but not usage if none waits", async () => {
  const { dataDir, options } = await setUp();
  const { server, events } = await start(options);
  rmSync(dataDir, { recursive: true });
  await until(() => events("database-unreachable").length > 0);
  expect(events("database-unreachable")[0].reason).toContain("the file was deleted while in use");
  await server.stop();
  expect([...events("usage-not-stored"), ...events("usage-lost")]).toEqual([]);
});

test.concurrent("a file that comes back, or another one in its place, is used, its tables made and its keys in force", async () => {
  const { file, options, key, token } = await setUp();
  const { server, lookUp, events } = await start(options);
  expect(await lookUp(token, 10)).toEqual([200]);
  renameSync(file, `${file}.moved`);
  await until(() => events("database-unreachable").length === 1);
  renameSync(`${file}.moved`, file);
  await until(() => events("database-back").length === 1);
  expect(await lookUp(token, 10)).toEqual([200]);

  const other = await openStore(`${file}.other`);
  const made = await other.createKey(parseNewKey({ name: "other" }, 0));
  await other.close();
  for (const suffix of SIDE_FILES) rmSync(file + suffix, { force: true });
  renameSync(`${file}.other`, file);
  await until(() => events("database-replaced").length === 1);
  await until(async () => (await lookUp(made.token))[0] === 200);
  expect(await lookUp(token)).toEqual([401]);
  await server.stop();
  expect(await storedIn(file, made.key.id)).toBeGreaterThan(0);
  expect(key.id).not.toBe(made.key.id);
});

test("no other user may read what a server writes, and doctor reports a folder that others may read", async () => {
  const mask = process.umask(0o022); // the mask applies to the whole process, so this test runs alone
  const dataDir = join(temporaryFolder(), "new", "data");
  smallRelease(dataDir, 1);
  const { server } = await start(testServerOptions(dataDir));
  await server.stop();
  process.umask(mask);
  const paths = ["", ...(readdirSync(dataDir, { recursive: true }) as string[])];
  expect(paths).toContain("inkling.db");
  const open = paths.filter((path) => (statSync(join(dataDir, path)).mode & 0o027) !== 0);
  expect(open).toEqual([]);
  expect(statSync(dataDir).mode & 0o777).toBe(0o750);

  const { settings } = loadSettings({ flags: { dataDir }, env: {}, cwd: dataDir });
  const check = CHECKS.find(([name]) => name === "data folder")![1];
  const terminal = { err: () => {}, style: makeStyle(false) };
  const finding = () => check({ settings, terminal, now: new Date() });
  expect((await finding()).found).not.toContain("other users");
  chmodSync(dataDir, 0o755);
  const found = await finding();
  if (found.state !== "problem") expect(found.fix).toBe(`\`chmod -R o-rwx ${dataDir}\``); // the disk may be full
  expect(statSync(dataDir).mode & 0o777).toBe(0o755);
});

describe("a start while the database is unreachable", () => {
  const away = () => `postgres://u:secret@127.0.0.1:${freePort()}/inkling`;

  test.concurrent.each([1, 2])("answers the keys of the data folder's copy, workers: %i", async (workers) => {
    const { dataDir, file, options, token, key } = await setUp({ workers });
    const store = await openStore(file);
    const revoked = await store.createKey(parseNewKey({ name: "revoked" }, 0));
    const soon = Date.now() + 3_000;
    const expiring = await store.createKey(
      parseNewKey({ name: "expiring", expires_at: new Date(soon).toISOString() }, 0),
    );
    const first = await start(options);
    await store.revokeKey(revoked.key.id);
    const copy = join(dataDir, "keys.json");
    const copied = () => readFileSync(copy, "utf8");
    // The copy is appended to, so the revocation is a later line about the key.
    await until(() => existsSync(copy) && copied().split(revoked.key.id).length > 2);
    await store.close();
    await first.server.stop();
    expect(statSync(copy).mode & 0o777).toBe(0o640);
    for (const text of [token, expiring.token]) expect(copied()).not.toContain(text.slice(9, 41));

    const { lookUp, ready, events } = await start({ ...options, databaseUrl: away() });
    expect(await ready()).toBe(200);
    expect(await lookUp(token)).toEqual([200]);
    expect(await lookUp(revoked.token)).toEqual([401]);
    expect(events("keys-from-copy")).toMatchObject([{ level: "error", keys: 2 }]);
    expect(events("keys-from-copy")[0].age_seconds).toBeGreaterThanOrEqual(0);
    await until(() => Date.now() > soon);
    expect(await lookUp(expiring.token)).toEqual([401]);
    expect(key.id).not.toBe("");
  });

  test.concurrent("answers the keys of a copy that version 0.1 wrote, and writes its own", async () => {
    const { dataDir, options, token, key } = await setUp();
    const copy = join(dataDir, "keys.json");
    const earlier = { format: "inkling-key-snapshot", version: 1, stamp: "earlier" };
    const tokens = [{ hash: hashToken(token), key: rowFromKey(key) }];
    writeFileSync(copy, `${JSON.stringify({ ...earlier, tokens })}\n`);
    const first = await start({ ...options, databaseUrl: away() });
    expect(await first.lookUp(token)).toEqual([200]);
    expect(first.events("keys-from-copy")).toMatchObject([{ keys: 1 }]);
    await first.server.stop();
    const second = await start(options);
    await until(() => readFileSync(copy, "utf8").includes('"version":2'));
    await second.server.stop();
    const third = await start({ ...options, databaseUrl: away() });
    expect(await third.lookUp(token)).toEqual([200]);
    await third.server.stop();
  });

  test.concurrent("without a copy, or with one that is damaged, knows no key and reports why", async () => {
    const { dataDir, options, token } = await setUp();
    const databaseUrl = away();
    const none = await start({ ...options, databaseUrl });
    expect([await none.ready(), await none.lookUp(token)]).toEqual([503, [503]]);
    await none.server.stop();
    for (const text of [
      "",
      "{}",
      '{"format":"inkling-key-snapshot","version":1,"stamp":"x","tokens":[{}]}\n',
      '{"format":"inkling-key-snapshot","version":2}\n',
    ]) {
      await Bun.write(join(dataDir, "keys.json"), text);
      const damaged = await start({ ...options, databaseUrl });
      expect(await damaged.lookUp(token)).toEqual([503]);
      expect(damaged.events("keys-copy-failed")).not.toBeEmpty(); // again at each attempt
      await damaged.server.stop();
    }
  });
});

describe("an empty database in the place of one with keys and overrides", () => {
  test.concurrent.each([1, 2])(
    "leaves these in force and their copies as they are, workers: %i",
    async (workers) => {
      const { dataDir, file, token: shop } = await setUp();
      const known = await openStore(file);
      const forced = { flag: smallFlag(1), verdict: false } as const;
      const [address, of] = [SMALL_NETWORK.replace("0/24", "142"), { note: "office", author: "ada" }];
      await known.overrides.put(
        [{ kind: "address", value: address, ...forced, ...of, expiresAt: undefined }],
        {
          author: "ada",
          source: "cli",
        },
      );
      await known.close();
      const token = freshToken();
      const start = async () => {
        const main = new ServerProgram({ dataDir, token, env: { INKLING_WORKERS: String(workers) } });
        cleanUps.push(() => main.kill());
        await main.ready();
        return main;
      };
      const copies = () =>
        ["keys", "overrides"].map((name) => readFileSync(join(dataDir, `${name}.json`), "utf8"));
      const first = await start();
      await until(() => copies()[0]!.split('\n["key_').length === 3 && copies()[1]!.includes("office"));
      first.child.kill("SIGTERM");
      await first.child.exited;
      const before = copies();
      renameSync(file, `${file}.known`);

      const main = await start();
      const flagged = async () => {
        const url = `http://127.0.0.1:${main.port}/v1/ip-intel/reputation/${address}`;
        const answer = await fetch(url, { headers: { Authorization: `Bearer ${shop}` } });
        return ((await answer.json()) as Record<string, unknown>)[smallFlag(1)];
      };
      const expectKnown = async (times: number) => {
        await until(() => main.events("database-empty").length === 2 * times);
        const events = main.events("database-empty").slice(-2);
        const ofBoth = { level: "error", database: `sqlite://${file}` };
        expect(events).toContainEqual(expect.objectContaining({ ...ofBoth, keys_in_copy: 2 }));
        expect(events).toContainEqual(expect.objectContaining({ ...ofBoth, overrides_in_copy: 1 }));
        expect(await main.metric("inkling_database_reachable")).toBe(0);
        expect([await main.status("/readyz"), await main.status(GEOLOCATE)]).toEqual([200, 200]);
        expect([await main.status(GEOLOCATE, shop), await flagged()]).toEqual([200, false]);
        expect(copies()).toEqual(before);
      };
      await expectKnown(1);
      expect(main.events("keys-from-copy")).toMatchObject([{ keys: 2 }]);

      const put = (other: string) => {
        for (const suffix of SIDE_FILES) rmSync(file + suffix, { force: true });
        renameSync(other, file);
      };
      put(`${file}.known`);
      await until(() => main.events("database-back").length === 1);
      // The keys are back. Overrides have their own check.
      await until(async () => (await main.metric("inkling_overrides_checked_timestamp_seconds")) > 0);
      expect(await main.status(GEOLOCATE, shop)).toBe(200);

      const empty = await openStore(`${file}.empty`);
      await empty.close();
      put(`${file}.empty`);
      await expectKnown(2);

      const used = await openStore(file);
      const made = await used.createKey(parseNewKey({ name: "made in it" }, 0));
      await used.close();
      await until(async () => (await main.status(GEOLOCATE, made.token)) === 200);
      await until(async () => (await main.status(GEOLOCATE, shop)) === 401);
      expect([await main.status(GEOLOCATE), await flagged()]).toEqual([200, undefined]);
    },
  );

  test.concurrent("gets no first keys from `inkling up` where the data folder knows some", async () => {
    const { dataDir, file, options } = await setUp();
    const first = await start(options);
    await first.server.stop();
    const empty = await openStore(`${file}.empty`);
    expect(await makeFirstKeys(empty, dataDir)).toBe(undefined);
    rmSync(join(dataDir, "keys.json"));
    expect(await makeFirstKeys(empty, dataDir)).toMatchObject({ live: expect.any(String) });
    await empty.close();
  });
});
