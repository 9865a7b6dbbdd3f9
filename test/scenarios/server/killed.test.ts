// killed.test.ts: kills a publication, a backup, a restore and an upgrade at random moments. The release in use still
// answers, keys and overrides are complete, no part of a file is taken for the whole, and the same command then
// succeeds.
//
// build-killed.test.ts kills builds. `npm run test:faults` kills all five 200 times together.

import { Database as Sqlite } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { currentName, verifyRelease } from "@inkling/data";
import { ChannelFollower, makeKeyPair, openReader } from "@inkling/data/channel";
import { openStore, parseNewKey } from "@inkling/store";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { FolderObjects } from "../../../packages/data/src/channel/folder-objects.ts";
import { Database } from "../../../packages/store/src/database.ts";
import { MIGRATIONS } from "../../../packages/store/src/migrations.ts";
import { randomBelow } from "../../harness/random.ts";
import { drilled, IS_DRILL } from "../../harness/recorded-rows.ts";
import { smallCity, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { FLAG_ADDRESS, type SmallServer, startServerOn } from "../../harness/server.ts";
import { FULL } from "../../harness/share.ts";
import { until } from "../../harness/until.ts";
import { publisherOf, type Work } from "./killed-process.ts";

const SEED = Number(process.env.INKLING_FUZZ_SEED ?? (IS_DRILL ? Date.now() % 1_000_000 : 1));
const random = randomBelow(SEED);
/** In the drill, these and the builds of build-killed.test.ts are 200 kills. */
const kills = (count: number) => (IS_DRILL || FULL ? count : 3);
const KILLS = { publish: kills(35), backup: kills(35), restore: kills(35), upgrade: kills(35) };
const PROCESS = join(import.meta.dir, "killed-process.ts");
/** More than a page, so that a copy takes long enough to be killed in it. */
const USAGE_ROWS = 40_000;
/** The step of the version that is upgraded. */
const OLD_STEP = MIGRATIONS[0]!.id;

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});
beforeAll(() => {
  if (IS_DRILL) process.stdout.write(`kills with INKLING_FUZZ_SEED=${SEED}\n`);
});

