// database-lost.test.ts: tests a database that is unreachable, lost, empty or older under running servers: what remains
// active, what is refused and reported, and what the file `revoked` of each host keeps refused.

import { afterAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { MAIN } from "../../harness/bundled-program.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { GEOLOCATE, SMALL_NETWORK, smallFlag, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const ADA = { author: "ada", source: "cli" } as const;
const OVERRIDE = {
  kind: "address",
  value: ADDRESS,
  flag: smallFlag(1),
  verdict: false,
  note: "office",
  author: "ada",
  expiresAt: undefined,
} as const;

async function startServer(dataDir: string, env: Record<string, string> = {}): Promise<ServerProgram> {
  const main = new ServerProgram({ dataDir, env });
  cleanUps.push(() => main.kill());
  await main.ready();
  return main;
}

async function inkling(dataDir: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, ...BUN_FLAGS, MAIN, ...args], {
    cwd: dataDir,
    env: { PATH: process.env.PATH ?? "", INKLING_DATA_DIR: dataDir, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, out, err };
}

const warningsOf = async ({ port }: ServerProgram) => {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`);
  const { warnings = [] } = (await response.json()) as { warnings?: string[] };
  return { status: response.status, warnings };
};

async function admin(
  { adminPort }: ServerProgram,
  token: string,
  method: string,
  path: string,
  body?: object,
) {
  const response = await fetch(`http://127.0.0.1:${adminPort}/admin/v1/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as { code?: string; detail?: string }) };
}

function folder(): string {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  return dataDir;
}

const revokedIn = (dataDir: string): { id: string; author: string; created_at?: string }[] =>
  existsSync(join(dataDir, "revoked"))
    ? readFileSync(join(dataDir, "revoked"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
const idsIn = (dataDir: string) => revokedIn(dataDir).map(({ id }) => id);

async function stop(main: ServerProgram): Promise<void> {
  main.child.kill("SIGTERM");
  await main.child.exited;
}

/** Keys and an admin token, two of which are revoked after the copy of the database is made. */
async function setUpStore(address: string) {
  const store = await openStore(address);
  cleanUps.push(() => store.close());
  const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
  const [kept, before, after] = [await make("kept"), await make("before"), await make("after")];
  const token = await store.adminToken.add({ name: "bea", role: "admin", expiresAt: undefined }, ADA);
  await store.revokeKey(before.key.id, ADA);
  const revokeLater = async () => {
    await store.revokeKey(after.key.id, ADA);
    await store.adminToken.revoke("bea", ADA);
  };
  return { store, kept, before, after, token: token.token, revokeLater };
}

/** Expects that a server refuses what was revoked after the dump, which its database now has again. */
async function expectRefused(
  main: ServerProgram,
  { kept, before, after, token }: Awaited<ReturnType<typeof setUpStore>>,
) {
  await until(async () => (await warningsOf(main)).warnings.join().includes(after.key.id));
  const { status, warnings } = await warningsOf(main);
  expect([status, warnings]).toEqual([
    200,
    [
      expect.stringMatching(
        /^only this host refuses 1 key, because its file `revoked` lists them: key_\w+; `inkling keys revoke ID` /,
      ),
    ],
  ]);
  expect(await main.metric("inkling_keys_revoked_here")).toBe(1);
  expect(main.events("keys-revoked-here")).toMatchObject([{ level: "error", keys: 1 }]);
  const statuses = [kept, before, after].map((key) => main.status(GEOLOCATE, key.token));
  expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
  expect(await admin(main, token, "GET", "keys")).toMatchObject({ status: 401 });
}

describe("an older database", () => {
  test("an SQLite file: what was revoked since stays refused, until its line is removed", async () => {
    const dataDir = folder();
    const file = join(dataDir, "inkling.db");
    const copy = join(dataDir, "older.db");
    const setUp = await setUpStore(`sqlite://${file}`);
    const sql = new SQL({ adapter: "sqlite", filename: file });
    await sql`PRAGMA wal_checkpoint(TRUNCATE)`;
    await sql.close();
    copyFileSync(file, copy);
    const main = await startServer(dataDir);
    expect(idsIn(dataDir)).toEqual([setUp.before.key.id]);
    expect(await admin(main, setUp.token, "GET", "keys")).toMatchObject({ status: 200 });
    await setUp.revokeLater(); // by a process without a data folder
    await until(async () => (await main.status(GEOLOCATE, setUp.after.token)) === 401);
    await until(() => idsIn(dataDir).length === 3);
    expect(revokedIn(dataDir).slice(1)).toMatchObject([
      { id: setUp.after.key.id, author: "ada" },
      { id: "bea", author: "ada", created_at: expect.any(String) },
    ]);
    await setUp.store.close();
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    renameSync(copy, file);
    await expectRefused(main, setUp);
    const listed = await inkling(dataDir, ["keys", "list", "--json"]);
    const states = (JSON.parse(listed.out) as { id: string; state: string }[]).map(({ id, state }) => [
      id,
      state,
    ]);
    expect(states).toContainEqual([setUp.after.key.id, "revoked"]);
    expect(states).toContainEqual([setUp.kept.key.id, "live"]);

    await stop(main);
    const again = await startServer(dataDir);
    await expectRefused(again, setUp);
    await stop(again);
    const lines = readFileSync(join(dataDir, "revoked"), "utf8").split("\n");
    writeFileSync(
      join(dataDir, "revoked"),
      lines.filter((line) => !line.includes(setUp.after.key.id)).join("\n"),
    );
    const last = await startServer(dataDir);
    expect(await last.status(GEOLOCATE, setUp.after.token)).toBe(200);
    expect((await warningsOf(last)).warnings).toEqual([]);

    expect((await inkling(dataDir, ["keys", "revoke", setUp.after.key.id])).exitCode).toBe(0);
    await until(async () => (await last.status(GEOLOCATE, setUp.after.token)) === 401);
    await until(async () => (await warningsOf(last)).warnings.length === 0);
    expect(last.events("key-revoked-here")).toEqual([]);
  });

  test("a PostgreSQL dump: the same on a server that runs, and on one that starts after it", async () => {
    const postgres = await Postgres.create();
    cleanUps.push(() => postgres.close());
    const address = await postgres.freshDatabase();
    const env = { INKLING_DATABASE_URL: address, INKLING_API_KEY: "" };
    const sql = new SQL(address);
    cleanUps.push(() => sql.close());
    const setUp = await setUpStore(address);
    const tables = ["keys", "tokens", "key_stamp", "key_changes", "named_admin_tokens", "audit"].map(
      (name) => `inkling_${name}`,
    );
    for (const table of tables) await sql.unsafe(`CREATE TABLE dump_${table} AS SELECT * FROM ${table}`);
    const [running, stopped] = [await startServer(folder(), env), await startServer(folder(), env)];
    await setUp.revokeLater();
    for (const main of [running, stopped]) await until(() => idsIn(main.dataDir).length === 3);
    await stop(stopped);
    await sql.begin(async (tx) => {
      await tx.unsafe(`TRUNCATE ${tables.join(", ")}`);
      for (const table of tables) await tx.unsafe(`INSERT INTO ${table} SELECT * FROM dump_${table}`);
    });
    await expectRefused(await startServer(stopped.dataDir, env), setUp);
    await expectRefused(running, setUp);
    const fresh = await startServer(folder(), env); // a new host has no history
    expect(await fresh.status(GEOLOCATE, setUp.after.token)).toBe(200);
    drilled(
      import.meta.path,
      "PostgreSQL goes back to an older state, as by a failover that loses changes",
      "every lookup of the keys of that state",
      "revocations since then, on hosts that had seen them; a new host has no list of them",
    );
  });
});

test("PostgreSQL that is unreachable: changes are refused, a key is revoked on each host, and a restart keeps that", async () => {
  const postgres = await Postgres.create();
  cleanUps.push(() => postgres.close());
  const env = { INKLING_DATABASE_URL: await postgres.freshDatabase() };
  const store = await openStore(env.INKLING_DATABASE_URL);
  cleanUps.push(() => store.close());
  const leaked = await store.createKey(parseNewKey({ name: "leaked" }, 0));
  const token = (await store.adminToken.create(ADA))!;
  const [main, other] = [await startServer(folder(), env), await startServer(folder(), env)];
  const { dataDir } = main;
  await until(() => existsSync(join(dataDir, "keys.json")));
  expect(await warningsOf(main)).toEqual({ status: 200, warnings: [] });
  await postgres.stop();
  await until(async () => (await warningsOf(main)).warnings.length > 0);
  expect(await warningsOf(main)).toEqual({
    status: 200,
    warnings: [expect.stringMatching(/^the database is unreachable, .*; run `inkling doctor` to see why$/)],
  });
  expect(await main.status(GEOLOCATE)).toBe(200);
  const away = { status: 503, code: "DATABASE_UNREACHABLE", detail: expect.stringContaining("unreachable") };
  expect(await admin(main, token, "POST", "keys", { name: "new" })).toMatchObject(away);
  expect(await admin(main, token, "DELETE", `keys/${leaked.key.id}`)).toMatchObject(away);
  for (const args of [
    ["keys", "create"],
    ["data", "rollback"],
    ["feeds", "disable", "disposable-email-domains"],
  ])
    expect([args, await inkling(dataDir, args, env)]).toEqual([
      args,
      expect.objectContaining({ exitCode: 1 }),
    ]);
  const revoke = ["keys", "revoke", leaked.key.id];
  const refused = await inkling(dataDir, revoke, env);
  expect(refused).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining(`${revoke.join(" ")} --here\``),
  });
  expect([await main.status(GEOLOCATE, leaked.token), idsIn(dataDir)]).toEqual([200, []]);

  const unknown = await inkling(dataDir, ["keys", "revoke", "key_0000000000000000", "--here"], env);
  expect(unknown).toMatchObject({ exitCode: 1, err: expect.stringContaining("has no active key") });
  const here = await inkling(dataDir, [...revoke, "--here"], env);
  expect(here).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("Other hosts accept it until you repeat this command there."),
  });
  await until(async () => (await main.status(GEOLOCATE, leaked.token)) === 401);
  expect(await other.status(GEOLOCATE, leaked.token)).toBe(200);
  await until(() => main.events("key-revoked-here").length === 1);
  expect(main.events("key-revoked-here")).toMatchObject([{ key: leaked.key.id, level: "error" }]);

  await main.kill();
  const again = await startServer(dataDir, { ...env, INKLING_API_KEY: "" });
  expect(await again.status(GEOLOCATE, leaked.token)).toBe(401);
  expect(await again.status(GEOLOCATE, main.token)).toBe(200);
  expect(await again.metric("inkling_keys_revoked_here")).toBe(1);
  await postgres.start();
  const isReachable = async () => (await again.metric("inkling_database_reachable")) === 1;
  await until(isReachable);
  await until(async () => (await warningsOf(again)).warnings.length === 1);
  expect((await warningsOf(again)).warnings).toEqual([
    expect.stringContaining("only this host refuses 1 key"),
  ]);
  expect(await again.status(GEOLOCATE, leaked.token)).toBe(401);
  expect(await inkling(dataDir, revoke, env)).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(/^Revoked live key /),
  });
  await until(async () => (await other.status(GEOLOCATE, leaked.token)) === 401);
  await until(async () => (await warningsOf(again)).warnings.length === 0);
  await until(() => idsIn(other.dataDir).includes(leaked.key.id));
  expect(idsIn(dataDir)).toEqual([leaked.key.id]);
  drilled(
    import.meta.path,
    "PostgreSQL is unreachable, also during a restart",
    "every lookup, with the keys that the host last read",
    "all keys; changes are refused, and a key that was revoked with `--here` stays refused",
  );
});

