// database.ts: one way to run queries on an SQLite file or a PostgreSQL server, with a time limit. The first query brings
// the tables up to date.
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
import { statSync } from "node:fs";
import type { EventLog } from "@inkling/contract";
import { within } from "@inkling/data";
import type { SQL, TransactionSQL } from "bun";
import { type Address, type Dialect, parseAddress } from "./address.ts";
import { StoreError, storeErrorFrom } from "./error.ts";
import type { EpochMs } from "./keys/key.ts";
import { isUpToDate, MIGRATIONS, type Migration, migrate, type Upgrade } from "./migrations.ts";
import { UnreadableRows } from "./unreadable.ts";

/** Maximum milliseconds for one unit of work. */
const TIMEOUT_MS = 5_000;
/** Maximum milliseconds for all steps of an upgrade. Steps that rewrite large tables take long. */
const UPGRADE_MS = 600_000;
const LOCK_RETRY_MS = 10;
/** Attempts to empty the write-ahead log, and milliseconds between two of them. */
const LOG_ATTEMPTS = 20;
const LOG_WAIT_MS = 100;
/**
 * Connections to PostgreSQL for each kind of work. Keys, limits and the operator's changes have their own connection,
 * so that a revocation never waits for decisions, usage or deliveries. SQLite has one connection for everything that
 * may write.
 */
const CONNECTIONS = { control: 1, records: 2 } as const;

/**
 * Maximum rows in one INSERT. SQLite runs inside this process, and inserting 15,000 rows in one statement would delay
 * requests by 34 ms.
 */
export const ROWS_AT_ONCE = 500;

/** The channel of all notices (notices.ts). */
export const NOTICES = "inkling_notices";
export const NOTICED = ["keys", "overrides", "rulesets"] as const;
export type Noticed = (typeof NOTICED)[number];

export interface DatabaseOptions {
  /** This host's clock. By default, the clock that several hosts share is the database server's. */
  readonly now?: () => EpochMs;
  readonly randomBytes?: (n: number) => Uint8Array;
  /** Maximum milliseconds for one call. */
  readonly timeoutMs?: number;
  /** Gets an error for each row that this version cannot read, and if another SQLite file replaced the one in use. */
  readonly log?: Pick<EventLog, "error">;
  /** Called after tables of an earlier version were upgraded. */
  readonly onUpgrade?: (upgrade: Upgrade) => void;
}

/** What differs between the two databases of a store, and in tests. */
interface DatabaseUse {
  readonly work?: keyof typeof CONNECTIONS;
  readonly unreadable?: UnreadableRows;
  readonly migrations?: readonly Migration[];
}

export class Database {
  readonly dialect: Dialect;
  /** The address without its password, for messages. */
  readonly label: string;
  /** Can several hosts share the database? */
  readonly isShared: boolean;
  readonly now: () => EpochMs;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly unreadable: UnreadableRows;
  private readonly address: Address;
  private readonly options: DatabaseOptions;
  private readonly timeoutMs: number;
  private readonly max: number;
  private readonly migrations: readonly Migration[];
  private migrated: Promise<void> | undefined;
  private client: Promise<SQL> | undefined;
  /** The connection of {@link query} to an SQLite file. */
  private reader: SqliteFile | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  /** Device and inode of the open file. */
  private fileId: string | undefined;

  /**
   * Creates the object without connecting.
   * @throws StoreError ADDRESS
   */
  constructor(address: string, options: DatabaseOptions = {}, use: DatabaseUse = {}) {
    this.address = parseAddress(address);
    this.dialect = this.address.dialect;
    this.label = this.address.label;
    this.isShared = this.dialect === "postgres";
    this.options = options;
    this.now = options.now ?? Date.now;
    this.randomBytes = options.randomBytes ?? ((n) => crypto.getRandomValues(new Uint8Array(n)));
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.max = CONNECTIONS[use.work ?? "control"];
    this.unreadable = use.unreadable ?? new UnreadableRows(options.log);
    this.migrations = use.migrations ?? MIGRATIONS;
  }

  /** Was the SQLite file deleted or moved while it was in use? */
  get isFileGone(): boolean {
    const { file } = this.address;
    return file !== undefined && this.fileId !== undefined && idOf(file) === undefined;
  }

  /** Brings the tables up to date, unless an earlier call has done so. Every query does this first. */
  ready(): Promise<void> {
    this.migrated ??= this.migrate().catch((error) => {
      this.migrated = undefined;
      throw error;
    });
    return this.migrated;
  }

  private async migrate(): Promise<void> {
    const { address, migrations } = this;
    // At an ordinary start, this reads one row. It needs neither a lock nor the right to create tables.
    if (await this.inTurn((sql) => isUpToDate(sql, migrations), this.timeoutMs)) return;
    const steps = (tx: TransactionSQL) => migrate(tx, address, this.now(), migrations);
    const upgrade = await this.inTurn((sql) => this.begin(sql, steps, true, UPGRADE_MS), UPGRADE_MS);
    if (upgrade !== undefined) this.options.onUpgrade?.(upgrade);
  }

