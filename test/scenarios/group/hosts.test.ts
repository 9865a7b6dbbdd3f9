// hosts.test.ts: tests a group's hosts as `inkling hosts` and the admin API show them.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { hostname } from "node:os";
import { SQL } from "bun";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { LimitCells } from "../../../packages/server/src/limits/cells.ts";
import { GroupCounts } from "../../../packages/server/src/limits/group-counts.ts";
import { GroupExchange } from "../../../packages/server/src/limits/group-exchange.ts";
import { GroupTables } from "../../../packages/server/src/limits/group-tables.ts";
import { type ServerOptions, startServer } from "../../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { until } from "../../harness/until.ts";

const PATH = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
const HOUR_MS = 3_600_000;

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => postgres?.close());

async function start(databaseUrl: string, over: Partial<ServerOptions> = {}) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const server = await startServer({ ...testServerOptions(dataDir), databaseUrl, ...over });
  cleanUps.push(() => server.stop());
  return { server, name: `${hostname()}:${server.port}` };
}

const inkling = (url: string, ...args: string[]) =>
  runHere(args, { env: { INKLING_DATABASE_URL: url }, cwd: temporaryFolder() });

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a command
const hosts = async (url: string): Promise<any[]> =>
  JSON.parse((await inkling(url, "hosts", "--json")).out).hosts;

test("each host reports version, release, load, readiness; a stopped one leaves, a lost one is silent, then gone", async () => {
  const url = await postgres.freshDatabase();
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  const admin = (await store.adminToken.create({ author: "test", source: "cli" }))!;
  const { token } = await store.createKey(parseNewKey({ name: "shop", quota: 100_000 }, 0));
  const busy = await start(url, { workers: 2 });
  const idle = await start(url, { version: "9.9.9" });
  const empty = await start(url, { dataDir: temporaryFolder() });
  const lookUp = async () => {
    const response = await fetch(`http://127.0.0.1:${busy.server.port}${PATH}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    await response.body?.cancel();
  };
  const names = [busy.name, idle.name, empty.name].sort();
  let all: Awaited<ReturnType<typeof hosts>> = [];
  // A host reports its port only after it listens, and its load a while later.
  await until(async () => {
    await lookUp();
    all = await hosts(url);
    const found = all.find(({ name }) => name === busy.name);
    const areNamed = all.map(({ name }) => name).join() === names.join();
    return areNamed && found?.requests_per_second > 0;
  });
  const of = (name: string) => all.find((each) => each.name === name);
  expect(of(busy.name)).toMatchObject({
    state: "ready",
    reasons: [],
    version: "0.0.0",
    release: { name: expect.stringMatching(/^20/), age_seconds: expect.any(Number) },
    channel: null,
  });
  expect(Math.abs(of(busy.name).clock_offset_seconds)).toBeLessThan(60);
  expect(of(idle.name)).toMatchObject({ state: "ready", version: "9.9.9" });
  expect(of(empty.name)).toMatchObject({
    state: "not-ready",
    release: null,
    reasons: ["no data release is loaded"],
  });

  const response = await fetch(`http://127.0.0.1:${idle.server.adminPort}/admin/v1/hosts`, {
    headers: { Authorization: `Bearer ${admin}` },
  });
  const document = (await response.json()) as { shared: boolean; hosts: { name: string }[] };
  expect(document.shared).toBe(true);
  expect(document.hosts.map(({ name }) => name)).toEqual(all.map(({ name }) => name));
  const { out } = await inkling(url, "hosts");
  expect(out).toMatch(new RegExp(`${idle.name} +ready +9\\.9\\.9 `));
  expect(out).toContain(`\n${empty.name}: no data release is loaded\n`);

  await empty.server.stop();
  expect((await hosts(url)).map(({ name }) => name)).not.toContain(empty.name);
  // A killed host leaves its row unchanged.
  const sql = new SQL(url, { max: 1 });
  cleanUps.push(() => sql.close());
  const leave = (
    seconds: number,
  ) => sql`INSERT INTO inkling_hosts (id, run, sequence, contact_at, late_at, late_since, report)
    SELECT 'lost', run, 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - ${seconds * 1_000}, 0, 0,
    REPLACE(report, ${idle.name}, 'lost:1') FROM inkling_hosts WHERE id LIKE ${`%:0`} LIMIT 1
    ON CONFLICT (id) DO UPDATE SET contact_at = excluded.contact_at`;
  await leave(300);
  expect((await hosts(url)).find(({ id }) => id === "lost")).toMatchObject({ state: "silent" });
  await sql`UPDATE inkling_hosts SET id = 'lost', report = ${JSON.stringify({
    ...busy.server.report(),
    name: "lost:1",
    warnings: ["the server does not follow the channel stable: expired"],
  })}, contact_at = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) WHERE id = 'lost'`;
  await leave(601);
  expect((await hosts(url)).map(({ id }) => id)).not.toContain("lost");
});

