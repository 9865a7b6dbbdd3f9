// full-disk.ts: serves from a full disk and switches releases on it, then does the same on a read-only disk.
// full-disk.test.ts starts it in its own mount namespace.

import { Database as Sqlite } from "bun:sqlite";
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { currentName, pin, pinnedName, releaseNames } from "@inkling/data";
import { loadStable, MAP_FROM } from "../../../packages/compiler/src/fetch/copy.ts";
import { type ServerOptions, startServer } from "../../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { DIRECT as INKLING } from "../../harness/inkling.ts";
import { freePort } from "../../harness/ports.ts";
import { GEOLOCATE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { until } from "../../harness/until.ts";

interface Run {
  readonly args: string;
  readonly exitCode: number | null;
  readonly err: string;
  readonly current: string | undefined;
  readonly pinned: string | undefined;
  readonly temporary: readonly string[];
}
/** A backup or a restore on a disk with little room, beside a running server. */
export interface Attempt {
  /** What the disk had free, as a multiple of the database's size. */
  readonly room: number;
  readonly exitCode: number | null;
  readonly err: string;
  /** The different statuses of the server's lookups meanwhile. */
  readonly statuses: readonly number[];
  /** The files of the folder that was written to. */
  readonly files: readonly string[];
  /** What the server's database has, and whether it is sound. */
  readonly content: object;
}
export interface Seen {
  readonly backup: readonly Attempt[];
  readonly restore: readonly Attempt[];
  /** Newest first. */
  readonly names: readonly string[];
  /** A server whose disk, which also has its database, is full. */
  readonly whileFull: {
    readonly statuses: readonly number[];
    readonly ready: number;
    /** Of `/readyz`. */
    readonly warnings: readonly string[] | undefined;
    readonly doctor: string;
    readonly log: string;
    /** Lookups in the database once there was room again. */
    readonly stored: number;
    /** The output of revoking a key by command, with and without `--here`, and the answer of the admin API. */
    readonly revoked: { readonly out: string; readonly here: string; readonly answer: unknown };
    /** The key's status after that, and after `--here` once there was room. */
    readonly statusOfRevoked: readonly number[];
  };
  readonly full: readonly Run[];
  /** A command whose audit trail is also on the full disk. */
  readonly withoutTrail: Run;
  readonly readOnly: readonly Run[];
  /** A server on the read-only disk. */
  readonly served: { readonly ready: number; readonly log: string };
  /** The commands on the read-only disk, with the database in another folder and in this folder. */
  readonly serve: {
    readonly statuses: readonly number[];
    readonly log: string;
    readonly exitCode: number;
    readonly doctor: string;
    readonly verify: number | null;
    /** Number of segments that the server had mapped. */
    readonly mapped: number;
  };
  /**
   * A seed there that is large enough to be mapped: its last byte, how often it was mapped, and how often
   * after garbage collection.
   */
  readonly seed: { readonly last: number | undefined; readonly mapped: number; readonly left: number };
  readonly databaseInside: { readonly serve: string; readonly doctor: string };
}

function mount(...args: string[]): void {
  const { success, stderr } = Bun.spawnSync(["mount", ...args]);
  if (!success) throw new Error(stderr.toString());
}

function smallDisk(folder: string, size = "16m"): string {
  mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder);
  return folder;
}