/** @returns the milliseconds from "ready" to the end of the work, or undefined if it was killed before that */
async function attempt(work: Work, killAfterMs?: number): Promise<number | undefined> {
  const child = Bun.spawn([process.execPath, PROCESS, JSON.stringify(work)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = child.stdout.getReader();
  const decoder = new TextDecoder();
  let printed = "";
  const readUntil = async (word: string) => {
    while (!printed.includes(word)) {
      const { done, value } = await output.read();
      if (done) return;
      printed += decoder.decode(value, { stream: true });
    }
  };
  await readUntil("ready");
  const from = performance.now();
  if (killAfterMs !== undefined) {
    await Bun.sleep(killAfterMs);
    child.kill("SIGKILL");
  }
  await readUntil("done");
  const tookMs = performance.now() - from;
  await child.exited;
  if (printed.includes("done")) return tookMs;
  if (child.signalCode === "SIGKILL" && killAfterMs !== undefined) return undefined;
  throw new Error(await new Response(child.stderr).text());
}

/** Maximum attempts for each kill: the work often ends before it is killed. */
const MAX_ATTEMPTS = 10;

/**
 * Kills the work again and again, at a random moment of the time that it takes.
 * @param check what must hold after each kill; repeats the work as well
 */
async function killOften(
  count: number,
  work: (n: number) => Work,
  check: (n: number) => Promise<void>,
): Promise<void> {
  let tookMs = (await attempt(work(0)))!;
  await check(0);
  let kills = 0;
  for (let n = 1; kills < count && n <= MAX_ATTEMPTS * count; n++) {
    const took = await attempt(work(n), (random(1_000) / 1_000) * tookMs);
    if (took === undefined) kills++;
    else tookMs = took; // it had ended before
    await check(n);
  }
  expect(kills).toBe(count);
}

const run = (dataDir: string, ...args: string[]) =>
  runHere(args, { cwd: dataDir, env: { INKLING_DATA_DIR: dataDir } });

const TABLES = ["keys", "tokens", "overrides", "rulesets", "decision_counts"];
/** The rows of the test, without what a server counts meanwhile. */
const USAGE = "inkling_usage WHERE lookup LIKE 'lookup %'";

/** Returns everything that a database must not lose, as one text. */
function contentOf(path: string): string {
  const database = new Sqlite(path, { readonly: true });
  try {
    expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const rows = [...TABLES.map((name) => `inkling_${name}`), USAGE].map((from) =>
      database.query(`SELECT * FROM ${from} ORDER BY 1, 2, 3`).all(),
    );
    return Bun.hash(JSON.stringify(rows)).toString(16);
  } finally {
    database.close();
  }
}

/** A host that serves small release 1, with keys, an override and usage. */
async function host(): Promise<{ dataDir: string; database: string; server: SmallServer }> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const database = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${database}`);
  const { key } = await store.createKey(parseNewKey({ name: "shop", quota: 1e9 }, Date.now()));
  await store.overrides.put([FLAG_ADDRESS], { author: "test", source: "cli" });
  await store.close();
  const rows = new Sqlite(database);
  const insert = rows.prepare("INSERT INTO inkling_usage (day, key_id, lookup, count) VALUES (?, ?, ?, 1)");
  rows.transaction(() => {
    for (let i = 0; i < USAGE_ROWS; i++)
      insert.run(new Date(i * 86_400_000).toISOString().slice(0, 10), key.id, `lookup ${i}`);
  })();
  rows.close();
  const server = await startServerOn(dataDir, { checkMs: 20 });
  closers.push(() => server.server.stop());
  return { dataDir, database, server };
}

async function isServed({ server }: { readonly server: SmallServer }): Promise<void> {
  const response = await server.lookUp(server.keys.live);
  const body = (await response.json()) as { city?: { name: string } };
  expect([response.status, body.city?.name]).toEqual([200, smallCity(1)]);
  expect(await server.isAbuser(server.keys.live)).toBe(true);
}

const leftovers = (folder: string) => readdirSync(folder).filter((name) => name.startsWith(".tmp-"));

/** Makes what killed processes left two hours old. The next process removes it then, because nobody writes to it. */
function age(folder: string): void {
  const at = Date.now() / 1_000 - 7_200;
  for (const name of leftovers(folder)) utimesSync(join(folder, name), at, at);
}

test("a backup that is killed leaves no file under its name, or a complete one", async () => {
  const one = await host();
  await until(() => one.server.isAbuser(one.server.keys.live));
  const folder = temporaryFolder();
  const file = join(folder, "x.backup");
  const before = contentOf(one.database);
  await killOften(
    KILLS.backup,
    () => ({ command: ["backup", file], dataDir: one.dataDir }),
    async () => {
      await isServed(one);
      if (!existsSync(file))
        expect(await run(one.dataDir, "backup", file)).toMatchObject({ code: 0, err: "" });
      const target = temporaryFolder();
      expect(await run(target, "restore", file)).toMatchObject({ code: 0, err: "" });
      expect(contentOf(join(target, "inkling.db"))).toBe(before);
      rmSync(target, { recursive: true });
      rmSync(file);
    },
  );
  expect(leftovers(folder).length).toBeGreaterThan(0);
  age(folder);
  expect(await run(one.dataDir, "backup", file)).toMatchObject({ code: 0 });
  expect(readdirSync(folder)).toEqual(["x.backup"]);
  drilled(
    import.meta.path,
    `kill -9 at ${KILLS.backup} random points of a backup`,
    "every lookup, with its key and override",
    "no file under the backup's name, or a complete one that restores every row; the next backup succeeds, and later ones remove what is left of it",
  );
});

test("a restore that is killed leaves the database as it was, or all of the backup", async () => {
  const one = await host();
  await until(() => one.server.isAbuser(one.server.keys.live));
  const folder = temporaryFolder();
  const [first, second] = [join(folder, "first.backup"), join(folder, "second.backup")];
  expect(await run(one.dataDir, "backup", first)).toMatchObject({ code: 0 });
  const contents = [contentOf(one.database)];
  for (const name of ["later", "latest"])
    expect(await run(one.dataDir, "keys", "create", "--name", name)).toMatchObject({ code: 0 });
  expect(await run(one.dataDir, "backup", second)).toMatchObject({ code: 0 });
  contents.push(contentOf(one.database));
  expect(new Set(contents).size).toBe(2);
  await killOften(
    KILLS.restore,
    (n) => ({ command: ["restore", "--force", n % 2 === 0 ? first : second], dataDir: one.dataDir }),
    async (n) => {
      expect(contents).toContain(contentOf(one.database));
      await isServed(one);
      const again = await run(one.dataDir, "restore", "--force", n % 2 === 0 ? first : second);
      expect(again.code).toBe(0);
      expect(contentOf(one.database)).toBe(contents[n % 2]!);
      for (const name of readdirSync(one.dataDir))
        if (name.includes(".before")) rmSync(join(one.dataDir, name), { recursive: true });
    },
  );
  expect(leftovers(one.dataDir).length).toBeGreaterThan(0);
  age(one.dataDir);
  expect(await run(one.dataDir, "restore", "--force", first)).toMatchObject({ code: 0 });
  expect(leftovers(one.dataDir)).toEqual([]);
  drilled(
    import.meta.path,
    `kill -9 at ${KILLS.restore} random points of a restore`,
    "every lookup, with its key and override",
    "all rows of before, or all rows of the backup; the same command then succeeds",
  );
});

test("an upgrade that is killed leaves the tables of the old version, or those of the new one", async () => {
  const folder = temporaryFolder();
  const old = join(folder, "old.db");
  const database = new Database(`sqlite://${old}`, {}, { migrations: MIGRATIONS.slice(0, 1) });
  await database.ready();
  await database.close();
  fillOld(old);
  const upgraded = join(folder, "inkling.db");
  const fresh = () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(upgraded + suffix, { force: true });
    copyFileSync(old, upgraded);
  };
  let wanted: string | undefined;
  fresh();
  await killOften(
    KILLS.upgrade,
    () => ({ upgrade: `sqlite://${upgraded}` }),
    async () => {
      const half = new Sqlite(upgraded);
      expect(half.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      const { step } = half.query("SELECT MAX(id) AS step FROM inkling_migrations").get() as { step: number };
      expect([OLD_STEP, MIGRATIONS.at(-1)!.id]).toContain(step);
      half.close();
      const store = await openStore(`sqlite://${upgraded}`);
      expect(await store.listKeys()).toHaveLength(100);
      expect((await store.overrides.load()).overrides).toHaveLength(100);
      await store.close();
      wanted ??= contentOf(upgraded);
      expect(contentOf(upgraded)).toBe(wanted);
      fresh();
    },
  );
  drilled(
    import.meta.path,
    `kill -9 at ${KILLS.upgrade} random points of an upgrade of the database`,
    "nothing: a server migrates the tables before it starts",
    "the tables of the old version, or those of the new one, with all keys and overrides; the next start succeeds",
  );
});

