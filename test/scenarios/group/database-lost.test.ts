// database-lost.test.ts: tests a database that is lost, goes back to an earlier state, or becomes read-only under
// running servers: what remains active, what is reported, and which commands resolve it.

import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { type IssuedKey, openStore, type Store } from "../../../packages/store/src/store.ts";
import { MAIN } from "../../harness/bundled-program.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { GEOLOCATE, SMALL_NETWORK, smallFlag, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { lockSqlite } from "../../harness/sqlite-lock.ts";
import { until } from "../../harness/until.ts";

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const ADA = { actor: "ada", way: "cli" } as const;
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

function folder(): string {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  return dataDir;
}

/** Creates three keys and an override. `copyThenEnd` copies the database, then revokes one key and rotates another. */
async function revokedAfterCopy(address: string, copy: () => Promise<void>) {
  const store = await openStore(address);
  cleanUps.push(() => store.close());
  const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
  const [kept, revoked, rotated] = [await make("kept"), await make("revoked"), await make("rotated")];
  await store.overrides.put([{ ...OVERRIDE, value: ADDRESS.replace("142", "143"), note: "older" }], ADA);
  return {
    store,
    kept,
    revoked,
    rotated,
    copyThenEnd: async () => {
      await copy();
      await store.revokeKey(revoked.key.id, ADA);
      await store.rotateKey(rotated.key.id, Date.now(), ADA);
      const late = await make("made after the dump");
      await store.overrides.put([OVERRIDE], ADA);
      return late;
    },
  };
}

/** Do the copies have the late key and the override? They are written after both apply. */
const isCopied = ({ dataDir }: ServerProgram, { key }: IssuedKey) =>
  readFileSync(join(dataDir, "keys.json"), "utf8").includes(key.id) &&
  existsSync(join(dataDir, "overrides.json")) &&
  readFileSync(join(dataDir, "overrides.json"), "utf8").includes(OVERRIDE.note);

/** Expects what every server must do after the database went back, and after the operator confirmed that. */
async function expectKept(
  main: ServerProgram,
  env: Record<string, string>,
  { kept, revoked, rotated }: Awaited<ReturnType<typeof revokedAfterCopy>>,
  late: IssuedKey,
) {
  await until(() => main.events("database-went-back").length === 1);
  expect(main.events("database-went-back")).toMatchObject([
    { level: "error", revocations_kept: 1, hint: expect.stringContaining("inkling database confirm") },
  ]);
  const statuses = async () => [
    await main.status(GEOLOCATE, kept.token),
    await main.status(GEOLOCATE, revoked.token),
    await main.status(GEOLOCATE, rotated.token),
  ];
  await until(async () => (await warningsOf(main)).warnings.length > 0);
  expect(await statuses()).toEqual([200, 401, 401]);
  const { status, warnings } = await warningsOf(main);
  expect([status, warnings.join()]).toEqual([
    200,
    expect.stringContaining("reverted to an earlier state: 1"),
  ]);
  expect(await main.metric("inkling_database_went_back")).toBe(1);
  const asides = ["keys", "overrides"].map((name) => join(main.dataDir, `${name}.before.json`));
  await until(() => main.events("database-copy-kept").length === 2);
  const files = main.events("database-copy-kept").map(({ file }) => file);
  expect(files.sort()).toEqual(asides);
  const state = await inkling(main.dataDir, ["database", "status"], env);
  expect(state.exitCode).toBe(1);
  expect(state.out).toContain(`remain revoked: ${revoked.key.id}.`);
  expect(state.out).toContain(
    `${asides[0]} has 1 key and 0 overrides that the database does not have: ${late.key.id}. `,
  );
  expect(state.out).toContain(`${asides[1]} has 0 keys and 1 override that the database does not have: `);
  const doctor = JSON.parse((await inkling(main.dataDir, ["doctor", "--json"], env)).out) as {
    checks: { check: string; state: string }[];
  };
  expect(doctor.checks.find(({ check }) => check === "database history")).toMatchObject({
    state: "problem",
    found: expect.stringContaining(`\`inkling database adopt ${asides[0]}\``),
  });

  const adopt = async () =>
    JSON.parse((await inkling(main.dataDir, ["database", "adopt", ...asides, "--json"], env)).out);
  expect(await adopt()).toEqual({ keys: 1, overrides: 1 });
  await until(async () => (await main.status(GEOLOCATE, late.token)) === 200);
  expect(await statuses()).toEqual([200, 401, 401]);
  expect(await adopt()).toEqual({ keys: 0, overrides: 0 });
  expect((await inkling(main.dataDir, ["database", "status"], env)).out).not.toContain("before.json");
  expect(main.events("database-copy-kept")).toHaveLength(2);

  expect(await inkling(main.dataDir, ["database", "confirm"], env)).toMatchObject({ exitCode: 0 });
  await until(async () => (await statuses()).join() === "200,200,200");
  await until(async () => (await warningsOf(main)).warnings.length === 0);
  expect(main.events("database-confirmed")).toHaveLength(1);
  expect(await main.metric("inkling_database_went_back")).toBe(0);
  const after = await inkling(main.dataDir, ["database", "status"], env);
  expect(after.out).toContain("matches the data folder's copies");
  const trail = JSON.parse((await inkling(main.dataDir, ["override", "audit", "--json"], env)).out) as {
    action: string;
  }[];
  expect(trail[0]).toMatchObject({ action: "database-confirmed" });
}

