// database.ts: one way to run queries, whether the database is an SQLite file or a PostgreSQL server.
//
// in   the database's address
// out  run and transaction: either the result, or a StoreError within the time-out; never a hang
// err  StoreError, without the password
//
// What differs between the two, and is settled here:
// - SQLite has one connection, and a query sent while a transaction awaits would become part of it. So units of
//   work queue up, one after another.
// - SQLite waits for locks inside the call, which would stop every request of this process. Its own
//   waiting is turned off; this waits, asynchronously.
// - SQLite keeps writing to a file that was deleted or replaced, and these writes are lost. So each unit of work first
//   checks that the file still has its name.
// - A PostgreSQL server can fall silent. So every unit of work has a time-out, after which its connections are
//   discarded, and the next unit begins with new ones.

import { closeSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeFolder, within } from "@inkling/release-store";
import { SQL, type TransactionSQL } from "bun";
import { StoreError, storeErrorFrom } from "./error.ts";

/** Longest that one unit of work may take. */
export const TIMEOUT_MS = 5_000;
const LOCK_RETRY_MS = 10;
const POSTGRES_CONNECTIONS = 4;

type Dialect = "sqlite" | "postgres";

interface Address {
  readonly dialect: Dialect;
  /** For people: without the password. */
  readonly label: string;
  /** Texts that must not appear in any message. */
  readonly secrets: readonly string[];
  /** Of an SQLite database. */
  readonly file?: string;
  readonly connect: (timeoutMs: number, over?: ConnectionOptions) => SQL;
}

/** Options that differ for a dedicated connection. */
type ConnectionOptions = Pick<SQL.PostgresOrMySQLOptions, "max" | "onclose">;

/** Is this the address of a PostgreSQL server, which several hosts may use? */
export const isSharedDatabase = (address: string) => /^postgres(ql)?:\/\//.test(address);

/**
 * Understands `postgres://user:password@host:port/database`, `sqlite://path`, `sqlite:path` and a plain path.
 * @throws StoreError ADDRESS
 */
export function parseAddress(text: string): Address {
  if (isSharedDatabase(text)) return postgresAddress(text);
  const path = text.replace(/^sqlite:(\/\/)?/, "");
  if (path === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(path) || path.includes("?")) {
    const shown = path.includes("://") ? `${path.slice(0, path.indexOf("://"))}://…` : path;
    throw new StoreError(
      "ADDRESS",
      `database address not understood: "${shown}"`,
      "write sqlite://PATH or postgres://USER:PASSWORD@HOST:5432/DATABASE",
    );
  }
  return sqliteAddress(path);
}

function postgresAddress(text: string): Address {
  // URL's own error quotes its input, password included: it goes no further.
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const name = url === undefined ? undefined : decoded(url.pathname.slice(1));
  const password = url === undefined ? undefined : decoded(url.password);
  if (url === undefined || name === undefined || password === undefined || url.hostname === "") {
    throw new StoreError(
      "ADDRESS",
      "database address not understood: it is no URL",
      "write postgres://USER:PASSWORD@HOST:5432/DATABASE, with @ : / ? # % in the password as %40 %3A %2F %3F %23 %25",
    );
  }
  const label = `postgres://${url.username}${url.username && "@"}${url.host}${url.pathname}`;
  const inQuery = ["password", "sslpassword"].flatMap((name) => url.searchParams.getAll(name)); // Bun takes both
  return {
    dialect: "postgres",
    label,
    secrets: [password, url.password, ...inQuery].filter((secret) => secret.length > 0),
    connect: (timeoutMs, over) =>
      new SQL(text, {
        max: POSTGRES_CONNECTIONS,
        ...over,
        connectionTimeout: Math.max(1, Math.ceil(timeoutMs / 1_000)),
        ...(name === "" ? {} : { database: name }), // otherwise PGDATABASE in the environment wins over the URL
        connection: { application_name: "inkling" },
        // Each number of rows in a flush would be another statement, kept on every connection: 100 of them
        // took 20 MB of the server. Unnamed statements are not kept, and poolers such as PgBouncer can hand the
        // connection on after each transaction.
        prepare: false,
      }),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a stray %: not an address
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
        closeSync(openSync(file, "a", 0o600)); // SQLite gives its -wal and -shm files the same mode
      }
      return new SQL({ adapter: "sqlite", filename: file });
    },
  };
}

export class Database {
  readonly dialect: Dialect;
  /** For messages: the address without its password. */
  readonly label: string;
  private readonly address: Address;
  private readonly timeoutMs: number;
  private client: Promise<SQL> | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  /** Of the file that is open. */
  private fileId: string | undefined;
  /** Called before another file is opened under the name. */
  onOtherFile: (() => void) | undefined;

  /**
   * Connects to nothing yet.
   * @throws StoreError ADDRESS
   */
  constructor(address: string, timeoutMs = TIMEOUT_MS) {
    this.address = parseAddress(address);
    this.dialect = this.address.dialect;
    this.label = this.address.label;
    this.timeoutMs = timeoutMs;
  }

