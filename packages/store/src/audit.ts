// audit.ts: records the audit trail: who changed what, when and how. Only a restore changes or deletes entries: it
// replaces the whole trail (copy.ts).

import { hostname } from "node:os";
import type { AuditAction } from "@inkling/contract";
import { messageOf } from "@inkling/data";
import type { SQL, TransactionSQL } from "bun";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import { isoTime } from "./keys/day.ts";
import type { EpochMs } from "./keys/key.ts";
import type { Page, PageRequest } from "./pages.ts";
import { visibleText } from "./text/fields.ts";

/** How a change was made. `file` stands for settings that a server read from files, environment variables and flags. */
export const AUDIT_SOURCES = ["api", "console", "cli", "mcp", "file"] as const;
type AuditSource = (typeof AUDIT_SOURCES)[number];

/** Who makes a change, and how. */
export interface Author {
  readonly author: string;
  /** Undefined in entries from versions that did not record the source. */
  readonly source: AuditSource | undefined;
}

/** One change. */
export interface AuditEntry extends Author {
  /** Increases with each entry. */
  readonly sequence: number;
  readonly at: EpochMs;
  readonly action: AuditAction;
  /** The id of the changed object. */
  readonly subject: string;
  /** The object's state before the change; undefined if it did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

export type NewAuditEntry = Omit<AuditEntry, "sequence" | "at">;

/** Selects entries that match all given fields. */
export interface AuditFilter {
  readonly action?: AuditAction | undefined;
  readonly source?: AuditSource | undefined;
  readonly author?: string | undefined;
  /** Texts, one of which is the id of the changed object, or its value, name or another field as a whole. */
  readonly subjects?: readonly string[] | undefined;
  /** The earliest time to include. */
  readonly since?: EpochMs | undefined;
}

/**
 * Orders the entries of several processes. It locks the row with the overrides' stamp without changing it. Every
 * version of this program locks that row, so two versions can number entries in one database without a conflict.
 */
export async function lockAudit(tx: TransactionSQL): Promise<void> {
  await tx`UPDATE inkling_override_stamp SET stamp = stamp`;
}

/** Adds entries. It takes the lock of {@link lockAudit}, unless the transaction holds it already. */
export async function insertAudit(
  tx: TransactionSQL,
  entries: readonly NewAuditEntry[],
  at: number,
): Promise<void> {
  if (entries.length === 0) return;
  await lockAudit(tx);
  const last: { sequence: number | string | null }[] =
    await tx`SELECT MAX(sequence) AS sequence FROM inkling_audit`;
  let sequence = Number(last[0]?.sequence ?? 0);
  const rows = entries.map(({ before, after, author, source, ...entry }) => ({
    sequence: ++sequence,
    at,
    ...entry,
    actor: author,
    way: source ?? null,
    was: before === undefined ? null : JSON.stringify(before),
    became: after === undefined ? null : JSON.stringify(after),
  }));
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await tx`INSERT INTO inkling_audit ${tx(rows.slice(from, from + ROWS_AT_ONCE))}`;
  }
}

interface AuditRow {
  readonly sequence: number | string;
  readonly at: number | string;
  readonly author: string;
  readonly source: AuditSource | null;
  readonly action: AuditAction;
  readonly subject: string;
  readonly was: string | null;
  readonly became: string | null;
}

function auditFromRow({ sequence, at, author, source, action, subject, was, became }: AuditRow): AuditEntry {
  return {
    sequence: Number(sequence),
    at: Number(at),
    author: visibleText(author),
    source: source ?? undefined,
    action,
    subject,
    before: was === null ? undefined : JSON.parse(visibleText(was)),
    after: became === null ? undefined : JSON.parse(visibleText(became)),
  };
}

/** Converts an audit entry to JSON for programs. */
export function auditJson({ sequence, at, author, source, action, subject, before, after }: AuditEntry) {
  return {
    sequence,
    at: isoTime(at),
    author,
    source: source ?? null,
    action,
    subject,
    before: before ?? null,
    after: after ?? null,
  };
}

/** Maximum entries that one query reads to filter them. SQLite needs about 8 ms for this many. */
const SLICE = 500;
/** Maximum milliseconds for one page. A filter may match few of many entries. */
const PAGE_MS = 2_000;