test("a list that cannot be read stops the start, and one that cannot be written refuses the revocation", async () => {
  const dataDir = folder();
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  cleanUps.push(() => store.close());
  const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  const root = (await store.adminToken.create(ADA))!;
  const file = join(dataDir, "revoked");
  const failing = async () => {
    const main = new ServerProgram({ dataDir });
    cleanUps.push(() => main.kill());
    expect(await main.child.exited).toBe(1);
    return main.err;
  };
  writeFileSync(file, "key_aaaaaaaaaaaaaaaa\n");
  expect(await failing()).toContain('has a line that is not a revocation: "key_aaaaaaaaaaaaaaaa"');
  rmSync(file);
  const main = await startServer(dataDir);
  mkdirSync(file); // nobody can write it, not even root
  expect(await admin(main, root, "DELETE", `keys/${key.id}`)).toMatchObject({
    status: 503,
    code: "REVOCATION_UNWRITTEN",
  });
  const command = await inkling(dataDir, ["keys", "revoke", key.id]);
  expect(command).toMatchObject({
    exitCode: 1,
    err: expect.stringMatching(/cannot write .*revoked: EISDIR.*; nothing was/),
  });
  expect([await main.status(GEOLOCATE, token), (await store.findKey(key.id))?.revokedAt]).toEqual([
    200,
    undefined,
  ]);
  rmSync(file, { recursive: true });
  writeFileSync(file, '{"id":"key_torn');
  expect(await inkling(dataDir, ["keys", "revoke", key.id])).toMatchObject({ exitCode: 0 });
  await until(async () => (await main.status(GEOLOCATE, token)) === 401);
});