function fill(folder: string): void {
  try {
    for (;;) appendFileSync(join(folder, "fill"), Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

/** Fills the disk, except for `bytes`. */
function leave(folder: string, bytes: number): void {
  fill(folder);
  const path = join(folder, "fill");
  truncateSync(path, Math.max(0, statSync(path).size - Math.floor(bytes)));
}

/** @param databaseUrl by default, the database is in the data folder */
function run(dataDir: string, args: readonly string[], databaseUrl = ""): Run {
  const { exitCode, stderr } = Bun.spawnSync([...INKLING, "data", ...args, "--data-dir", dataDir], {
    env: { ...process.env, INKLING_DATABASE_URL: databaseUrl },
    stdin: "ignore",
  });
  const files = readdirSync(dataDir, { recursive: true }).map(String);
  return {
    args: args.join(" "),
    exitCode,
    err: stderr.toString(),
    current: currentName(dataDir),
    pinned: pinnedName(dataDir),
    temporary: files.filter((name) => name.includes(".tmp-")),
  };
}

async function start(dataDir: string, over: Partial<ServerOptions> = {}) {
  const seen = { log: "" };
  const writeLog = (lines: string) => {
    seen.log += lines;
  };
  const options = { ...testServerOptions(dataDir), logLevel: "info", writeLog, ...over } as const;
  return { server: await startServer(options), seen };
}

async function serve(dataDir: string): Promise<Seen["served"]> {
  const databaseUrl = `sqlite://${join(temporaryFolder(), "inkling.db")}`;
  const { server, seen } = await start(dataDir, { databaseUrl });
  const { status } = await fetch(`http://127.0.0.1:${server.port}/readyz`);
  await server.stop();
  return { ready: status, log: seen.log };
}

async function answerOnFull(): Promise<Seen["whileFull"]> {
  const dataDir = smallDisk(temporaryFolder());
  smallRelease(dataDir, 1);
  const store = await openStore(testServerOptions(dataDir).databaseUrl);
  const { key, token } = await store.createKey(parseNewKey({ name: "full" }, 0));
  const leaked = await store.createKey(parseNewKey({ name: "leaked" }, 0));
  const adminToken = await store.adminToken.create({ author: "test", source: "cli" });
  const { server, seen } = await start(dataDir);
  const statusOf = async (path: string, sent = token) => {
    const headers = { Authorization: `Bearer ${sent}` };
    return (await fetch(`http://127.0.0.1:${server.port}${path}`, { headers })).status;
  };
  const statuses: number[] = [];
  fill(dataDir);
  while (!seen.log.includes("usage-not-stored")) statuses.push(await statusOf(GEOLOCATE));
  for (let i = 0; i < 20; i++) statuses.push(await statusOf(GEOLOCATE));
  let readiness: Response;
  let warnings: string[] | undefined;
  await until(async () => {
    readiness = await fetch(`http://127.0.0.1:${server.port}/readyz`);
    ({ warnings } = (await readiness.json()) as { warnings?: string[] });
    return warnings !== undefined;
  });
  const revoke = async (...flags: string[]) => {
    const command = Bun.spawn([...INKLING, "keys", "revoke", leaked.key.id, ...flags], {
      env: environment(dataDir),
      stdio: ["ignore", "pipe", "pipe"],
    });
    return (await new Response(command.stdout).text()) + (await new Response(command.stderr).text());
  };
  const [out, here] = [await revoke(), await revoke("--here")];
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/admin/v1/keys/${leaked.key.id}`, {
    method: "DELETE",
    headers: { Authorization: `Bearer ${adminToken}`, "Inkling-Author": "ada" },
  });
  const revoked = { out, here, answer: [response.status, await response.json()] };
  const whileFull = await statusOf(GEOLOCATE, leaked.token);
  const doctor = inkling(environment(dataDir), "doctor", "--json").stdout;
  rmSync(join(dataDir, "fill"));
  await until(() => seen.log.includes("usage-stored-again"));
  await revoke("--here");
  await until(() => seen.log.includes("key-revoked-here"));
  const statusOfRevoked = [whileFull, await statusOf(GEOLOCATE, leaked.token)];
  await server.stop();
  const usage = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
  await store.close();
  return {
    revoked,
    statusOfRevoked,
    statuses,
    ready: readiness!.status,
    warnings,
    doctor,
    log: seen.log,
    stored: usage.reduce((sum, { count }) => sum + count, 0),
  };
}

/** Usage of so many days makes the database larger than one write. */
const USAGE_ROWS = 40_000;

/** Backs up to a disk with more and more room, and restores in a data folder on such a disk. */
async function backUpAndRestore(): Promise<Pick<Seen, "backup" | "restore">> {
  const dataDir = smallDisk(temporaryFolder(), "64m");
  const backups = smallDisk(temporaryFolder(), "64m");
  smallRelease(dataDir, 1);
  const store = await openStore(testServerOptions(dataDir).databaseUrl);
  const { key, token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  await store.close();
  const database = join(dataDir, "inkling.db");
  const rows = new Sqlite(database);
  const insert = rows.prepare("INSERT INTO inkling_usage (day, key_id, lookup, count) VALUES (?, ?, ?, 1)");
  rows.transaction(() => {
    for (let i = 0; i < USAGE_ROWS; i++) insert.run(`day ${i}`, key.id, "geolocate");
  })();
  rows.run("PRAGMA wal_checkpoint(TRUNCATE)");
  rows.close();
  const bytes = statSync(database).size;
  const env = environment(dataDir);
  const good = join(temporaryFolder(), "good.backup");
  const made = inkling(env, "backup", good);
  if (made.exitCode !== 0) throw new Error(made.stderr);
  const { server } = await start(dataDir);
  const content = () => {
    const file = new Sqlite(database, { readonly: true });
    const usage = "SELECT COUNT(*) AS n FROM inkling_usage WHERE day LIKE 'day %'";
    const found = {
      ...(file.query("PRAGMA integrity_check").get() as object),
      ...(file.query(`SELECT (${usage}) AS usage, COUNT(*) AS keys FROM inkling_keys`).get() as object),
    };
    file.close();
    return found;
  };
  const attempt = async (folder: string, room: number, ...args: string[]): Promise<Attempt> => {
    leave(folder, room * bytes);
    const command = Bun.spawn([...INKLING, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
    const err = new Response(command.stderr).text();
    const statuses = new Set<number>();
    while (command.exitCode === null) {
      const headers = { Authorization: `Bearer ${token}` };
      statuses.add((await fetch(`http://127.0.0.1:${server.port}${GEOLOCATE}`, { headers })).status);
    }
    rmSync(join(folder, "fill"));
    const files = readdirSync(folder).filter((name) => name.includes("backup") || name.startsWith(".tmp-"));
    return {
      room,
      exitCode: command.exitCode,
      err: await err,
      statuses: [...statuses],
      files,
      content: content(),
    };
  };
  const backup: Attempt[] = [];
  for (const room of [0, 0.5, 1.5, 3])
    backup.push(await attempt(backups, room, "backup", join(backups, "x.backup")));
  inkling(env, "keys", "create", "--name", "later"); // not in the backup
  const restore: Attempt[] = [];
  const restoreWith = async (room: number) =>
    restore.push(await attempt(dataDir, room, "restore", "--force", good));
  for (const room of [0, 0.5, 1.5, 2.5]) await restoreWith(room);
  // A small database is quickly kept, so that the disk is full only once rows are copied.
  const live = new Sqlite(database);
  live.run("DELETE FROM inkling_usage WHERE day LIKE 'day %'");
  live.run("PRAGMA wal_checkpoint(TRUNCATE)");
  live.close();
  for (const room of [1.5, 8]) await restoreWith(room);
  await server.stop();
  return { backup, restore };
}

async function serveCommand(dataDir: string): Promise<Seen["serve"]> {
  const [port, adminPort] = [freePort(), freePort()];
  const env = { ...environment(dataDir, port, adminPort), INKLING_DATABASE_URL: databaseElsewhere() };
  const key = inkling(env, "keys", "create", "--name", "test").stdout.trim();
  const server = Bun.spawn([...INKLING, "serve"], {
    env,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "pipe",
  });
  const log = new Response(server.stderr).text();
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } })
      .then(({ status }) => status)
      .catch(() => 0);
  await until(async () => server.exitCode !== null || (await get("/readyz")) === 200);
  const statuses = [
    await get("/v1/ip-intel/geolocate/81.2.69.142"),
    await get("/v1/ip-intel/reputation/8.8.8.8"),
  ];
  const doctor = inkling(env, "doctor", "--json").stdout;
  const verify = inkling(env, "data", "verify").exitCode;
  const mapped = readFileSync(`/proc/${server.pid}/maps`, "utf8").match(/\.seg$/gm)?.length ?? 0;
  server.kill("SIGTERM");
  return { statuses, exitCode: await server.exited, log: await log, doctor, verify, mapped };
}

