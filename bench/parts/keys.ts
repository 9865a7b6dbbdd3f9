// keys.ts: measures hosts with 100,000 keys: memory, the time from a change until every worker applies it, and a
// restart. Also measures what it costs PostgreSQL if 30 hosts use the same 1,000 keys.
//
// All hosts, the database and the measurement share two cores.

import { readFileSync } from "node:fs";
import { SQL } from "bun";
import { LimitCells } from "../../packages/server/src/limits/cells.ts";
import { GroupCounts } from "../../packages/server/src/limits/group-counts.ts";
import { GroupExchange } from "../../packages/server/src/limits/group-exchange.ts";
import { GroupTables } from "../../packages/server/src/limits/group-tables.ts";
import { parseNewKey } from "../../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../../packages/store/src/store.ts";
import { fillKeys } from "../../test/harness/many-keys.ts";
import { Postgres } from "../../test/harness/postgres.ts";
import { GEOLOCATE, smallRelease } from "../../test/harness/release.ts";
import { cpuMicroseconds, memoryOf, parseStat, processTree } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { startInkling, temporaryFolder } from "../lib/server.ts";
import { sum } from "../lib/stats.ts";

const KEYS = 100_000;
const WORKERS = 2;
/** Milliseconds to wait after the start, until the runtime has returned memory that only the start needed. */
const SETTLE_MS = 30_000;
/** New connections to a host in each check. They reach both workers. */
const CONNECTIONS = 8;

type Host = Awaited<ReturnType<typeof startInkling>>;