  /** Runs queries that need not belong together. They may run twice: at most one of them may write. */
  run<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.unit(work);
  }

  /**
   * Runs queries that belong together: all of them count, or none.
   * After a time-out it is unknown whether they did: callers send what may be tried again.
   * @param durable whether a power cut must not undo it (SQLite: one fsync more, 1-10 ms)
   */
  transaction<T>(work: (sql: TransactionSQL) => Promise<T>, durable = false): Promise<T> {
    if (this.dialect === "postgres") {
      return this.unit((sql) =>
        sql.begin(async (tx): Promise<T> => {
          // A process that vanished in mid-transaction must not keep rows locked for the others.
          await tx.unsafe(
            `SET LOCAL statement_timeout = ${2 * this.timeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${2 * this.timeoutMs}`,
          );
          return await work(tx);
        }),
      ) as Promise<T>;
    }
    return this.unit(async (sql) => {
      if (durable) await sql`PRAGMA synchronous = FULL`;
      try {
        return (await sql.begin("IMMEDIATE", async (tx): Promise<T> => await work(tx))) as T;
      } finally {
        if (durable) await sql`PRAGMA synchronous = NORMAL`;
      }
    });
  }

  /** Queries that all see the same moment; they make no writer wait. They may run twice. */
  snapshot<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    const how = this.dialect === "postgres" ? "ISOLATION LEVEL REPEATABLE READ READ ONLY" : "DEFERRED";
    return this.unit((sql) => sql.begin(how, async (tx): Promise<T> => await work(tx))) as Promise<T>;
  }

  /**
   * A client beside the others, for notices: its caller closes it. @returns undefined for SQLite, which has none
   * @param onclose called when its connection has ended
   */
  connectForNotices(onclose: () => void): SQL | undefined {
    if (this.dialect !== "postgres") return undefined;
    return this.address.connect(this.timeoutMs, { max: 1, onclose });
  }

  /**
   * Tries to take this lock, and runs `work` on a dedicated connection. The database releases the lock when `work` ends
   * or the connection is lost. SQLite has no such lock, so `isHeld` is always false there.
   * @param work is called in any case; `isHeld` checks whether this process still holds the lock
   * @throws StoreError if there is no connection, and what `work` throws
   */
  async withLock<T>(lock: number, work: (isHeld: () => Promise<boolean>) => Promise<T>): Promise<T> {
    const client = this.connectForNotices(() => {});
    if (client === undefined) return work(async () => false);
    let outcome: Promise<T> | undefined;
    // One transaction: so PgBouncer keeps its connection, in whatever mode.
    const transaction = client.begin(async (tx) => {
      await tx.unsafe("SET LOCAL idle_in_transaction_session_timeout = 0");
      const rows: { held: boolean }[] = await tx`SELECT pg_try_advisory_xact_lock(${lock}) AS held`;
      const answers = () => {
        const answer = tx`SELECT 1`.then(
          () => true,
          () => false,
        );
        return within(this.timeoutMs, answer, () => false);
      };
      outcome = work(async () => rows[0]?.held === true && (await answers()));
      await outcome.catch(() => {}); // the caller gets it
    });
    try {
      await transaction;
    } catch (error) {
      if (outcome === undefined) throw this.errorFrom(error); // otherwise the end of the connection ends the lock alone
    } finally {
      client.close({ timeout: 0 }).catch(() => {});
    }
    return outcome!; // `work` was called
  }

  /** What a client of {@link connectForNotices} threw, without the password. */
  errorFrom(cause: unknown): StoreError {
    return storeErrorFrom(cause, this.label, this.address.secrets);
  }

  /** Ends all connections. Work that is under way is waited for. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.queue.catch(() => {});
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    const sql = await client.catch(() => undefined);
    await sql?.close({ timeout: Math.ceil(this.timeoutMs / 1_000) });
  }

  private unit<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    if (this.dialect === "postgres") return this.attempt(work);
    const turn = this.queue.then(() => this.attempt(work));
    this.queue = turn.catch(() => {}); // the caller gets the error; the next in the queue must not
    return turn;
  }

  private async attempt<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    if (this.isClosed) throw new StoreError("AWAY", `${this.label}: closed`, "the program is shutting down");
    const deadline = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        this.requireSameFile();
        return await this.withTimeout(this.connected().then(work));
      } catch (cause) {
        const error = this.errorFrom(cause);
        if (!isLockHeld(cause) || performance.now() > deadline) throw error;
        await Bun.sleep(LOCK_RETRY_MS);
      }
    }
  }

  /** @throws StoreError AWAY when the file was deleted, or another one is under its name: that is opened next */
  private requireSameFile(): void {
    const { file } = this.address;
    if (file === undefined || this.fileId === undefined) return;
    const found = idOf(file);
    if (found === this.fileId) return;
    if (found === undefined) {
      throw new StoreError(
        "AWAY",
        `${this.label}: the file was deleted while it was in use`,
        "restore it from a backup; until then usage is kept in memory",
      );
    }
    this.discard();
    this.fileId = undefined;
    this.onOtherFile?.();
    throw new StoreError(
      "AWAY",
      `${this.label}: another file was put in its place while it was in use`,
      "it is used from now on",
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
    const sql = this.address.connect(this.timeoutMs);
    if (this.dialect === "postgres") return sql; // connects with the first query
    try {
      await sql`PRAGMA busy_timeout = 0`;
      await sql`PRAGMA journal_mode = WAL`;
      await sql`PRAGMA synchronous = NORMAL`;
      await sql`PRAGMA foreign_keys = ON`;
      if (this.address.file !== undefined) this.fileId = idOf(this.address.file);
      return sql;
    } catch (error) {
      await sql.close();
      throw error;
    }
  }

  /** SQLite runs inside the call, so a time-out is only ever PostgreSQL's. */
  private withTimeout<T>(work: Promise<T>): Promise<T> {
    return within(this.timeoutMs, work, () => {
      this.discard(); // the work fails later, with its connection
      throw new StoreError(
        "AWAY",
        `${this.label}: no answer within ${this.timeoutMs} ms`,
        "it is tried again",
      );
    });
  }

  private discard(): void {
    const client = this.client;
    this.client = undefined;
    client?.then((sql) => sql.close({ timeout: 0 })).catch(() => {}); // its error interests no caller any more
  }
}

/** @returns undefined if there is no such file */
function idOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function isLockHeld(cause: unknown): boolean {
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
