// tables.ts: what the parts of the store work with: queries, the clock, pages of rows.

import type { SQL, TransactionSQL } from "bun";
import type { EpochMs } from "../keys/key.ts";
import type { Database } from "./database.ts";
import { migrate } from "./migrations.ts";
import { NOTICES, type Noticed } from "./notices.ts";

/** The tables of one database, and what their rows are made with. */
export class Tables {
  readonly now: () => EpochMs;
  readonly randomBytes: (n: number) => Uint8Array;
  private readonly database: Database;
  private migrated: Promise<void> | undefined;

  constructor(database: Database, now: () => EpochMs, randomBytes: (n: number) => Uint8Array) {
    this.database = database;
    this.now = now;
    this.randomBytes = randomBytes;
  }

  async read<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.run(work);
  }

  /** Queries that all see the same moment. */
  async snapshot<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.snapshot(work);
  }

  /** Can several hosts share it? */
  get isShared(): boolean {
    return this.database.dialect === "postgres";
  }

  /** Runs a single statement as its own transaction: one round trip, and no lock outlives it. */
  async writeOnce<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.run(work);
  }

  /** @param durable whether a power cut must not undo it */
  async write<T>(work: (tx: TransactionSQL) => Promise<T>, durable: boolean): Promise<T> {
    await this.ready();
    return this.database.transaction(work, durable);
  }

  /**
   * Sends a notice to every process that listens, when the transaction commits. PostgreSQL takes a lock of the whole
   * cluster for that: it is for changes that operators make, never for usage.
   */
  async notify(tx: TransactionSQL, noticed: Noticed): Promise<void> {
    if (this.database.dialect === "postgres") await tx`SELECT pg_notify(${NOTICES}, ${noticed})`;
  }

  /** Another file is in the database's place. */
  migrateAgain(): void {
    this.migrated = undefined;
  }

  /** Migrates with the first call that reaches the database. */
  private ready(): Promise<void> {
    this.migrated ??= migrate(this.database, this.now()).catch((error) => {
      this.migrated = undefined;
      throw error;
    });
    return this.migrated;
  }
}

export const MAX_PAGE = 1_000;

/** Rows in one INSERT. SQLite runs inside this process: 15,000 rows at once would keep requests waiting 34 ms. */
export const ROWS_AT_ONCE = 500;

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

interface Created {
  readonly id: string;
  readonly createdAt: EpochMs;
}

/** Pages of rows with created_at and id, newest first. A cursor is the last row of a page: "1780272000000-key_3fK9…". */
export class NewestFirst {
  private readonly pattern: RegExp;

  /** @param idPrefix "key" for ids such as key_3fK9… */
  constructor(idPrefix: string) {
    this.pattern = new RegExp(`^(\\d{1,16})-(${idPrefix}_[0-9A-Za-z]{16})$`);
  }

  isCursor(text: string): boolean {
    return this.pattern.test(text);
  }

  /** The condition for rows of the page that the cursor begins. */
  after(sql: SQL, cursor: string | undefined) {
    const parts = cursor === undefined ? null : this.pattern.exec(cursor);
    if (parts === null) return sql`1 = 1`;
    const at = Number(parts[1]);
    return sql`(created_at < ${at} OR (created_at = ${at} AND id < ${parts[2]}))`;
  }

  /** @param rows one more than the limit, if there are that many */
  page<T extends Created>(rows: readonly T[], limit: number): Page<T> {
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    const isMore = rows.length > limit && last !== undefined;
    return { items, next: isMore ? `${last.createdAt}-${last.id}` : undefined };
  }
}