/** Do all workers of all hosts return this status for a token? */
async function areAll(hosts: readonly Host[], token: string, status: number): Promise<boolean> {
  const request = async ({ port }: Host) => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${port}${GEOLOCATE}`, { headers, keepalive: false });
    await response.bytes();
    return response.status === status;
  };
  const requests = hosts.flatMap((host) => Array.from({ length: CONNECTIONS }, () => request(host)));
  return (await Promise.all(requests)).every((isRight) => isRight);
}

async function secondsUntil(isDone: () => Promise<boolean>): Promise<number> {
  const from = performance.now();
  while (!(await isDone())) await Bun.sleep(10);
  return (performance.now() - from) / 1_000;
}

async function timeChanges(run: Run, who: string, store: Store, hosts: readonly Host[]): Promise<void> {
  const [created, revoked]: [number[], number[]] = [[], []];
  for (let i = 0; i < run.size(20, 3); i++) {
    await Bun.sleep(300 + 700 * Math.random()); // a random moment between two checks
    const { key, token } = await store.createKey(parseNewKey({ name: "new" }, Date.now()));
    created.push(await secondsUntil(() => areAll(hosts, token, 200)));
    await store.revokeKey(key.id);
    revoked.push(await secondsUntil(() => areAll(hosts, token, 401)));
  }
  run.row("until every worker applies a change", who, "a new key, s", created);
  run.row("until every worker applies a change", who, "a revoked key, s", revoked);
}

/** Measures hosts on one database. */
async function measureHosts(run: Run, who: string, url: string, count: number, keys: number): Promise<void> {
  const store = await openStore(url, { timeoutMs: 60_000 });
  if (keys > 0) await fillKeys(url, keys);
  const folders = Array.from({ length: count }, () => {
    const dataDir = temporaryFolder(run);
    smallRelease(dataDir, 1);
    return dataDir;
  });
  const start = () =>
    Promise.all(
      folders.map((dataDir) =>
        startInkling(run, run.checkout, { dataDir, workers: WORKERS, env: { INKLING_DATABASE_URL: url } }),
      ),
    );
  let hosts = await start();
  await Bun.sleep(SETTLE_MS);
  const memory = (kind: "resident" | "proportional") =>
    hosts.map(({ pid }) => sum(processTree(pid).map((one) => memoryOf(one)[kind])));
  log(`${who}: ${keys} keys`);
  run.row("memory of a host with its workers", who, "resident, MB", memory("resident"));
  run.row("memory of a host with its workers", who, "proportional, MB", memory("proportional"));
  await timeChanges(run, who, store, hosts);
  run.row("memory after these changes", who, "resident, MB", memory("resident"));
  run.row("memory after these changes", who, "proportional, MB", memory("proportional"));
  await Promise.all(hosts.map((host) => host.stop()));
  const from = performance.now();
  hosts = await start();
  run.row("restart", who, "until all hosts answer, s", [(performance.now() - from) / 1_000]);
  const cpu = hosts.map(({ pid }) => cpuMicroseconds(pid) / 1e6);
  run.row("restart", who, "CPU of a host, s", cpu);
  await Promise.all(hosts.map((host) => host.stop()));
  await store.close();
}

const GROUP_HOSTS = 30;
const GROUP_KEYS = 1_000;
const NS_PER_LOOKUP = 1e6;

/** Lets hosts exchange their counts of the same keys, all of which each host uses all the time. */
async function measureExchanges(run: Run, url: string): Promise<void> {
  const keyIds = Array.from({ length: GROUP_KEYS }, (_, i) => `key_${String(i).padStart(16, "0")}`);
  const hosts = await Promise.all(
    Array.from({ length: GROUP_HOSTS }, async (_, i) => {
      const store = await openStore(url);
      run.defer(() => store.close());
      const cells = new LimitCells(Date.now());
      while (cells.size < GROUP_KEYS) cells.grow();
      const counts = new GroupCounts(cells, (keyId) => ({
        cell: Number(keyId.slice(4)),
        each: NS_PER_LOOKUP,
        whole: 2_000 * NS_PER_LOOKUP,
      }));
      const source = new GroupTables(store.database, `host-${i}`);
      const exchange = new GroupExchange({
        counts,
        source,
        keyCells: { takeUsed: () => new Set(keyIds), takeStored: () => {} },
      });
      run.defer(() => exchange.stop());
      return { cells, exchange };
    }),
  );
  const traffic = setInterval(() => {
    for (const { cells } of hosts)
      for (let cell = 0; cell < GROUP_KEYS; cell++)
        cells.take(cell, Date.now(), NS_PER_LOOKUP, 1, 2_000 * NS_PER_LOOKUP);
  }, 100);
  run.defer(() => clearInterval(traffic));
  for (const { exchange } of hosts) await exchange.start();
  await using sql = new SQL(url, { max: 1 });
  const read = async () => {
    const [row] =
      await sql`SELECT pg_backend_pid() AS pid, CAST(pg_database_size(current_database()) AS FLOAT) AS bytes,
      CAST(xact_commit AS FLOAT) AS statements FROM pg_stat_database WHERE datname = current_database()`;
    const postmaster = parseStat(readFileSync(`/proc/${row.pid}/stat`, "utf8")).parent;
    return { ...row, postmaster, cpu: cpuMicroseconds(postmaster) / 1e6 };
  };
  const seconds = run.size(60, 20);
  await Bun.sleep(5_000);
  const before = await read();
  await Bun.sleep(seconds * 1_000);
  const after = await read();
  const who = `${GROUP_HOSTS} hosts, ${GROUP_KEYS} keys`;
  const per = (name: "statements" | "cpu") => [(after[name] - before[name]) / seconds];
  run.row("PostgreSQL while all hosts use the same keys", who, "statements, /s", per("statements"));
  run.row("PostgreSQL while all hosts use the same keys", who, "CPU, cores", per("cpu"));
  const memory = sum(processTree(after.postmaster).map((one) => memoryOf(one).proportional));
  run.row("PostgreSQL while all hosts use the same keys", who, "memory, MB", [memory]);
  run.row("PostgreSQL while all hosts use the same keys", who, "database, MB", [after.bytes / 1e6]);
}

export async function measureKeys(run: Run): Promise<void> {
  const postgres = await Postgres.create();
  run.defer(() => postgres.close());
  await measureExchanges(run, await postgres.freshDatabase());
  for (const keys of [0, KEYS]) {
    const many = keys === 0 ? "one key" : "100,000 keys";
    const file = `sqlite://${temporaryFolder(run)}/inkling.db`;
    await measureHosts(run, `one host, SQLite, ${many}`, file, 1, keys);
    await measureHosts(run, `three hosts, PostgreSQL, ${many}`, await postgres.freshDatabase(), 3, keys);
  }
}
