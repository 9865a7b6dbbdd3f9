// Tests a failover of PostgreSQL: the primary is killed, the servers' address moves to its standby, and the standby is
// promoted, as a managed database or Patroni does.

import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { FLAG_ADDRESS, startGroupHost, type TestServer } from "../../harness/server.ts";
import { TcpProxy } from "../../harness/tcp-proxy.ts";
import { until } from "../../harness/until.ts";

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const ADA = { author: "ada", source: "cli" } as const;
const LOOKUPS = 20;

test("PostgreSQL fails over to its standby: lookups continue, and no key, override or revocation is lost", async () => {
  const primary = await Postgres.create();
  cleanUps.push(() => primary.close());
  const url = await primary.freshDatabase();
  const standby = await primary.standby();
  cleanUps.push(() => standby.close());
  const proxy = await TcpProxy.to(primary.port);
  cleanUps.push(() => proxy.stop());
  const address = url.replace(`:${primary.port}/`, `:${proxy.port}/`);
  const direct = url.replace(`:${primary.port}/`, `:${standby.port}/`);

  const store = await open(address);
  const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
  const [kept, revoked] = [await make("kept"), await make("revoked")];
  await store.overrides.put([FLAG_ADDRESS], ADA);
  const hosts = [await startHost(address), await startHost(address)];
  const everywhere = (isSo: (host: TestServer) => Promise<boolean>) =>
    until(async () => (await Promise.all(hosts.map(isSo))).every(Boolean));
  await store.revokeKey(revoked.key.id, ADA);
  await everywhere(async (host) => (await host.status(revoked.token)) === 401);
  for (let i = 0; i < LOOKUPS; i++) expect(await hosts[i % 2]!.status(kept.token)).toBe(200);
  await until(async () => (await counted(store, kept.key.id)) === LOOKUPS);
  await until(() => hasReplayed(url, direct));

  const expectServed = async () => {
    for (const host of hosts)
      expect([
        await host.status(kept.token),
        await host.status(revoked.token),
        await host.isAbuser(kept.token),
      ]).toEqual([200, 401, true]);
  };
  await primary.kill();
  await everywhere(async (host) => (await host.metric("inkling_database_reachable")) === 0);
  await expectServed();
  proxy.target = standby.port; // before the promotion, when the standby refuses changes
  await everywhere(async (host) => (await host.metric("inkling_database_reachable")) === 1);
  await expectServed();
  await expect(make("too early")).rejects.toThrow();

  const sql = new SQL(direct, { max: 1 });
  cleanUps.push(() => sql.close());
  await sql`SELECT pg_promote(true, 60)`;
  const promoted = await open(direct);
  const fresh = await promoted.createKey(parseNewKey({ name: "since" }, 0));
  await everywhere(async (host) => (await host.status(fresh.token)) === 200);
  await promoted.revokeKey(fresh.key.id, ADA);
  await everywhere(async (host) => (await host.status(fresh.token)) === 401);
  await expectServed();
  await until(async () => (await counted(promoted, kept.key.id)) === LOOKUPS + 3 * hosts.length);
  drilled(
    import.meta.path,
    "PostgreSQL fails over: kill -9, the address moves to a standby, and the standby is promoted",
    "every lookup, with all keys, overrides and revocations",
    "everything that the standby had received; usage of the outage is counted once the standby is promoted",
  );
});

async function open(url: string): Promise<Store> {
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  return store;
}

async function startHost(url: string): Promise<TestServer> {
  const host = await startGroupHost(url);
  cleanUps.push(() => host.server.stop());
  return host;
}

/** Returns how many lookups of the place are stored for a key. */
async function counted(store: Store, keyId: string): Promise<number> {
  const entries = await store.usage.readByDay(keyId, "2000-01-01", "2999-12-31");
  return entries.reduce((sum, { lookup, count }) => sum + (lookup === "geolocate" ? count : 0), 0);
}

/** Has the standby applied everything that the primary has written? */
async function hasReplayed(primary: string, standby: string): Promise<boolean> {
  await using from = new SQL(primary, { max: 1 });
  await using to = new SQL(standby, { max: 1 });
  const [{ lsn }] = await from`SELECT pg_current_wal_lsn()::text AS lsn`;
  const [{ done }] = await to`SELECT pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn AS done`;
  return done;
}