/** Fills the tables of the old version, as far as the new version changes them. */
function fillOld(path: string): void {
  const database = new Sqlite(path);
  const insert = (table: string, row: Record<string, string | number | null>) =>
    database
      .prepare(
        `INSERT INTO inkling_${table} (${Object.keys(row).join()}) VALUES (${Object.keys(row)
          .map(() => "?")
          .join()})`,
      )
      .run(...Object.values(row));
  database.transaction(() => {
    for (let i = 0; i < 100; i++) {
      const id = `key_${String(i).padStart(16, "0")}`;
      const made = { created_at: i, expires_at: null };
      insert("keys", {
        ...{ id, name: `shop ${i}`, mode: "live", hint: "abcd", scopes: "geolocate", networks: "" },
        ...{ ...made, rate: null, burst: null, quota: null, revoked_at: null },
      });
      insert("tokens", { hash: `hash ${i}`, key_id: id, created_at: i, valid_until: null });
      insert("overrides", {
        ...{ id: `ovr_${String(i).padStart(16, "0")}`, kind: "address", value: `192.0.2.${i}` },
        ...{ effect: "is_abuser", argument: "true", note: "note", author: "ada", ...made },
        removed_at: null,
      });
    }
    for (let i = 0; i < USAGE_ROWS; i++)
      insert("usage_hours", {
        hour: new Date(Math.floor(i / 10) * 3_600_000).toISOString().slice(0, 13),
        ...{ key_id: "key_0000000000000000", lookup: `lookup ${i % 10}`, count: 1 },
      });
    for (let i = 0; i < USAGE_ROWS / 4; i++)
      insert("decisions", {
        ...{ id: `asm_${String(i).padStart(16, "0")}`, created_at: i * 1_000, event: "sign_up", ruleset: 0 },
        ...{ data_version: "x", action: "deny", review: 0, score: 0.5, degraded: "[]", facts: "{}" },
        ...{ reasons: '[{"code":"proxy","weight":0.35}]', shadow: "[]", outcome: "abuse" },
      });
  })();
  database.close();
}

test("a publication that is killed leaves a channel whose statement names a complete release", async () => {
  const one = await host();
  const { dataDir: followed } = one;
  const builder = temporaryFolder();
  const channel = temporaryFolder();
  const { privatePem, publicKey } = makeKeyPair();
  const given = { publish: channel, dataDir: builder, key: privatePem };
  // A killed publisher's lock counts as left behind after a second, not after a minute.
  const publisher = publisherOf(new FolderObjects(channel, 1_000), privatePem);
  const follower = new ChannelFollower({
    store: openReader(channel, {}),
    channel: "stable",
    publicKeys: [publicKey],
    dataDir: followed,
    verify: verifyRelease,
    now: Date.now,
  });
  const { signal } = new AbortController();
  let next = 2;
  const served = async () => {
    const response = await one.server.lookUp(one.server.keys.live);
    const body = (await response.json()) as { city: { name: string } };
    expect([response.status, /^City \d+$/.test(body.city.name)]).toEqual([200, true]);
    return body.city.name;
  };
  await killOften(
    KILLS.publish,
    () => {
      next += 25;
      return { ...given, from: next };
    },
    async () => {
      await served();
      const found = await publisher.read();
      if (found !== undefined) {
        await follower.follow(signal); // refuses a release whose files are missing, cut short or changed
        verifyRelease(followed, currentName(followed)!);
      }
      next += 25;
      smallRelease(builder, next);
      const published = await publisher.publish(builder, currentName(builder)!);
      expect(published.version).toBeGreaterThan(found?.version ?? 0);
      await follower.follow(signal);
      expect(currentName(followed)).toBe(published.release.name);
      await until(async () => (await served()) === smallCity(next));
    },
  );
  drilled(
    import.meta.path,
    `kill -9 at ${KILLS.publish} random points of publishing to a channel`,
    "every lookup, by the release of before",
    "a signed statement whose release is complete; the next publication succeeds within a minute, and servers follow it",
  );
});
