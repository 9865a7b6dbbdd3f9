// usage.ts: stores the usage of each key by day, and the traffic of each host by hour.

import type { TransactionSQL } from "bun";
import { type Database, ROWS_AT_ONCE } from "./database.ts";
import { hourOf } from "./keys/day.ts";
import { type Counted, type KeyId, SCOPES } from "./keys/key.ts";
import { sumTraffic, type TrafficCounts } from "./traffic-counts.ts";

/** From this share of a quota on, every host of a group follows the key's usage, even a host that never saw the key. */
const LOW_QUOTA = 0.8;

/** One count for one key on one day: lookups of one kind, refusals for one reason, or answers with one flag. */
export interface UsageEntry {
  readonly keyId: KeyId;
  /** UTC, such as "2026-06-01". */
  readonly day: string;
  readonly lookup: Counted;
  readonly count: number;
}

/** What one host counted in one hour, or in part of it. */
interface TrafficEntry {
  readonly host: string;
  /** The hour in UTC, such as "2026-06-01T13". */
  readonly hour: string;
  readonly counts: TrafficCounts;
}

/** A host's traffic in one hour, as stored. */
interface StoredTraffic {
  readonly host: string;
  /** The start of the hour, in epoch ms. */
  readonly at: number;
  readonly counts: TrafficCounts;
}

/** Usage recorded since the recorder's last batch. */
export interface UsageBatch {
  /** Identifies the recorder. Each start of a process uses a new id. */
  readonly recorder: string;
  /** Increases with each batch. A repeated batch has the same sequence number and the same entries. */
  readonly sequence: number;
  readonly entries: readonly UsageEntry[];
  readonly traffic?: readonly TrafficEntry[];
}

type DayUsage = Partial<Record<Counted, number>>;

export class UsageTables {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Counts usage. A batch counts exactly once, however often it is sent. The same transaction stores the batch's
   * sequence number and its counts. A batch that timed out after its commit is therefore recognized when it is sent
   * again.
   * @returns false if the batch was counted before
   */
  async add({ recorder, sequence, entries, traffic = [] }: UsageBatch): Promise<boolean> {
    // A fixed order, because two processes that lock rows in different orders would wait for each other.
    const rows = entries
      .map(({ keyId, day, lookup, count }) => ({ day, key_id: keyId, lookup, count }))
      .sort((a, b) => (rowKey(a) < rowKey(b) ? -1 : 1));
    return this.database.write(async (tx) => {
      const isNew = await tx`INSERT INTO inkling_recorders AS r (id, sequence, flushed_at)
        VALUES (${recorder}, ${sequence}, ${this.database.now()})
        ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, flushed_at = excluded.flushed_at
        WHERE r.sequence < excluded.sequence
        RETURNING id`;
      if (isNew.length === 0) return false;
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        if (at > 0) await Bun.sleep(0);
        await tx`INSERT INTO inkling_usage AS u ${tx(rows.slice(at, at + ROWS_AT_ONCE))}
          ON CONFLICT (day, key_id, lookup) DO UPDATE SET count = u.count + excluded.count`;
        if (this.database.isShared) await noteLowQuotas(tx, rows.slice(at, at + ROWS_AT_ONCE));
      }
      for (const entry of traffic) await addTraffic(tx, entry);
      return true;
    }, false);
  }

  /** Reads the usage of each key on one UTC day. */
  async readDay(day: string): Promise<Map<KeyId, DayUsage>> {
    const rows: { key_id: string; lookup: Counted; count: number | string }[] = await this.database.run(
      (sql) => sql`SELECT key_id, lookup, count FROM inkling_usage WHERE day = ${day}`,
    );
    const byKey = new Map<KeyId, DayUsage>();
    for (const { key_id, lookup, count } of rows) {
      byKey.set(key_id, { ...byKey.get(key_id), [lookup]: Number(count) });
    }
    return byKey;
  }

  /**
   * Reads the last UTC day with a lookup or a refusal, for each of these keys that has one. Each key takes one step in
   * an index. For a year of usage by 1,000 keys, SQLite takes 20 ms this way, and 0.8 s to read all days.
   */
  async readLastDays(keyIds: readonly KeyId[]): Promise<Map<KeyId, string>> {
    const found = new Map<KeyId, string>();
    for (let at = 0; at < keyIds.length; at += ROWS_AT_ONCE) {
      const some = keyIds.slice(at, at + ROWS_AT_ONCE);
      const rows: { id: string; day: string | null }[] = await this.database.run(
        (sql) => sql`SELECT k.id, (SELECT MAX(day) FROM inkling_usage WHERE key_id = k.id) AS day
          FROM inkling_keys k WHERE k.id IN ${sql(some)}`,
      );
      for (const { id, day } of rows) if (day !== null) found.set(id, day);
    }
    return found;
  }

  /** Reads the traffic of all hosts, oldest first, starting with the hour that contains `from`. */
  async readTraffic(from: number): Promise<StoredTraffic[]> {
    const rows: TrafficRow[] = await this.database.run(
      (sql) =>
        sql`SELECT hour, host, counts FROM inkling_traffic_hours WHERE hour >= ${hourOf(from)} ORDER BY hour, host`,
    );
    return this.database.unreadable.read("traffic_hours", rows, trafficFromRow, rowId);
  }

  /** Reads the usage of one key, from `fromDay` through `toDay` in UTC, such as "2026-06-01". */
  async readByDay(keyId: KeyId, fromDay: string, toDay: string): Promise<UsageEntry[]> {
    const rows: { day: string; lookup: Counted; count: number | string }[] = await this.database.run(
      (sql) => sql`SELECT day, lookup, count FROM inkling_usage
        WHERE key_id = ${keyId} AND day >= ${fromDay} AND day <= ${toDay} ORDER BY day, lookup`,
    );
    return rows.map(({ day, lookup, count }) => ({ keyId, day, lookup, count: Number(count) }));
  }

  /**
   * Counts the lookups by all processes on one UTC day, for each key that has a quota and was used that day.
   * @param keyIds limits the result to these keys
   */
  async readQuotas(day: string, keyIds?: readonly KeyId[]): Promise<Map<KeyId, number>> {
    const found = new Map<KeyId, number>();
    for (let at = 0; at < (keyIds?.length ?? 1); at += ROWS_AT_ONCE) {
      const some = keyIds?.slice(at, at + ROWS_AT_ONCE);
      const rows: { key_id: string; total: number | string }[] = await this.database.run(
        (sql) => sql`SELECT u.key_id, SUM(u.count) AS total
          FROM inkling_usage u JOIN inkling_keys k ON k.id = u.key_id
          WHERE u.day = ${day} AND u.lookup IN ${sql([...SCOPES])} AND k.quota IS NOT NULL
            AND ${some === undefined ? sql`1 = 1` : sql`u.key_id IN ${sql(some)}`} GROUP BY u.key_id`,
      );
      for (const { key_id, total } of rows) found.set(key_id, Number(total));
    }
    return found;
  }

  /**
   * Finds the keys that have used up their quota for a UTC day, or had requests refused because of it.
   */
  async readExhausted(day: string): Promise<{ id: KeyId; name: string; quota: number }[]> {
    const refused: Counted = "quota_exceeded";
    const rows: { id: string; name: string; quota: number | string }[] = await this.database.run(
      (sql) => sql`SELECT k.id, k.name, k.quota FROM inkling_usage u JOIN inkling_keys k ON k.id = u.key_id
        WHERE u.day = ${day} AND k.quota IS NOT NULL AND k.revoked_at IS NULL GROUP BY k.id, k.name, k.quota
        HAVING SUM(CASE WHEN u.lookup IN ${sql([...SCOPES])} THEN u.count ELSE 0 END) >= k.quota
          OR SUM(CASE WHEN u.lookup = ${refused} THEN u.count ELSE 0 END) > 0`,
    );
    return rows.map((row) => ({ ...row, quota: Number(row.quota) }));
  }
}