/** Returns the condition that an entry's id, or a field of its object, is one of these texts. */
function isAbout(sql: SQL, subjects: readonly string[]) {
  const conditions = subjects.map((subject) => {
    // Not LIKE, which ignores the case of ASCII letters in SQLite, but not in PostgreSQL.
    const field = `":${JSON.stringify(subject)}`;
    return sql`subject = ${subject} OR REPLACE(was, ${field}, '') <> was OR REPLACE(became, ${field}, '') <> became`;
  });
  return sql`(${conditions.reduce((any, one) => sql`${any} OR ${one}`)})`;
}

/** An entry about something that belongs to a single host. The host's name is added to `after`. */
export type HostEntry = NewAuditEntry & { readonly after: object };

export class AuditStore {
  private readonly database: Database;
  private readonly records: Database;

  /** @param records the same tables, for reads that may take long */
  constructor(database: Database, records: Database) {
    this.database = database;
    this.records = records;
  }

  /**
   * Reads a page of the trail, newest entries first. After {@link PAGE_MS}, the page ends early, even without any entry,
   * and `next` continues the search.
   */
  async list(
    { limit, cursor }: PageRequest,
    { action, source, author, subjects = [], since }: AuditFilter = {},
  ): Promise<Page<AuditEntry>> {
    const { records } = this;
    const end = performance.now() + PAGE_MS;
    const items: AuditRow[] = [];
    const page = (next: number | undefined) => ({
      items: records.unreadable.read("audit", items.slice(0, limit), auditFromRow, ({ sequence }) =>
        String(sequence),
      ),
      next: next === undefined ? undefined : String(next),
    });
    let before = Math.min(Number(cursor ?? Number.MAX_SAFE_INTEGER), await records.run(endOf));
    for (; ; await Bun.sleep(0)) {
      const from = before - Math.max(SLICE, limit + 1);
      const rows: AuditRow[] = await records.run(
        (sql) =>
          sql`SELECT sequence, at, actor AS author, way AS source, action, subject, was, became FROM inkling_audit
          WHERE sequence < ${before} AND sequence >= ${from}
            AND ${action === undefined ? sql`1 = 1` : sql`action = ${action}`}
            AND ${source === undefined ? sql`1 = 1` : sql`way = ${source}`}
            AND ${author === undefined ? sql`1 = 1` : sql`actor = ${author}`}
            AND ${subjects.length === 0 ? sql`1 = 1` : isAbout(sql, subjects)}
            AND ${since === undefined ? sql`1 = 1` : sql`at >= ${since}`}
          ORDER BY sequence DESC LIMIT ${limit + 1 - items.length}`,
      );
      items.push(...rows);
      if (items.length > limit) return page(Number(items[limit - 1]!.sequence));
      if (from <= 1) return page(undefined);
      if (performance.now() >= end) return page(from);
      before = from;
    }
  }

  /**
   * Adds an entry about something outside the store.
   * @param at when the change was made, in epoch ms
   */
  async record(entry: NewAuditEntry, at = this.database.now()): Promise<void> {
    await this.database.write((tx) => insertAudit(tx, [entry], at), true);
  }

  /**
   * Records `entry`, then makes the change that it describes. If the change fails, a second entry records the failure.
   * @throws StoreError if the entry cannot be recorded, in which case nothing changes; also the errors of `change`
   */
  async around<T>({ after, ...entry }: HostEntry, change: () => T | Promise<T>): Promise<T> {
    const host = hostname();
    await this.record({ ...entry, after: { ...after, host } });
    try {
      return await change();
    } catch (error) {
      const failed = { action: entry.action, reason: messageOf(error), host };
      // If the database has become unreachable, the caller still receives the error of the change.
      await this.record({ ...entry, action: "change-failed", after: failed }).catch(() => {});
      throw error;
    }
  }
}

/** The sequence that the next entry will have. */
async function endOf(sql: SQL): Promise<number> {
  const rows: { last: number | string | null }[] = await sql`SELECT MAX(sequence) AS last FROM inkling_audit`;
  return Number(rows[0]?.last ?? 0) + 1;
}

export const isAuditCursor = (text: string) => /^[1-9]\d{0,15}$/.test(text);
