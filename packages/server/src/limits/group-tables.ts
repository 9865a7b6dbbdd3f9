// group-tables.ts: exchanges a host's counts with its group in one statement (group-counts.ts).
//
// The same request may be sent again: the statement also stores the request's number, so it counts each request once.
// Cost: one statement, and one when a host leaves. It does not wait for the disk, so a crash of the database may lose
// the counts of the last second.
//
// Hosts cannot deadlock, because a statement locks its own host's row first, and then keys in order.

import type { Database } from "@inkling/store/database";
import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import type { SQL } from "bun";
import { type GroupRequest, type GroupTotals, LATE_MS } from "./group-counts.ts";

/** The database's clock in epoch ms, in SQL. */
export const CLOCK = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
/** A statement waits at most this many milliseconds for rows that other hosts have locked. */
const LOCK_MS = 1_000;
/** A host that was silent for this many milliseconds does not count as one of the group. */
const SILENT_MS = 30_000;
/**
 * Maximum milliseconds from the time when another host reads the clock to its commit, of an exchange and of usage. Each
 * exchange therefore reads rows from this long before the previous answer again: they may have been committed after it.
 */
const COMMIT_MS = 2_000;
const USAGE_COMMIT_MS = 10_000;

type HostId = string;

export interface GroupAnswer extends GroupTotals {
  /** Number of hosts in the group, including this one. */
  readonly hosts: number;
  /** Today's lookups of keys that have used most of their quota, if they changed since the last answer. */
  readonly lowQuotas: ReadonlyMap<KeyId, number>;
}

export class GroupTables {
  private readonly database: Database;
  private readonly host: HostId;
  /** Distinguishes this process from earlier ones of the same host. */
  private readonly run = crypto.randomUUID();
  /** The database's time of the last answer. */
  private readAt: EpochMs = 0;

  constructor(database: Database, host: HostId) {
    this.database = database;
    this.host = host;
  }

  /** @param report this host's report, for the other hosts to read */
  async exchange(request: GroupRequest, report?: string): Promise<GroupAnswer> {
    const row = await this.database.run((sql) => this.send(sql, request, report ?? null));
    const now = Number(row.now);
    this.readAt = now;
    return {
      now,
      totals: new Map(row.totals ?? []),
      lateMs: Math.max(0, now - Number(row.late_since ?? now)),
      hosts: Number(row.hosts),
      lowQuotas: new Map(row.low ?? []),
    };
  }

  /** Counts the last request, and leaves the group. */
  async leave(request: GroupRequest): Promise<void> {
    await this.exchange(request);
    await this.database.run((sql) => sql`DELETE FROM inkling_hosts WHERE id = ${this.host}`);
  }

  /** Sends and reads everything as JSON in a single row, because a statement's cost depends on its rows and columns. */
  private async send(
    sql: SQL,
    { sequence, since, taken }: GroupRequest,
    report: string | null,
  ): Promise<Row> {
    const { host, run, readAt } = this;
    const now = sql.unsafe(CLOCK);
    // without counts, nothing is late
    const lateFrom = taken.length > 0 ? Math.floor(since) + LATE_MS : Number.MAX_SAFE_INTEGER;
    const [row]: Row[] = await sql`WITH
      options AS (SELECT set_config('lock_timeout', ${String(LOCK_MS)}, true),
        set_config('synchronous_commit', 'off', true), ${now} AS now),
      late AS (SELECT now, CASE WHEN now > CAST(${lateFrom} AS BIGINT) THEN now ELSE 0 END AS late_at FROM options),
      host AS (INSERT INTO inkling_hosts AS h (id, run, sequence, contact_at, late_at, late_since, report)
        SELECT ${host}, ${run}, CAST(${sequence} AS BIGINT), now, late_at, CAST(${Math.floor(since)} AS BIGINT), ${report} FROM late
        ON CONFLICT (id) DO UPDATE SET run = excluded.run, sequence = excluded.sequence,
          contact_at = excluded.contact_at, report = COALESCE(excluded.report, h.report),
          late_at = GREATEST(h.late_at, excluded.late_at),
          late_since = CASE WHEN excluded.late_at = 0 THEN h.late_since
            WHEN h.late_at > excluded.late_at - CAST(${COMMIT_MS} AS BIGINT) THEN LEAST(h.late_since, excluded.late_since)
            ELSE excluded.late_since END
        WHERE h.run <> excluded.run OR h.sequence < excluded.sequence RETURNING id),
      keys AS (SELECT k.value ->> 0 AS key_id, CAST(k.value ->> 1 AS BIGINT) AS taken
        FROM json_array_elements(${json(sql, taken)}) AS k),
      added AS (INSERT INTO inkling_group_counts AS c (key_id, total)
        SELECT key_id, taken FROM host, keys WHERE taken > 0 ORDER BY key_id
        ON CONFLICT (key_id) DO UPDATE SET total = c.total + excluded.total RETURNING key_id, total)
      SELECT options.now,
        (SELECT json_agg(json_build_array(key_id, total)) FROM (
          SELECT key_id, total FROM added
          UNION ALL SELECT c.key_id, c.total FROM keys JOIN inkling_group_counts AS c USING (key_id)
            WHERE NOT EXISTS (SELECT FROM added WHERE added.key_id = c.key_id)) AS t) AS totals,
        (SELECT MIN(late_since) FROM inkling_hosts WHERE id <> ${host} AND late_at > CAST(${readAt - COMMIT_MS} AS BIGINT)) AS late_since,
        (SELECT COUNT(*) FROM inkling_hosts WHERE id <> ${host} AND contact_at > options.now - CAST(${SILENT_MS} AS BIGINT)) + 1 AS hosts,
        (SELECT json_agg(json_build_array(key_id, used)) FROM inkling_low_quotas
          WHERE day = to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')
            AND changed_at > CAST(${readAt - USAGE_COMMIT_MS} AS BIGINT)) AS low
      FROM options`;
    return row!; // the query has no condition, so there is always a row
  }
}

interface Row {
  readonly now: string;
  readonly totals: [KeyId, number][] | null;
  readonly late_since: string | null;
  readonly hosts: string;
  readonly low: [KeyId, number][] | null;
}

const json = (sql: SQL, value: unknown) => sql`CAST(CAST(${JSON.stringify(value)} AS TEXT) AS JSON)`;