const rowId = ({ hour, host }: TrafficRow) => `${hour} ${host}`;

function trafficFromRow({ hour, host, counts }: TrafficRow): StoredTraffic {
  const read: TrafficCounts = JSON.parse(counts);
  sumTraffic([read]); // throws if the counts have another form
  return { host, at: Date.parse(`${hour}:00:00Z`), counts: read };
}

/** Notes which of these keys have used most of their quota, for the other hosts (limits/group-tables.ts). */
async function noteLowQuotas(
  tx: TransactionSQL,
  rows: readonly { readonly day: string; readonly key_id: KeyId }[],
): Promise<void> {
  const keyIds = [...new Set(rows.map(({ key_id }) => key_id))];
  const days = [...new Set(rows.map((row) => row.day))];
  await tx`INSERT INTO inkling_low_quotas AS low (day, key_id, used, changed_at)
    SELECT u.day, u.key_id, SUM(u.count), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)
    FROM inkling_usage u JOIN inkling_keys k ON k.id = u.key_id
    WHERE u.day IN ${tx(days)} AND u.key_id IN ${tx(keyIds)} AND u.lookup IN ${tx([...SCOPES])}
    GROUP BY u.day, u.key_id, k.quota HAVING SUM(u.count) >= ${LOW_QUOTA} * k.quota ORDER BY u.day, u.key_id
    ON CONFLICT (day, key_id) DO UPDATE SET used = excluded.used, changed_at = excluded.changed_at
    WHERE low.used <> excluded.used`;
}

interface TrafficRow {
  readonly hour: string;
  readonly host: string;
  readonly counts: string;
}

/**
 * Adds counts to the row for this host and hour. Only the host itself writes its rows, so reading before writing loses
 * nothing.
 */
async function addTraffic(tx: TransactionSQL, { host, hour, counts }: TrafficEntry): Promise<void> {
  const rows: Pick<TrafficRow, "counts">[] =
    await tx`SELECT counts FROM inkling_traffic_hours WHERE hour = ${hour} AND host = ${host}`;
  const before = rows.map((row): TrafficCounts => JSON.parse(row.counts));
  const text = JSON.stringify(sumTraffic([...before, counts]));
  await tx`INSERT INTO inkling_traffic_hours (hour, host, counts) VALUES (${hour}, ${host}, ${text})
    ON CONFLICT (hour, host) DO UPDATE SET counts = excluded.counts`;
}

const rowKey = (row: { readonly day: string; readonly key_id: KeyId; readonly lookup: Counted }) =>
  `${row.day} ${row.key_id} ${row.lookup}`;
