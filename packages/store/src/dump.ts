// dump.ts: reads and replaces the rows that a backup contains, for both databases. A backup reads all rows at one
// moment, and a restore replaces all of them or none.
//
// in   nothing, or the rows of a backup
// out  rows as plain values, table by table, in the same form for both databases
// err  StoreError, or an error from the source of the rows. In both cases, nothing changes
// cost pages of ROWS_AT_ONCE rows; writers wait for a restore, but not for a backup
//
// A backup leaves out what belongs to running servers: stamps, recorders, hosts and their counts, traffic counts, webhook
// deliveries and the verdicts that they reported. It also leaves out migrations, which each database has, and
// decisions, which are large and expire. Deleted decisions must not survive in a backup.

import type { TransactionSQL } from "bun";
import { insertAudit } from "./audit.ts";
import type { Actor } from "./keys/actor.ts";
import { randomBase62 } from "./keys/token.ts";
import { NOTICED } from "./notices.ts";
import { ROWS_AT_ONCE, type Tables } from "./tables.ts";

type Kind = "text" | "number" | "text or null" | "number or null";
type DumpedValue = string | number | null;
type Columns = Readonly<Record<string, Kind>>;

interface DumpedTable {
  /** The columns of the primary key, in order. */
  readonly key: readonly string[];
  readonly columns: Columns;
}

const usage = (time: string): DumpedTable => ({
  key: [time, "key_id", "lookup"],
  columns: { [time]: "text", key_id: "text", lookup: "text", count: "number" },
});

/**
 * Each table comes after the tables that it refers to. If a migration changes existing rows, the backup needs a new
 * version.
 */
export const DUMPED: Readonly<Record<string, DumpedTable>> = {
  inkling_keys: {
    key: ["id"],
    columns: {
      id: "text",
      name: "text",
      mode: "text",
      hint: "text",
      scopes: "text",
      networks: "text",
      rate: "number or null",
      burst: "number or null",
      quota: "number or null",
      created_at: "number",
      expires_at: "number or null",
      revoked_at: "number or null",
      traced_until: "number or null",
    },
  },
  inkling_tokens: {
    key: ["hash"],
    columns: { hash: "text", key_id: "text", created_at: "number", valid_until: "number or null" },
  },
  inkling_overrides: {
    key: ["id"],
    columns: {
      id: "text",
      kind: "text",
      value: "text",
      effect: "text",
      argument: "text",
      note: "text",
      author: "text",
      created_at: "number",
      expires_at: "number or null",
      removed_at: "number or null",
    },
  },
  inkling_rulesets: {
    key: ["number"],
    columns: {
      number: "number",
      text: "text",
      note: "text",
      author: "text",
      created_at: "number",
      restores: "number or null",
    },
  },
  inkling_webhooks: {
    key: ["id"],
    columns: {
      id: "text",
      url: "text",
      events: "text",
      allow_inner: "number",
      secret: "text",
      old_secret: "text or null",
      old_secret_until: "number or null",
      author: "text",
      created_at: "number",
      disabled_at: "number or null",
    },
  },
  inkling_admin_tokens: { key: ["hash"], columns: { hash: "text", created_at: "number" } },
  inkling_named_admin_tokens: {
    key: ["name"],
    columns: {
      name: "text",
      hash: "text",
      scope: "text",
      hint: "text",
      author: "text",
      created_at: "number",
      expires_at: "number or null",
      last_used_on: "text or null",
      parent: "text or null",
    },
  },
  inkling_audit: {
    key: ["sequence"],
    columns: {
      sequence: "number",
      at: "number",
      actor: "text",
      way: "text or null",
      action: "text",
      subject: "text",
      was: "text or null",
      became: "text or null",
    },
  },
  inkling_usage: usage("day"),
  inkling_usage_hours: usage("hour"),
};

export type DumpedRow = Readonly<Record<string, DumpedValue>>;
export interface DumpedRows {
  readonly table: string;
  readonly rows: readonly DumpedRow[];
}

