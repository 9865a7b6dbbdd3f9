// copy.ts: copies rows out of an SQLite file: into the file of a backup, or into another database. A restore and a move
// to PostgreSQL are the same copy, in one transaction.
//
// Which columns a table has is read from the database, so a migration changes nothing here. Both databases have the
// tables of this version, because openStore has migrated them.

import { Database as SqliteFile } from "bun:sqlite";
import { randomBase62 } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import type { Author } from "./audit.ts";
import { insertAudit } from "./audit.ts";
import { type Database, NOTICED, ROWS_AT_ONCE } from "./database.ts";
import { StoreError, storeErrorFrom } from "./error.ts";

const DECISIONS = "inkling_decisions";
/** Outlives decisions, but counts those that are stored. */
const DECISION_COUNTS = "inkling_decision_counts";
/** Left out of backups, because they would be sent again, and contain what decisions contain. */
const DELIVERIES = "inkling_deliveries";
/** Tables that belong to the servers that use a database. A restore leaves them as they are. */
const OF_SERVERS: ReadonlySet<string> = new Set([
  DELIVERIES,
  "inkling_domain_verdicts",
  "inkling_group_counts",
  "inkling_hosts",
  "inkling_key_changes",
  "inkling_key_stamp",
  "inkling_low_quotas",
  "inkling_override_stamp",
  "inkling_recorders",
  "inkling_retention",
  "inkling_webhook_watch",
]);

export type RowCounts = Readonly<Record<string, number>>;

interface CopyRequest {
  /** Path of an SQLite database that {@link openStore} has migrated. */
  readonly from: string;
  /** Replaces rows, except those of running servers. By default, the database must be empty, and takes all rows. */
  readonly restore?: { readonly decisions: boolean };
  readonly by: Author;
  /** What the audit entry contains in addition to the numbers of rows. */
  readonly about: object;
  /** Called after each group of copied rows. */
  readonly onRows?: (table: string, done: number, total: number) => void;
}

export class DatabaseCopy {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Writes an SQLite database to a file, as of one moment, while others use the database.
   * @param path an empty file
   * @param decisions whether to include stored decisions
   * @returns the number of rows of each table
   * @throws StoreError; the file then has to be removed
   */
  async writeTo(path: string, decisions: boolean): Promise<RowCounts> {
    await this.database.run((sql) => sql`VACUUM INTO ${path}`);
    return withFile(path, (file) => {
      const omitted = decisions ? [DELIVERIES] : [DELIVERIES, DECISIONS];
      for (const table of omitted) file.run(`DELETE FROM ${table}`);
      file.run("VACUUM"); // deleted rows must not remain in free pages
      const tables = tablesOf(file).filter((table) => !OF_SERVERS.has(table) && !omitted.includes(table));
      return Object.fromEntries(tables.map((table) => [table, countIn(file, table)]));
    });
  }

  /** Lists the tables with rows that a restore would replace. */
  filled(): Promise<string[]> {
    return this.database.run(async (sql) => filledOf(sql, await this.contentTables(sql)));
  }

  /**
   * Copies all rows in one transaction. Running servers read the new rows within a second.
   * @returns the number of copied rows of each table
   * @throws StoreError CONFLICT if the database has to be empty and is not; in this case, as for every other error,
   *     nothing changes
   */
  async take({ from, restore, by, about, onRows }: CopyRequest): Promise<RowCounts> {
    const { database } = this;
    return withFile(from, (file) => {
      file.run("BEGIN"); // reads all tables as of one moment
      return database.write(async (tx) => {
        const kept = restore && (await keptTables(tx, restore.decisions));
        const names = tablesOf(file).filter((table) => !kept?.has(table));
        // Changes the stamps first, as every change does, so that other changes happen entirely before or after this one.
        for (const stamp of ["inkling_key_stamp", "inkling_override_stamp"])
          await tx.unsafe(`UPDATE ${stamp} SET stamp = $1`, [randomBase62(22, database.randomBytes)]);
        if (database.isShared) await tx.unsafe(`LOCK TABLE ${names.join(", ")} IN EXCLUSIVE MODE`);
        const filled = restore ? [] : await filledOf(tx, await this.contentTables(tx));
        if (filled.length > 0) throw notEmpty(filled);
        const before = { rows: await countAll(tx, names) };
        for (const table of names.toReversed()) await tx.unsafe(`DELETE FROM ${table}`);
        const rows: Record<string, number> = {};
        for (const table of names) rows[table] = await copyTable(file, tx, table, onRows);
        const after = { ...about, rows };
        const action = restore ? "database-restored" : "database-copied";
        await insertAudit(tx, [{ ...by, action, subject: "database", before, after }], database.now());
        for (const kind of NOTICED) await database.notify(tx, kind);
        return rows;
      }, true);
    });
  }