describe("a database that went back to an earlier state", () => {
  test("an older SQLite file in the place of the newer: revocations of the day stay until they are confirmed", async () => {
    const dataDir = folder();
    const file = join(dataDir, "inkling.db");
    const copy = join(dataDir, "older.db");
    const setUp = await revokedAfterCopy(`sqlite://${file}`, async () => {
      const sql = new SQL({ adapter: "sqlite", filename: file });
      await sql`PRAGMA wal_checkpoint(TRUNCATE)`;
      await sql.close();
      copyFileSync(file, copy);
    });
    const main = await startServer(dataDir);
    const late = await setUp.copyThenEnd();
    await until(async () => (await main.status(GEOLOCATE, setUp.revoked.token)) === 401);
    await until(async () => (await main.status(GEOLOCATE, late.token)) === 200);
    await until(() => isCopied(main, late));
    await setUp.store.close();
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    renameSync(copy, file);
    await expectKept(main, {}, setUp, late);
  });

  test("an older PostgreSQL dump: the same on a server that runs, and on one that starts after it", async () => {
    const postgres = await Postgres.create();
    cleanUps.push(() => postgres.close());
    const address = await postgres.freshDatabase();
    const env = { INKLING_DATABASE_URL: address };
    const sql = new SQL(address);
    cleanUps.push(() => sql.close());
    const tables = ["keys", "tokens", "key_stamp", "key_changes", "override_stamp", "overrides", "audit"].map(
      (name) => `inkling_${name}`,
    );
    const setUp = await revokedAfterCopy(address, async () => {
      for (const table of tables) await sql.unsafe(`CREATE TABLE dump_${table} AS SELECT * FROM ${table}`);
    });
    const [running, stopped] = [await startServer(folder(), env), await startServer(folder(), env)];
    const late = await setUp.copyThenEnd();
    for (const main of [running, stopped]) {
      await until(async () => (await main.status(GEOLOCATE, setUp.revoked.token)) === 401);
      await until(async () => (await main.status(GEOLOCATE, late.token)) === 200);
      await until(() => isCopied(main, late));
    }
    // A server writes what it has learned to its file before it applies its snapshot.
    stopped.child.kill("SIGTERM");
    await stopped.child.exited;
    await sql.begin(async (tx) => {
      await tx.unsafe(`TRUNCATE ${tables.join(", ")}`);
      for (const table of tables) await tx.unsafe(`INSERT INTO ${table} SELECT * FROM dump_${table}`);
    });
    const again = await startServer(stopped.dataDir, { ...env, INKLING_API_KEY: "" });
    await until(() => again.events("database-went-back").length === 1);
    expect(await again.status(GEOLOCATE, setUp.revoked.token)).toBe(401);
    await until(() => again.events("database-copy-kept").length === 2);
    await expectKept(running, env, setUp, late);
    await until(async () => (await again.status(GEOLOCATE, setUp.revoked.token)) === 200);
  });
});

