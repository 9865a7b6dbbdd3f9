// database.ts: one way to run queries on an SQLite file or a PostgreSQL server, with a time limit.
//
// This file hides these differences:
// - SQLite has one connection for units of work, and a query sent while a transaction awaits would become part of that
//   transaction. Units of work therefore run one after another.
// - SQLite waits for locks inside the call, which would block every request of this process. This file turns that off
//   and waits asynchronously instead.
// - SQLite keeps writing to a file that was deleted or replaced, and those writes are lost. Before each unit of work,
//   this file therefore checks that the path still leads to the same file.
// - A PostgreSQL server can fall silent. Every unit of work therefore has a time-out. After a time-out, the connections
//   are discarded, and the next unit opens new ones.
//
// A host holds at most four connections to PostgreSQL: CONNECTIONS below, and one that listens for changes
// (notices.ts).

import { Database as SqliteFile } from "bun:sqlite";
import { closeSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { giveToFolderOwner, makeFolder, within } from "@inkling/data";
import { SQL, type TransactionSQL } from "bun";
import { StoreError, storeErrorFrom } from "./error.ts";

/** Maximum milliseconds for one unit of work. */
export const TIMEOUT_MS = 5_000;
const LOCK_RETRY_MS = 10;
/**
 * Connections to PostgreSQL for each kind of work. Keys, limits and the operator's changes have their own connection,
 * so that a revocation never waits for decisions, usage or deliveries. SQLite has one connection for everything that
 * may write.
 */
const CONNECTIONS = { control: 1, records: 2 } as const;
export type Work = keyof typeof CONNECTIONS;

type Dialect = "sqlite" | "postgres";

interface Address {
  readonly dialect: Dialect;
  /** The address as shown to people, without the password. */
  readonly label: string;
  /** Texts that must not appear in any message. */
  readonly secrets: readonly string[];
  /** Path of an SQLite database. */
  readonly file?: string;
  readonly connect: (timeoutMs: number, options: ConnectionOptions) => SQL;
}

/** Options that differ between the connections of a host. */
type ConnectionOptions = Pick<SQL.PostgresOrMySQLOptions, "max" | "onclose">;

/** Returns whether this is the address of a PostgreSQL server, which several hosts may use. */
export const isSharedDatabase = (address: string) => /^postgres(ql)?:\/\//.test(address);

/**
 * Parses a database address: `postgres://user:password@host:port/database`, `sqlite://path`, `sqlite:path` or a plain
 * path.
 * @throws StoreError ADDRESS
 */
export function parseAddress(text: string): Address {
  if (isSharedDatabase(text)) return postgresAddress(text);
  const path = text.replace(/^sqlite:(\/\/)?/, "");
  if (path === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(path) || path.includes("?")) {
    const shown = path.includes("://") ? `${path.slice(0, path.indexOf("://"))}://…` : path;
    throw new StoreError(
      "ADDRESS",
      `invalid database address: "${shown}"`,
      "write sqlite://PATH or postgres://USER:PASSWORD@HOST:5432/DATABASE",
    );
  }
  return sqliteAddress(path);
}

function postgresAddress(text: string): Address {
  // This function does not use the error from URL, because that error quotes its input, including the password.
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const name = url === undefined ? undefined : decoded(url.pathname.slice(1));
  const password = url === undefined ? undefined : decoded(url.password);
  if (url === undefined || name === undefined || password === undefined || url.hostname === "") {
    throw new StoreError(
      "ADDRESS",
      "invalid database address: not a URL",
      "write postgres://USER:PASSWORD@HOST:5432/DATABASE, with @ : / ? # % in the password as %40 %3A %2F %3F %23 %25",
    );
  }
  const label = `postgres://${url.username}${url.username && "@"}${url.host}${url.pathname}`;
  const inQuery = ["password", "sslpassword"].flatMap((name) => url.searchParams.getAll(name)); // Bun accepts both
  return {
    dialect: "postgres",
    label,
    secrets: [password, url.password, ...inQuery].filter((secret) => secret.length > 0),
    connect: (timeoutMs, options) =>
      new SQL(text, {
        ...options,
        connectionTimeout: Math.max(1, Math.ceil(timeoutMs / 1_000)),
        ...(name === "" ? {} : { database: name }), // otherwise PGDATABASE in the environment overrides the URL
        connection: { application_name: "inkling" },
        // Flushes vary in their number of rows, and each new number of rows would add a prepared statement to every
        // connection. 100 statements took 20 MB of the database server's memory. Unnamed statements are not kept, and
        // poolers such as PgBouncer can pass the connection on after each transaction.
        prepare: false,
      }),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a stray "%", so this is not a valid address
  }
}

function sqliteAddress(path: string): Address {
  const file = path === ":memory:" ? path : resolve(path);
  return {
    dialect: "sqlite",
    label: `sqlite://${file}`,
    secrets: [],
    ...(file !== ":memory:" && { file }),
    connect: () => {
      if (file !== ":memory:") {
        makeFolder(dirname(file));
        createDatabaseFile(file);
      }
      return new SQL({ adapter: "sqlite", filename: file });
    },
  };
}

/** SQLite creates its -wal and -shm files with the mode and the owner of this file. */
function createDatabaseFile(file: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", 0o600);
    giveToFolderOwner(descriptor, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    descriptor = openSync(file, "a", 0o600); // also creates the target of a link
  }
  closeSync(descriptor);
}

export class Database {
  readonly dialect: Dialect;
  /** The address without its password, for messages. */
  readonly label: string;
  private readonly address: Address;
  private readonly timeoutMs: number;
  private readonly max: number;
  private client: Promise<SQL> | undefined;
  /** The connection of {@link query} to an SQLite file. */
  private reader: SqliteFile | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  /** Device and inode of the open file. */
  private fileId: string | undefined;
  /** Called when a different file has replaced the open file, before the new file is opened. */
  onOtherFile: (() => void) | undefined;

  /**
   * Creates the object without connecting.
   * @throws StoreError ADDRESS
   */
  constructor(address: string, timeoutMs = TIMEOUT_MS, work: Work = "control") {
    this.address = parseAddress(address);
    this.dialect = this.address.dialect;
    this.label = this.address.label;
    this.timeoutMs = timeoutMs;
    this.max = CONNECTIONS[work];
  }

  /** Was the SQLite file deleted or moved while it was in use? */
  get isFileGone(): boolean {
    const { file } = this.address;
    return file !== undefined && this.fileId !== undefined && idOf(file) === undefined;
  }

  /** Runs queries that are independent of each other. A query may run twice, so at most one of them may write. */
  run<T>(work: (sql: SQL) => Promise<T>, timeoutMs = this.timeoutMs): Promise<T> {
    if (this.dialect === "postgres") return this.attempt(work, timeoutMs);
    const turn = this.queue.then(() => this.attempt(work, timeoutMs));
    this.queue = turn.catch(() => {}); // the caller receives the error; the next unit of work must not
    return turn;
  }

  /**
   * Runs queries as one unit: all of them take effect, or none. After a time-out, the outcome is unknown, so callers
   * may only send work that can safely be repeated.
   * @param durable whether the result must survive a power cut (SQLite: one more fsync, 1-10 ms)
   */
  transaction<T>(
    work: (sql: TransactionSQL) => Promise<T>,
    durable = false,
    timeoutMs = this.timeoutMs,
  ): Promise<T> {
    if (this.dialect === "postgres") {
      return this.run(
        (sql) =>
          sql.begin(async (tx): Promise<T> => {
            // If a process disappears during a transaction, its row locks must not block others.
            await tx.unsafe(
              `SET LOCAL statement_timeout = ${2 * timeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${2 * timeoutMs}`,
            );
            return await work(tx);
          }),
        timeoutMs,
      ) as Promise<T>;
    }
    return this.run(async (sql) => {
      if (durable) await sql`PRAGMA synchronous = FULL`;
      try {
        return (await sql.begin("IMMEDIATE", async (tx): Promise<T> => await work(tx))) as T;
      } finally {
        if (durable) await sql`PRAGMA synchronous = NORMAL`;
      }
    }, timeoutMs);
  }

  /**
   * Runs a query that decisions wait for. With SQLite, it has its own connection, which prepares each text once and does
   * not wait for other work. Bun.SQL prepares every query again: 226 µs of CPU time instead of 17 for two facts.
   * @param text few different texts, with the parameters $1, $2, …
   */
  query<T>(text: string, values: readonly (string | number)[]): Promise<T[]> {
    const { file } = this.address;
    if (file === undefined) return this.run((sql) => sql.unsafe(text, [...values]));
    return this.attempt(async () => {
      this.reader ??= new SqliteFile(file, { readwrite: true });
      return this.reader.query<T, (string | number)[]>(text).all(...values);
    }, this.timeoutMs);
  }

  /** Runs queries that all read the same state, without blocking any writer. They may run twice. */
  snapshot<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    const how = this.dialect === "postgres" ? "ISOLATION LEVEL REPEATABLE READ READ ONLY" : "DEFERRED";
    return this.run((sql) => sql.begin(how, async (tx): Promise<T> => await work(tx))) as Promise<T>;
  }

  /**
   * Opens a separate client for notices. The caller must close it.
   * @param onclose called when the client's connection has ended
   * @returns undefined for SQLite, which has no notices
   */
  connectForNotices(onclose: () => void): SQL | undefined {
    if (this.dialect !== "postgres") return undefined;
    return this.address.connect(this.timeoutMs, { max: 1, onclose });
  }

  /** Converts an error of any client of this database, without the password. */
  errorFrom(cause: unknown): StoreError {
    return storeErrorFrom(cause, this.label, this.address.secrets);
  }

  /** Closes all connections after the work in progress has ended. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.queue.catch(() => {});
    this.reader?.close();
    this.reader = undefined;
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    const sql = await client.catch(() => undefined);
    await sql?.close({ timeout: Math.ceil(this.timeoutMs / 1_000) });
  }

  private async attempt<T>(work: (sql: SQL) => Promise<T>, timeoutMs: number): Promise<T> {
    if (this.isClosed)
      throw new StoreError("UNREACHABLE", `${this.label}: closed`, "the program is shutting down");
    const deadline = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        this.requireSameFile();
        return await this.withTimeout(this.connected().then(work), timeoutMs);
      } catch (cause) {
        const error = this.errorFrom(cause);
        if (!isLockHeld(cause) || performance.now() > deadline) throw error;
        await Bun.sleep(LOCK_RETRY_MS);
      }
    }
  }

  /**
   * Checks that the open file still has its name.
   * @throws StoreError UNREACHABLE if the file was deleted or replaced; the next unit of work opens a replacement
   */
  private requireSameFile(): void {
    const { file } = this.address;
    if (file === undefined || this.fileId === undefined) return;
    const found = idOf(file);
    if (found === this.fileId) return;
    if (found === undefined) {
      throw new StoreError(
        "UNREACHABLE",
        `${this.label}: the file was deleted while in use`,
        "restore a backup with `inkling restore FILE`; until then usage is kept in memory",
      );
    }
    this.discard();
    this.fileId = undefined;
    this.onOtherFile?.();
    throw new StoreError(
      "UNREACHABLE",
      `${this.label}: the file was replaced while in use`,
      "the server now uses the new file",
    );
  }

  private connected(): Promise<SQL> {
    this.client ??= this.connect().catch((error) => {
      this.client = undefined;
      throw error;
    });
    return this.client;
  }

  private async connect(): Promise<SQL> {
    const sql = this.address.connect(this.timeoutMs, { max: this.max });
    if (this.dialect === "postgres") return sql; // connects with the first query
    try {
      await sql`PRAGMA busy_timeout = 0`;
      await sql`PRAGMA journal_mode = WAL`;
      await sql`PRAGMA synchronous = NORMAL`;
      await sql`PRAGMA foreign_keys = ON`;
      await sql`PRAGMA secure_delete = ON`; // overwrites deleted rows, because they may identify people
      if (this.address.file !== undefined) this.fileId = idOf(this.address.file);
      return sql;
    } catch (error) {
      await sql.close();
      throw error;
    }
  }

  /** Rejects after the time-out. A query of SQLite runs inside the call, so a time-out can only come between two. */
  private withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
    return within(timeoutMs, work, () => {
      this.discard(); // the work fails later, when its connection is closed
      throw new StoreError("UNREACHABLE", `${this.label}: no answer within ${timeoutMs} ms`, "try again");
    });
  }

  private discard(): void {
    this.reader?.close();
    this.reader = undefined;
    const client = this.client;
    this.client = undefined;
    client?.then((sql) => sql.close({ timeout: 0 })).catch(() => {}); // the error is no longer relevant to any caller
  }
}

/** @returns undefined if the file does not exist */
function idOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function isLockHeld(cause: unknown): boolean {
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
