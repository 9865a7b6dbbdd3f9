// tables.ts: defines what all parts of the store share: queries, the clock, and pages of rows.

import type { SQL, TransactionSQL } from "bun";
import type { Database } from "./database.ts";
import type { EpochMs } from "./keys/key.ts";
import { migrate, type Upgrade } from "./migrations.ts";
import { NOTICES, type Noticed } from "./notices.ts";
import { UnreadableRows } from "./unreadable.ts";

/** Attempts to empty the write-ahead log, and milliseconds between two of them. */
const LOG_ATTEMPTS = 20;
const LOG_WAIT_MS = 100;

/** The tables of one database, with a clock and a source of random bytes for their rows. */
export class Tables {
  readonly now: () => EpochMs;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly unreadable: UnreadableRows;
  /** Called once existing tables have been upgraded. */
  onUpgrade: ((upgrade: Upgrade) => void) | undefined;
  private readonly database: Database;
  private readonly clockOf: "database" | "host";
  private migrated: Promise<void> | undefined;

  /** @param now this host's clock; by default, the clock that several hosts share is the database server's */
  constructor(
    database: Database,
    now: (() => EpochMs) | undefined,
    randomBytes: (n: number) => Uint8Array,
    unreadable = new UnreadableRows(),
  ) {
    this.database = database;
    this.now = now ?? Date.now;
    this.clockOf = now === undefined && database.dialect === "postgres" ? "database" : "host";
    this.randomBytes = randomBytes;
    this.unreadable = unreadable;
  }

  /** Runs queries that are independent of each other. A query may run twice, so at most one of them may write. */
  async run<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.run(work);
  }

  /** Runs a query that decisions wait for. */
  async query<T>(text: string, values: readonly (string | number)[]): Promise<T[]> {
    await this.ready();
    return this.database.query(text, values);
  }

  /** Runs queries that all read the same state. */
  async snapshot<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.snapshot(work);
  }

  /** The database's address, without its password. */
  get label(): string {
    return this.database.label;
  }

  /** Can several hosts share the database? */
  get isShared(): boolean {
    return this.database.dialect === "postgres";
  }

  /** @param durable whether the result must survive a power cut */
  async write<T>(work: (tx: TransactionSQL) => Promise<T>, durable: boolean): Promise<T> {
    await this.ready();
    return this.database.transaction(work, durable);
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
    return this.clockOf === "database"
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
    if (this.database.dialect === "postgres") await tx`SELECT pg_notify(${NOTICES}, ${noticed})`;
  }

  /** Makes the next call run the migrations again, because a different file replaced the database. */
  migrateAgain(): void {
    this.migrated = undefined;
  }

  /** Runs the migrations at the first call that reaches the database. */
  private ready(): Promise<void> {
    this.migrated ??= migrate(this.database, this.now()).then(
      (upgrade) => {
        if (upgrade !== undefined) this.onUpgrade?.(upgrade);
      },
      (error) => {
        this.migrated = undefined;
        throw error;
      },
    );
    return this.migrated;
  }
}

export const MAX_PAGE = 1_000;

/**
 * Maximum rows in one INSERT. SQLite runs inside this process, and inserting 15,000 rows in one statement would delay
 * requests by 34 ms.
 */
export const ROWS_AT_ONCE = 500;

export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; undefined after the last page. */
  readonly next: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

interface CreatedRow {
  readonly id: string;
  readonly created_at: EpochMs | string;
}

/**
 * Reads pages of rows with created_at and id, newest first. A cursor identifies the last row of a page:
 * "1780272000000-key_3fK9…".
 */
export class NewestFirst {
  private readonly pattern: RegExp;

  /** @param idPrefix "key" for ids such as key_3fK9… */
  constructor(idPrefix: string) {
    this.pattern = new RegExp(`^(\\d{1,16})-(${idPrefix}_[0-9A-Za-z]{16})$`);
  }

  isCursor(text: string): boolean {
    return this.pattern.test(text);
  }

  /** Returns the condition for rows of the page that follows the cursor. */
  after(sql: SQL, cursor: string | undefined) {
    const parts = cursor === undefined ? null : this.pattern.exec(cursor);
    if (parts === null) return sql`1 = 1`;
    return sql`(created_at, id) < (${Number(parts[1])}, ${parts[2]})`;
  }

  /**
   * Creates a page.
   * @param rows up to one row more than the limit, which shows that there is a next page
   * @param read returns an item for each row, except for rows that it cannot read
   */
  page<Row extends CreatedRow, T>(
    rows: readonly Row[],
    limit: number,
    read: (rows: readonly Row[]) => readonly T[],
  ): Page<T> {
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const isMore = rows.length > limit && last !== undefined;
    return { items: read(shown), next: isMore ? `${last.created_at}-${last.id}` : undefined };
  }
}