test("a backup restored on purpose: no alarm, unless it makes a revoked key valid again", async () => {
  const dataDir = folder();
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  cleanUps.push(() => store.close());
  const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
  const [before, after] = [await make("revoked before"), await make("revoked after")];
  await store.revokeKey(before.key.id, ADA);
  const main = await startServer(dataDir);
  expect(await inkling(dataDir, ["backup", "x.backup"])).toMatchObject({ exitCode: 0 });
  const restore = async (late: { readonly token: string }) => {
    await until(async () => (await main.status(GEOLOCATE, late.token)) === 200);
    expect(await inkling(dataDir, ["restore", "x.backup", "--force"])).toMatchObject({ exitCode: 0 });
    await until(async () => (await main.status(GEOLOCATE, late.token)) === 401);
  };
  await restore(await make("made after the backup"));
  const status = async () => (await inkling(dataDir, ["database", "status"])).out;
  expect(await status()).toContain("matches the data folder's copies");
  expect([main.events("database-went-back"), (await warningsOf(main)).warnings]).toEqual([[], []]);

  await store.revokeKey(after.key.id, ADA);
  await until(async () => (await main.status(GEOLOCATE, after.token)) === 401);
  await restore(await make("also made after the backup"));
  await until(async () => (await warningsOf(main)).warnings.join().includes("1 key revoked since then"));
  expect(await main.status(GEOLOCATE, after.token)).toBe(401);
  expect(main.events("database-went-back")).toMatchObject([{ revocations_kept: 1 }]);
  expect(await status()).toMatch(
    /audit entry (\d+) is missing; the newest entry is \d+\. These keys were revoked since then, and remain revoked: key_\w+\. /,
  );
  expect(await status()).toContain(after.key.id);
  expect(await status()).not.toContain(before.key.id);
  expect(await inkling(dataDir, ["database", "confirm"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await main.status(GEOLOCATE, after.token)) === 200);
});

test("PostgreSQL that is unreachable: a warning until it is back", async () => {
  const postgres = await Postgres.create();
  cleanUps.push(() => postgres.close());
  const main = await startServer(folder(), { INKLING_DATABASE_URL: await postgres.freshDatabase() });
  expect(await warningsOf(main)).toEqual({ status: 200, warnings: [] });
  await postgres.stop();
  await until(async () => (await warningsOf(main)).warnings.length > 0);
  expect(await warningsOf(main)).toEqual({
    status: 200,
    warnings: [expect.stringMatching(/^the database is unreachable, .*; `inkling doctor` names the reason$/)],
  });
  expect(await main.status(GEOLOCATE)).toBe(200);
  await postgres.start();
  await until(async () => (await warningsOf(main)).warnings.length === 0);
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
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  await until(async () => (await warningsOf(main)).warnings.join().includes("the database file is missing"));
  expect(main.events("database-away")).toMatchObject([{ hint: expect.stringContaining("database adopt") }]);
  const refused = {
    exitCode: 1,
    err: expect.stringMatching(/the database was lost: .*\nhint: .*restore.*adopt/),
  };
  for (const command of [
    ["database", "status"],
    ["keys", "list"],
    ["keys", "create"],
    ["admin", "token", "rotate"],
    ["override", "add", ADDRESS, "--flag", `${smallFlag(1)}=false`, "--note", "office"],
  ])
    expect([command, await inkling(dataDir, command)]).toEqual([command, expect.objectContaining(refused)]);
  const doctor = await inkling(dataDir, ["doctor"]);
  expect(doctor.exitCode).toBe(1);
  expect(doctor.out).toMatch(/^problem {2}database: the database was lost: .*\n +-> .*restore.*adopt/m);
  expect(doctor.out).not.toMatch(/^ok +database history/m);
  const rolledBack = await inkling(dataDir, [
    "data",
    "rollback",
    readFileSync(join(dataDir, "current"), "utf8").trim(),
  ]);
  expect(rolledBack).toMatchObject({ exitCode: 0, err: expect.stringContaining("the audit entry is kept") });
  const revoked = await inkling(dataDir, ["keys", "revoke", leaked.key.id]);
  expect(revoked).toMatchObject({ exitCode: 0, out: expect.stringContaining("on the running server") });
  await until(async () => (await main.status(GEOLOCATE, leaked.token)) === 401);
  const status = await inkling(dataDir, ["database", "status"]);
  expect(status).toMatchObject(refused);
  expect(status.out).toMatch(/^The database is missing\. 2 keys and 0 overrides apply only from the copies/);
  expect(status.out).toContain(shop.key.id);
  expect(status.out).toContain(`The revocation of ${leaked.key.id} by `);
  expect([existsSync(file), await main.status(GEOLOCATE, shop.token)]).toEqual([false, 200]);

  expect(await inkling(dataDir, ["database", "adopt"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await warningsOf(main)).warnings.length === 0);
  expect(await main.status(GEOLOCATE, shop.token)).toBe(200);
  expect(await main.status(GEOLOCATE, leaked.token)).toBe(401);
  const { token } = JSON.parse((await inkling(dataDir, ["keys", "create", "--json"])).out) as {
    token: string;
  };
  await until(async () => (await main.status(GEOLOCATE, token)) === 200);
  expect(await main.status(GEOLOCATE, shop.token)).toBe(200);
  const after = await openStore(`sqlite://${file}`);
  cleanUps.push(() => after.close());
  await until(async () => {
    const { items } = await after.overrides.audit({ limit: 10 });
    return items.some(({ action }) => action === "release-pinned");
  });
});

test("a lost database: what applies from the copies is listed, adopted with its ids, and can be changed again", async () => {
  const dataDir = folder();
  const file = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${file}`);
  const { key, token } = await store.createKey(parseNewKey({ name: "shop", quota: 1_000 }, 0));
  const [write] = await store.overrides.put([OVERRIDE], ADA);
  await store.close();
  const first = await startServer(dataDir);
  const copies = () =>
    ["keys", "overrides"].map((name) => readFileSync(join(dataDir, `${name}.json`), "utf8"));
  await until(() => existsSync(join(dataDir, "overrides.json")) && copies()[0]!.split('"hash"').length === 3);
  first.child.kill("SIGTERM");
  await first.child.exited;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  const main = await startServer(dataDir);
  await until(async () => (await warningsOf(main)).warnings.join().includes("2 keys and 1 override "));
  expect((await warningsOf(main)).warnings.join()).toContain("inkling database adopt");
  expect(main.events("chosen-key-not-made")).toHaveLength(1);
  expect(await main.status(GEOLOCATE, token)).toBe(200);
  const listed = async (what: string) =>
    JSON.parse((await inkling(dataDir, [what, "list", "--json"])).out) as { id: string; origin: string }[];
  const origins = async (what: string) => new Map((await listed(what)).map(({ id, origin }) => [id, origin]));
  expect((await origins("keys")).get(key.id)).toBe("copy");
  expect([...(await origins("override"))]).toEqual([[write!.override.id, "copy"]]);

  const adopted = await inkling(dataDir, ["database", "adopt"]);
  expect(adopted).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(/^Wrote 2 keys and 1 override .*\n\n.*Only a backup restores admin tokens, /),
  });
  await until(async () => (await warningsOf(main)).warnings.length === 0);
  expect((await origins("keys")).get(key.id)).toBe("database");
  expect([...(await origins("override"))]).toEqual([[write!.override.id, "database"]]);
  expect([await main.status(GEOLOCATE, token), await main.status(GEOLOCATE)]).toEqual([200, 200]);
  expect(main.events("database-went-back")).toEqual([]);
  const again = await inkling(dataDir, ["database", "adopt"]);
  expect(again).toMatchObject({ exitCode: 1, err: expect.stringContaining("there is nothing to adopt") });

  const after = await openStore(`sqlite://${file}`);
  cleanUps.push(() => after.close());
  expect(await after.findKey(key.id)).toEqual(key);
  const { items } = await after.overrides.audit({ limit: 10 });
  expect(items.map(({ action }) => action)).toContain("key-adopted");
  expect(items.map(({ action }) => action)).toContain("override-adopted");
  expect(await inkling(dataDir, ["override", "remove", write!.override.id])).toMatchObject({ exitCode: 0 });
  expect(await inkling(dataDir, ["keys", "revoke", key.id])).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("; stored."),
  });
  await until(async () => (await main.status(GEOLOCATE, token)) === 401);
});