async function readSeed(path: string): Promise<Seen["seed"]> {
  const mappings = () => readFileSync("/proc/self/maps", "utf8").split(path).length - 1;
  const read = () => {
    const copies = Array.from({ length: 20 }, () => loadStable(path));
    return { last: copies[0]!.at(-1), mapped: mappings() };
  };
  const seen = read();
  for (let tries = 0; tries < 100 && mappings() > 0; tries++) {
    await Bun.sleep(1);
    Bun.gc(true);
  }
  return { ...seen, left: mappings() };
}

const databaseElsewhere = () => `sqlite://${join(temporaryFolder(), "inkling.db")}`;

function environment(dataDir: string, port = freePort(), adminPort = freePort()): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: `${port}`,
    INKLING_ADMIN_PORT: `${adminPort}`,
    INKLING_WORKERS: "1",
  };
}

function inkling(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...INKLING, ...args], { env, stdin: "ignore" });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

if (import.meta.main) {
  const [, , dataDir = ""] = process.argv;
  const whileFull = await answerOnFull();
  const copied = await backUpAndRestore();
  smallDisk(dataDir);
  for (const n of [1, 2, 3]) smallRelease(dataDir, n);
  const names = releaseNames(dataDir);
  // The audit trail can be written; only the switch cannot.
  const elsewhere = `sqlite://${dataDir}-database/inkling.db`;
  const switches = () =>
    ["rollback", `rollback ${names[2]}`, "unpin"].map((args) => run(dataDir, args.split(" "), elsewhere));
  pin(dataDir, names[1]!);
  fill(dataDir);
  const full = switches();
  const withoutTrail = run(dataDir, ["unpin"]);
  rmSync(join(dataDir, "fill"));
  const seed = join(dataDir, "seed.mmdb");
  writeFileSync(seed, Buffer.alloc(MAP_FROM, 7));
  mount("-o", "remount,ro", dataDir);
  const inside = environment(dataDir);
  const seen = {
    names,
    whileFull,
    ...copied,
    full,
    withoutTrail,
    readOnly: switches(),
    served: await serve(dataDir),
    serve: await serveCommand(dataDir),
    seed: await readSeed(seed),
    databaseInside: {
      serve: inkling(inside, "serve").stderr,
      doctor: inkling(inside, "doctor", "--json").stdout,
    },
  };
  process.stdout.write(`${JSON.stringify(seen satisfies Seen)}\n`);
  process.exit(0);
}
