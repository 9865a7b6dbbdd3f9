// many-keys.test.ts: tests three hosts on one database with 100,000 keys (20,000 by default). A change reads, sends and
// stores only the keys that changed.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/data";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { fillKeys } from "../../harness/many-keys.ts";
import { Postgres } from "../../harness/postgres.ts";
import { GEOLOCATE } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { share } from "../../harness/share.ts";
import { until } from "../../harness/until.ts";

const KEYS = share(100_000, 20_000);

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await postgres?.close();
});

async function allReturn(hosts: readonly ServerProgram[], token: string, status: number): Promise<void> {
  for (const host of hosts) await host.everywhere(GEOLOCATE, (response) => response.status === status, token);
}

async function openFilled(): Promise<{ url: string; store: Store }> {
  const url = await postgres.freshDatabase();
  const store = await openStore(url, { timeoutMs: 60_000 });
  cleanUps.push(() => store.close());
  await fillKeys(url, KEYS);
  return { url, store };
}

test("a created, changed and a revoked key apply on three hosts, which read only these keys", async () => {
  const { url, store } = await openFilled();
  const hosts: ServerProgram[] = [];
  for (let i = 0; i < 3; i++) {
    const host = new ServerProgram({ env: { INKLING_DATABASE_URL: url } });
    cleanUps.push(() => host.stop());
    hosts.push(host);
  }
  for (const host of hosts) await host.ready();
  const copyOf = ({ dataDir }: ServerProgram) => statSync(join(dataDir, DATA_FOLDER.keys));
  const [first, second] = [parseNewKey({ name: "a" }, 0), parseNewKey({ name: "b" }, 0)];
  const [one, two] = [await store.createKey(first), await store.createKey(second)];
  await allReturn(hosts, one.token, 200);
  await allReturn(hosts, two.token, 200);
  await until(() => hosts.every((host) => copyOf(host).size > 180 * KEYS));
  const before = hosts.map(copyOf);
  await store.revokeKey(one.key.id);
  await allReturn(hosts, one.token, 401);
  await store.changeKey(two.key.id, { scopes: ["email"] });
  await allReturn(hosts, two.token, 403);
  // The copy grows by the changed keys. A new file would have another number.
  await until(() => hosts.every((host, i) => copyOf(host).size > before[i]!.size));
  for (const [i, host] of hosts.entries()) {
    const after = copyOf(host);
    expect(after.ino).toBe(before[i]!.ino);
    expect(after.size - before[i]!.size).toBeLessThan(5_000);
  }
  // A host that starts from the copy has the changes.
  await postgres.stop();
  const [again] = hosts;
  const { dataDir } = again!;
  await again!.stop();
  const restarted = new ServerProgram({ dataDir, env: { INKLING_DATABASE_URL: url } });
  cleanUps.push(() => restarted.stop());
  await restarted.ready();
  await allReturn([restarted], one.token, 401);
  await allReturn([restarted], two.token, 403);
  await postgres.start();
});