test("a file that is lost under a running server: commands create no other, and name the ways back", async () => {
  const dataDir = folder();
  const file = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${file}`);
  const [shop, leaked] = [
    await store.createKey(parseNewKey({ name: "shop" }, 0)),
    await store.createKey(parseNewKey({ name: "leaked" }, 0)),
  ];
  await store.close();
  const main = await startServer(dataDir);
  await until(() => existsSync(join(dataDir, "keys.json")));
  expect(await inkling(dataDir, ["backup", "x.backup"])).toMatchObject({ exitCode: 0 });
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  await until(async () => (await warningsOf(main)).warnings.join().includes("the database file is missing"));
  await until(() => main.events("database-unreachable").length > 0); // the next statement finds out
  expect(main.events("database-unreachable")).toMatchObject([{ hint: expect.stringContaining("restore") }]);
  const refused = {
    exitCode: 1,
    err: expect.stringMatching(/the database was lost: .*\nhint: .*restore.*keys\.json/),
  };
  for (const command of [
    ["keys", "create"],
    ["admin-tokens", "rotate"],
    ["data", "rollback", readFileSync(join(dataDir, "current"), "utf8").trim()],
    ["overrides", "add", ADDRESS, "--flag", `${smallFlag(1)}=false`, "--note", "office"],
  ])
    expect([command, await inkling(dataDir, command)]).toEqual([command, expect.objectContaining(refused)]);
  const listed = await inkling(dataDir, ["keys", "list"]);
  expect(listed).toMatchObject({ exitCode: 0, err: expect.stringContaining("that this host last read") });
  expect(listed.out).toContain(shop.key.id);
  const doctor = await inkling(dataDir, ["doctor"]);
  expect(doctor.exitCode).toBe(1);
  expect(doctor.out).toMatch(/^problem {2}database: the database was lost: .*\n +-> .*restore/m);
  expect(await inkling(dataDir, ["keys", "revoke", leaked.key.id, "--here"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await main.status(GEOLOCATE, leaked.token)) === 401);
  expect([existsSync(file), await main.status(GEOLOCATE, shop.token)]).toEqual([false, 200]);

  expect(await inkling(dataDir, ["restore", "x.backup", "--force"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await warningsOf(main)).warnings.join().includes("only this host refuses 1 key"));
  expect(await main.status(GEOLOCATE, shop.token)).toBe(200);
  expect(await main.status(GEOLOCATE, leaked.token)).toBe(401);
  expect(await inkling(dataDir, ["keys", "create"])).toMatchObject({ exitCode: 0 });
  drilled(
    import.meta.path,
    "the SQLite file is deleted under a running server",
    "every lookup, with the keys that the host last read",
    "a copy of keys and overrides; no command creates an empty database, and a restored backup continues",
  );
});

test("an empty database: the copies apply, and nothing is created in it", async () => {
  const dataDir = folder();
  const file = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${file}`);
  const { token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  await store.overrides.put([OVERRIDE], ADA);
  await store.close();
  const first = await startServer(dataDir);
  await until(() => ["keys", "overrides"].every((name) => existsSync(join(dataDir, `${name}.json`))));
  await stop(first);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  const main = await startServer(dataDir);
  await until(async () =>
    (await warningsOf(main)).warnings.join().includes("2 keys and 1 override apply from"),
  );
  expect(main.events("chosen-key-not-created")).toHaveLength(1);
  const empty = await openStore(`sqlite://${file}`);
  cleanUps.push(() => empty.close());
  const root = (await empty.adminToken.create(ADA))!;
  expect(await admin(main, root, "POST", "keys", { name: "new" })).toMatchObject({
    status: 503,
    code: "DATABASE_UNREACHABLE",
    detail: expect.stringContaining("The database is empty"),
  });
  expect(await inkling(dataDir, ["keys", "create"])).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining(`sqlite://${file} is empty`),
  });
  expect(await main.status(GEOLOCATE, token)).toBe(200);
  await stop(main);
  for (const name of ["keys", "overrides"]) rmSync(join(dataDir, `${name}.json`));
  const started = await startServer(dataDir);
  expect([await started.status(GEOLOCATE, token), await started.status(GEOLOCATE)]).toEqual([401, 200]);
  expect((await warningsOf(started)).warnings).toEqual([]);
});