test("a backup restored after the copies were adopted: a key revoked before the loss stays revoked", async () => {
  const dataDir = folder();
  const file = join(dataDir, "inkling.db");
  const store = await openStore(`sqlite://${file}`);
  const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
  const [kept, leaked] = [await make("kept"), await make("leaked")];
  const main = await startServer(dataDir);
  await until(async () => (await main.status(GEOLOCATE, leaked.token)) === 200);
  expect(await inkling(dataDir, ["backup", "x.backup"])).toMatchObject({ exitCode: 0 });
  await store.revokeKey(leaked.key.id, ADA);
  await store.close();
  await until(async () => (await main.status(GEOLOCATE, leaked.token)) === 401);
  const history = () => readFileSync(join(dataDir, "database-history.json"), "utf8");
  await until(() => history().includes(leaked.key.id));
  main.child.kill("SIGTERM");
  await main.child.exited;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  const second = await startServer(dataDir);
  await until(async () => (await warningsOf(second)).warnings.length > 0);
  expect(await inkling(dataDir, ["database", "adopt"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await warningsOf(second)).warnings.length === 0);
  expect(await inkling(dataDir, ["restore", "x.backup", "--force"])).toMatchObject({ exitCode: 0 });
  await until(async () => (await warningsOf(second)).warnings.join().includes("1 key revoked since then"));
  expect(await second.status(GEOLOCATE, leaked.token)).toBe(401);
  expect(await second.status(GEOLOCATE, kept.token)).toBe(200);
});

describe("a database that cannot be written", () => {
  test.concurrent("a key is revoked all the same, in every process; it stays so over a restart, and is stored later", async () => {
    const dataDir = folder();
    const file = join(dataDir, "inkling.db");
    const store = await openStore(`sqlite://${file}`);
    cleanUps.push(() => store.close());
    const make = async (name: string) => store.createKey(parseNewKey({ name }, 0));
    const [revoked, kept] = [await make("revoked"), await make("kept")];
    const env = { INKLING_WORKERS: "2" };
    const main = await startServer(dataDir, env);
    await until(async () => (await main.status(GEOLOCATE, revoked.token)) === 200);
    await until(() => existsSync(join(dataDir, "keys.json")));
    const release = await lockSqlite(file);
    cleanUps.push(release);

    const command = await inkling(dataDir, ["keys", "revoke", revoked.key.id]);
    expect(command.out).toContain("on the running server, but not in the database yet");
    expect(command.exitCode).toBe(0);
    await until(async () => (await main.status(GEOLOCATE, revoked.token)) === 401);
    expect(await main.status(GEOLOCATE, kept.token)).toBe(200);
    expect(main.events("key-revoked-here").map(({ key }) => key)).toEqual([revoked.key.id]);
    expect(await main.metric("inkling_revocations_unstored")).toBe(1);
    expect((await warningsOf(main)).warnings.join()).toContain("not stored yet: 1 revoked key,");
    const doctor = await inkling(dataDir, ["doctor"]);
    expect(doctor.out).toMatch(/^problem {2}database: .*it is not writable: .*locked.*\n +-> .*fuser -v/m);

    await main.kill();
    const second = await startServer(dataDir, env);
    const statuses = async () => [
      await second.status(GEOLOCATE, revoked.token),
      await second.status(GEOLOCATE, kept.token),
    ];
    expect(await statuses()).toEqual([401, 200]);
    await release();
    await until(() => second.events("key-revocation-stored").length === 1);
    expect(await statuses()).toEqual([401, 200]);
    expect(await second.metric("inkling_revocations_unstored")).toBe(0);
    expect((await store.findKey(revoked.key.id))?.revokedAt).toBeDefined();
    const { items } = await store.overrides.audit({ limit: 10 });
    expect(items.filter(({ action }) => action === "key-revoked")).toMatchObject([
      { subject: revoked.key.id },
    ]);
  });

  test.concurrent("an older database replaces it: keys stay revoked, also one that only a copy has", async () => {
    const dataDir = folder();
    const file = join(dataDir, "inkling.db");
    const older = join(dataDir, "older.db");
    const make = (store: Store, name: string) => store.createKey(parseNewKey({ name }, 0));
    const store = await openStore(`sqlite://${file}`);
    const [kept, known] = [await make(store, "kept"), await make(store, "known")];
    await store.close();
    copyFileSync(file, older);
    const newer = await openStore(`sqlite://${file}`);
    const lost = await make(newer, "lost");
    await newer.close();
    const env = { INKLING_WORKERS: "1" };
    const main = await startServer(dataDir, env);
    const copied = () => readFileSync(join(dataDir, "keys.json"), "utf8").includes(lost.key.id);
    await until(() => existsSync(join(dataDir, "keys.json")) && copied());
    const release = await lockSqlite(file);
    for (const { key } of [lost, known])
      expect(await inkling(dataDir, ["keys", "revoke", key.id])).toMatchObject({ exitCode: 0 });
    await main.kill();
    await release();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    copyFileSync(older, file);

    const second = await startServer(dataDir, env);
    await until(() => second.events("database-copy-kept").length > 0);
    await until(() => second.events("key-revocation-stored").length === 2);
    const aside = join(dataDir, "keys.before.json");
    expect(await inkling(dataDir, ["database", "adopt", aside])).toMatchObject({ exitCode: 0 });
    const reopened = await openStore(`sqlite://${file}`);
    cleanUps.push(() => reopened.close());
    expect((await reopened.findKey(known.key.id))?.revokedAt).toBeDefined();
    expect(await reopened.findKey(lost.key.id)).toBeUndefined();
    const statuses = [kept, known, lost].map(({ token }) => second.status(GEOLOCATE, token));
    expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
  });

  test.concurrent("without a server the command reports that, and the next start takes the revocation", async () => {
    const dataDir = folder();
    const file = join(dataDir, "inkling.db");
    const store = await openStore(`sqlite://${file}`);
    const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
    await store.close();
    const env = { INKLING_WORKERS: "1" };
    const first = await startServer(dataDir, env);
    await until(() => existsSync(join(dataDir, "keys.json")));
    first.child.kill("SIGTERM");
    await first.child.exited;
    const release = await lockSqlite(file);
    cleanUps.push(release);
    const revoked = await inkling(dataDir, ["keys", "revoke", key.id]);
    expect(revoked).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining("no server has confirmed it yet"),
    });
    const waiting = await inkling(dataDir, ["database", "status"]);
    expect(waiting.out).toContain(`The revocation of ${key.id}`);
    expect(waiting.out).toContain("is waiting for a server of this data folder to confirm it");
    const second = await startServer(dataDir, env);
    expect(await second.status(GEOLOCATE, token)).toBe(401);
    await release();
    await until(() => second.events("key-revocation-stored").length === 1);
  });
});