  /** Runs queries that are independent of each other. A query may run twice, so at most one of them may write. */
  async run<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.inTurn(work, this.timeoutMs);
  }

  /**
   * Runs queries as one unit: all of them take effect, or none. After a time-out, the outcome is unknown, so callers
   * may only send work that can safely be repeated.
   * @param durable whether the result must survive a power cut (SQLite: one more fsync, 1-10 ms)
   */
  write<T>(work: (tx: TransactionSQL) => Promise<T>, durable: boolean): Promise<T> {
    return this.run((sql) => this.begin(sql, work, durable, this.timeoutMs));
  }

  private inTurn<T>(work: (sql: SQL) => Promise<T>, timeoutMs: number): Promise<T> {
    if (this.isShared) return this.attempt(work, timeoutMs);
    const turn = this.queue.then(() => this.attempt(work, timeoutMs));
    this.queue = turn.catch(() => {}); // the caller receives the error; the next unit of work must not
    return turn;
  }

  private async begin<T>(
    sql: SQL,
    work: (tx: TransactionSQL) => Promise<T>,
    durable: boolean,
    timeoutMs: number,
  ): Promise<T> {
    if (this.isShared)
      return sql.begin(async (tx) => {
        // If a process disappears during a transaction, its row locks must not block others.
        await tx.unsafe(
          `SET LOCAL statement_timeout = ${2 * timeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${2 * timeoutMs}`,
        );
        return await work(tx);
      }) as Promise<T>;
    if (durable) await sql`PRAGMA synchronous = FULL`;
    try {
      return (await sql.begin("IMMEDIATE", async (tx): Promise<T> => await work(tx))) as T;
    } finally {
      if (durable) await sql`PRAGMA synchronous = NORMAL`;
    }
  }

  /**
   * Runs a query that decisions wait for. With SQLite, it has its own connection, which prepares each text once and does
   * not wait for other work. Bun.SQL prepares every query again: 226 µs of CPU time instead of 17 for two facts.
   * @param text few different texts, with the parameters $1, $2, …
   */
  async query<T>(text: string, values: readonly (string | number)[]): Promise<T[]> {
    const { file } = this.address;
    if (file === undefined) return this.run((sql) => sql.unsafe(text, [...values]));
    await this.ready();
    return this.attempt(async () => {
      this.reader ??= new SqliteFile(file, { readwrite: true });
      return this.reader.query<T, (string | number)[]>(text).all(...values);
    }, this.timeoutMs);
  }

  /** Runs queries that all read the same state, without blocking any writer. They may run twice. */
  snapshot<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    const how = this.isShared ? "ISOLATION LEVEL REPEATABLE READ READ ONLY" : "DEFERRED";
    return this.run((sql) => sql.begin(how, async (tx): Promise<T> => await work(tx))) as Promise<T>;
  }

  /** Empties the write-ahead log of SQLite, which otherwise contains deleted rows until it is overwritten. */
  async emptyLog(): Promise<void> {
    if (this.isShared) return;
    for (let attempt = 0; attempt < LOG_ATTEMPTS; attempt++) {
      const rows: { busy: number }[] = await this.run((sql) => sql`PRAGMA wal_checkpoint(TRUNCATE)`);
      if (rows[0]?.busy !== 1) return;
      await Bun.sleep(LOG_WAIT_MS);
    }
    // Another process reads the database, such as a backup. The next checkpoint overwrites the log.
  }

  /** Returns the expression for the current time in epoch ms: the database server's, or this host's with SQLite. */
  clock(sql: SQL) {
    return this.isShared && this.options.now === undefined
      ? sql`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
      : sql`${this.now()}`;
  }

  /**
   * Deletes rows in small steps, between which requests are answered.
   * @param key the columns that identify a row, separated by commas
   * @param onDeleted called after each step with the number of rows deleted so far
   * @returns the number of deleted rows
   */
  async deleteInSteps(
    table: string,
    key: string,
    where: (sql: SQL) => SQL.Query<unknown>,
    onDeleted: (deleted: number) => void = () => {},
  ): Promise<number> {
    for (let deleted = 0; ; await Bun.sleep(0)) {
      const rows: unknown[] = await this.run(
        (sql) => sql`DELETE FROM ${sql.unsafe(table)} WHERE (${sql.unsafe(key)}) IN
          (SELECT ${sql.unsafe(key)} FROM ${sql.unsafe(table)} WHERE ${where(sql)} LIMIT ${ROWS_AT_ONCE})
          RETURNING 1 AS one`,
      );
      deleted += rows.length;
      onDeleted(deleted);
      if (rows.length < ROWS_AT_ONCE) return deleted;
    }
  }

  /**
   * Sends a notice to every listening process when the transaction commits. For a notice, PostgreSQL locks the whole
   * cluster, so use this for operators' changes and never for usage.
   */
  async notify(tx: TransactionSQL, noticed: Noticed): Promise<void> {
    if (this.isShared) await tx`SELECT pg_notify(${NOTICES}, ${noticed})`;
  }

  /**
   * Opens a separate client for notices. The caller must close it.
   * @param onclose called when the client's connection has ended
   * @returns undefined for SQLite, which has no notices
   */
  connectForNotices(onclose: () => void): SQL | undefined {
    if (!this.isShared) return undefined;
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
    this.migrated = undefined;
    this.options.log?.error("database-replaced", { database: this.label });
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
    if (this.isShared) return sql; // connects with the first query
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