/** Returns whether the column may contain this value. */
export function fits(kind: Kind, value: unknown): value is DumpedValue {
  if (value === null) return kind.endsWith("or null");
  return kind.startsWith("text") ? typeof value === "string" : Number.isFinite(value);
}

export class DumpTables {
  private readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  /** Lists the tables whose rows a restore would replace. */
  async filled(): Promise<string[]> {
    return this.tables.read(async (sql) => {
      const filled: string[] = [];
      for (const table of Object.keys(DUMPED)) {
        if ((await sql.unsafe(`SELECT 1 AS one FROM ${table} LIMIT 1`)).length > 0) filled.push(table);
      }
      return filled;
    });
  }

  /**
   * Reads all rows as of one moment.
   * @param use may be called twice; the second call starts again from the beginning
   */
  async read<T>(use: (rows: AsyncGenerator<DumpedRows>) => Promise<T>): Promise<T> {
    return this.tables.snapshot((tx) => use(readPages(tx)));
  }

  /** Replaces all rows. Running servers read the new rows within a second. */
  async replace(rows: AsyncIterable<DumpedRows>, by: Actor, about: unknown): Promise<void> {
    const { tables } = this;
    await tables.write(async (tx) => {
      // Changes the stamps first, as every change does, so that other changes happen entirely before or after this one.
      for (const stamp of ["inkling_key_stamp", "inkling_override_stamp"])
        await tx.unsafe(`UPDATE ${stamp} SET stamp = $1`, [randomBase62(22, tables.randomBytes)]);
      const names = Object.keys(DUMPED);
      if (tables.isShared) await tx.unsafe(`LOCK TABLE ${names.join(", ")} IN EXCLUSIVE MODE`);
      const before = { rows: await countRows(tx) };
      for (const table of names.toReversed()) await tx.unsafe(`DELETE FROM ${table}`);
      for await (const { table, rows: some } of rows) {
        for (let at = 0; at < some.length; at += ROWS_AT_ONCE)
          await tx`INSERT INTO ${tx(table)} ${tx(some.slice(at, at + ROWS_AT_ONCE))}`;
      }
      const entry = { ...by, action: "database-restored", subject: "database" } as const;
      await insertAudit(tx, [{ ...entry, before, after: about }], tables.now());
      for (const kind of NOTICED) await tables.notify(tx, kind);
    }, true);
  }
}

async function countRows(tx: TransactionSQL): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(DUMPED)) {
    const rows: { n: number | string }[] = await tx.unsafe(`SELECT COUNT(*) AS n FROM ${table}`);
    counts[table] = Number(rows[0]?.n);
  }
  return counts;
}

async function* readPages(tx: TransactionSQL): AsyncGenerator<DumpedRows> {
  for (const [table, { key, columns }] of Object.entries(DUMPED)) {
    const names = Object.keys(columns).join(", ");
    const order = key.join(", ");
    const after = `(${order}) > (${key.map((_, i) => `$${i + 1}`).join(", ")})`;
    for (let last: DumpedRow | undefined; ; ) {
      const where = last === undefined ? "" : `WHERE ${after}`;
      const values = last === undefined ? [] : key.map((column) => last![column]);
      const page: Record<string, DumpedValue>[] = await tx.unsafe(
        `SELECT ${names} FROM ${table} ${where} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`,
        values,
      );
      const rows = page.map((row) => plainRow(columns, row));
      if (rows.length > 0) yield { table, rows };
      if (rows.length < ROWS_AT_ONCE) break;
      last = rows.at(-1);
    }
  }
}

/** Converts PostgreSQL's large numbers, which arrive as text. */
function plainRow(columns: Columns, row: Readonly<Record<string, DumpedValue>>): DumpedRow {
  const value = (name: string, kind: Kind) => {
    const found = row[name] ?? null;
    return found !== null && kind.startsWith("number") ? Number(found) : found;
  };
  return Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, value(name, kind)]));
}