test("a host whose clock is one hour off is in the list of hosts, and in its metric", async () => {
  const url = await postgres.freshDatabase();
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  const wrong = new GroupExchange({
    counts: new GroupCounts(new LimitCells(Date.now()), () => undefined),
    source: new GroupTables(store.database, "wrong"),
    keyCells: { takeUsed: () => new Set<string>(), takeStored: () => {} },
    now: () => Date.now() - HOUR_MS,
  });
  const { server, name } = await start(url);
  const report = server.report();
  wrong.reportHost = () => {
    const { clockOffsetMs } = wrong.state;
    const text = JSON.stringify({
      ...report,
      name: "wrong:80",
      clock_offset_seconds: (clockOffsetMs ?? 0) / 1_000,
    });
    return { text, urgent: text };
  };
  await wrong.start();
  cleanUps.push(() => wrong.stop());
  const offsetOf = async (host: string) =>
    (await hosts(url)).find((one) => one.name === host)?.clock_offset_seconds;
  await until(async () => (await offsetOf("wrong:80")) < -3_500);
  expect(Math.abs(await offsetOf(name))).toBeLessThan(60);
  const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  const offset = Number(/^inkling_database_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1]);
  expect(Math.abs(offset)).toBeLessThan(60);
});

test("a report that is none, or hostile, neither ends the list nor reaches the terminal as it is", async () => {
  const url = await postgres.freshDatabase();
  const { server } = await start(url);
  await until(async () => (await hosts(url))[0]?.state === "ready");
  const sql = new SQL(url, { max: 1 });
  cleanUps.push(() => sql.close());
  const hostile = {
    ...server.report(),
    ready: false,
    name: "evil\u001b[2J\u202e",
    reasons: [`\u0007${"x".repeat(999)}`],
  };
  const rows = [
    ["a", "{"],
    ["b", "{}"],
    ["c", JSON.stringify(hostile)],
    ["d", null],
  ] as const;
  for (const [id, report] of rows) {
    await sql`INSERT INTO inkling_hosts SELECT ${id}, run, 1, contact_at, 0, 0, ${report} FROM inkling_hosts LIMIT 1`;
  }
  const { out, code } = await inkling(url, "hosts");
  expect(code).toBe(0);
  expect(out).toContain("evil\ufffd[2J\ufffd");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]|x{201}/);
  expect((await hosts(url)).filter(({ state }) => state === "unknown").map(({ id }) => id)).toEqual([
    "a",
    "b",
    "d",
  ]);
});

test("with SQLite, and with a database that no host uses, the reason is given", async () => {
  const alone = await runHere(["hosts"], { cwd: temporaryFolder() });
  expect(alone).toMatchObject({ code: 1, out: "" });
  expect(alone.err).toContain(
    "the database is SQLite, which only one host can use\nhint: a group of hosts needs a shared PostgreSQL database",
  );
  const url = await postgres.freshDatabase();
  expect(await inkling(url, "hosts")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^No host uses this database now/),
  });
  expect(await hosts(url)).toEqual([]);
  const { server, name } = await start(`sqlite://${temporaryFolder()}/inkling.db`);
  expect(server.report()).toMatchObject({ name, ready: true, clock_offset_seconds: null });
});