  /** Lists the tables that a backup of everything would contain, by name. */
  private async contentTables(sql: SQL): Promise<string[]> {
    const rows: { name: string }[] = this.database.isShared
      ? await sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
      : await sql`SELECT name FROM sqlite_master WHERE type = 'table'`;
    return rows.map(({ name }) => name).filter((name) => isOurs(name) && !OF_SERVERS.has(name));
  }
}

/** Opens an SQLite file, all of whose queries then read the same state. */
async function withFile<T>(path: string, work: (file: SqliteFile) => T | Promise<T>): Promise<T> {
  let file: SqliteFile | undefined;
  try {
    file = new SqliteFile(path, { readwrite: true });
    return await work(file);
  } catch (error) {
    throw storeErrorFrom(error, `sqlite://${path}`, []);
  } finally {
    file?.close();
  }
}

/** Returns the tables that a restore leaves as they are. */
async function keptTables(tx: TransactionSQL, decisions: boolean): Promise<ReadonlySet<string>> {
  if (decisions) return OF_SERVERS;
  // Decisions that remain keep their counts: a label that changes would otherwise make a count negative.
  const remain = (await filledOf(tx, [DECISIONS])).length > 0;
  return new Set([...OF_SERVERS, DECISIONS, ...(remain ? [DECISION_COUNTS] : [])]);
}

const isOurs = (table: string) => table.startsWith("inkling_") && table !== "inkling_migrations";

/** Lists tables in the order in which they were created, so that each comes after the tables that it refers to. */
function tablesOf(file: SqliteFile): string[] {
  const rows = file
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    .all();
  return rows.map(({ name }) => name).filter(isOurs);
}

const countIn = (file: SqliteFile, table: string): number =>
  file.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()!.n;

async function countAll(tx: TransactionSQL, names: readonly string[]): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  for (const table of names) {
    const rows: { n: number | string }[] = await tx.unsafe(`SELECT COUNT(*) AS n FROM ${table}`);
    counts[table] = Number(rows[0]?.n);
  }
  return counts;
}

async function filledOf(sql: SQL, names: readonly string[]): Promise<string[]> {
  const filled: string[] = [];
  for (const table of names) {
    if ((await sql.unsafe(`SELECT 1 AS one FROM ${table} LIMIT 1`)).length > 0) filled.push(table);
  }
  return filled;
}

async function copyTable(
  file: SqliteFile,
  tx: TransactionSQL,
  table: string,
  onRows: CopyRequest["onRows"],
): Promise<number> {
  const total = countIn(file, table);
  let done = 0;
  for (const rows of pagesOf(file, table)) {
    await tx`INSERT INTO ${tx(table)} ${tx(rows)}`;
    done += rows.length;
    onRows?.(table, done, total);
  }
  return done;
}

/** @throws StoreError for errors of this file, which would otherwise count as errors of the target */
function* pagesOf(file: SqliteFile, table: string): Generator<object[]> {
  let page: object[] = [];
  try {
    // without generated columns, which cannot be inserted
    const columns = file.query<{ name: string }, []>(`PRAGMA table_info(${table})`).all();
    const names = columns.map(({ name }) => name).join(", ");
    for (const row of file.query<object, []>(`SELECT ${names} FROM ${table}`).iterate()) {
      page.push(row);
      if (page.length < ROWS_AT_ONCE) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    throw storeErrorFrom(error, `sqlite://${file.filename}`, []);
  }
  if (page.length > 0) yield page;
}

const notEmpty = (tables: readonly string[]): StoreError =>
  new StoreError(
    "CONFLICT",
    `the target is not empty: it has rows in ${tables.join(", ")}`,
    "use an empty database",
  );
