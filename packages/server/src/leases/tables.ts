// tables.ts: reads and writes the rows of a group in the store's tables.
//
// err  StoreError: nothing was written, or the outcome is unknown
// cost one statement to read and one to write. Each is its own transaction, so no lock is held across round trips
//
// Hosts cannot deadlock. A write locks this host's own row first, and then keys in order. Only one host joins at a
// time; it locks no keys, and skips locked host rows.

import { GONE_MS } from "@inkling/release-store";
import type { SQL } from "bun";
import { type KeyId, SCOPES } from "../keys/key.ts";
import type { Tables } from "../store/tables.ts";
import { exchangeLeases, type GroupRows, type KeyWrite, type LeaseRows } from "./exchange.ts";
import type { GroupHost, HostId, KeyState } from "./group.ts";
import type { LeaseAnswer, LeaseRequest } from "./lease-state.ts";

/** Id of the advisory lock that a joining host takes. The number is arbitrary. */
const MEMBERS_LOCK = 0x696e6b6d;
/** SQL that limits the wait for rows that other hosts have locked to one second. */
const PATIENCE = "set_config('lock_timeout', '1000', true)";
/**
 * After a host ran short of lookups for a key, the other hosts return their unused lookups for this many milliseconds.
 */
const SHORT_MS = 3_000;
export const CLOCK = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

type HostRow = readonly [id: HostId, confirmedAt: number, hosts: number, aloneMs: number];
type KeyRow = readonly [id: KeyId, version: number, state: KeyState];

const hostOf = ([id, confirmedAt, hosts, aloneMs]: HostRow): GroupHost => ({
  id,
  confirmedAt,
  hosts,
  aloneMs,
});

export class LeaseTables {
  private readonly tables: Tables;
  private readonly host: HostId;

  constructor(tables: Tables, host: HostId) {
    this.tables = tables;
    this.host = host;
  }

  /** @param report this host's report, for the other hosts to read */
  exchange(request: LeaseRequest, report?: string): Promise<LeaseAnswer> {
    return exchangeLeases(this.rows(report), this.host, request);
  }

  /** Returns all leases to the group, and then leaves the group. */
  async leave(request: LeaseRequest): Promise<void> {
    await this.exchange(request);
    await this.tables.writeOnce((sql) => sql`DELETE FROM inkling_hosts WHERE id = ${this.host}`);
  }

  private rows(report: string | undefined): LeaseRows {
    const { tables } = this;
    return {
      read: (keyIds) => tables.read((sql) => readRows(sql, keyIds)),
      join: (join) =>
        tables.write(async (tx) => {
          await tx.unsafe(`SELECT ${PATIENCE}, pg_advisory_xact_lock(${MEMBERS_LOCK})`);
          // read after the lock is taken, so that hosts that joined before are included
          const { hosts, now } = await readRows(tx, []);
          const { id, confirmedAt, hosts: count, aloneMs } = join(hosts, now);
          await tx`DELETE FROM inkling_hosts WHERE id IN (SELECT id FROM inkling_hosts
            WHERE id <> ${id} AND confirmed_at < ${now - GONE_MS} FOR UPDATE SKIP LOCKED)`;
          await tx`INSERT INTO inkling_hosts (id, confirmed_at, hosts, alone_ms, report)
            VALUES (${id}, ${confirmedAt}, ${count}, ${aloneMs}, ${report ?? null})
            ON CONFLICT (id) DO UPDATE SET confirmed_at = excluded.confirmed_at, hosts = excluded.hosts,
              alone_ms = excluded.alone_ms`;
        }, false),
      readUsed: (keyIds, day) => tables.read((sql) => readUsed(sql, keyIds, day)),
      write: (before, host, keys) => tables.writeOnce((sql) => writeRows(sql, before, host, keys, report)),
    };
  }
}

/** Reads everything as JSON in a single row, because a statement's cost depends on its rows and columns. */
async function readRows(sql: SQL, keyIds: readonly KeyId[]): Promise<GroupRows> {
  type Read = { now: string; hosts: HostRow[] | null; keys: KeyRow[] | null; short: KeyId[] | null };
  const clock = sql.unsafe(CLOCK);
  const [row]: Read[] = await sql`SELECT ${clock} AS now,
    (SELECT json_agg(json_build_array(id, confirmed_at, hosts, alone_ms)) FROM inkling_hosts) AS hosts,
    (SELECT json_agg(json_build_array(key_id, version, CAST(state AS JSON))) FROM inkling_leases
      WHERE key_id = ANY(ARRAY(SELECT json_array_elements_text(${json(sql, keyIds)})))) AS keys,
    (SELECT json_agg(key_id) FROM inkling_leases WHERE short_at > ${clock} - ${SHORT_MS}) AS short`;
  const { now, hosts, keys, short } = row!; // the query has no condition, so there is always a row
  return {
    now: Number(now),
    hosts: hosts?.map(hostOf) ?? [],
    keys: new Map(keys?.map(([id, version, state]) => [id, { version, state }])),
    short: short ?? [],
  };
}

async function writeRows(
  sql: SQL,
  before: GroupHost,
  { id, confirmedAt, hosts, aloneMs }: GroupHost,
  keys: readonly KeyWrite[],
  report: string | undefined,
): Promise<ReadonlySet<KeyId>> {
  const rows = keys.map(({ keyId, version, state, shortAt }) => ({
    key_id: keyId,
    version,
    state,
    short_at: shortAt,
  }));
  const written: { key_id: KeyId }[] = await sql`WITH host AS (
      UPDATE inkling_hosts AS h SET confirmed_at = ${confirmedAt}, hosts = ${hosts}, alone_ms = ${aloneMs},
        report = COALESCE(${report ?? null}, h.report)
      FROM (SELECT ${sql.unsafe(PATIENCE)}) AS patience
      WHERE id = ${id} AND confirmed_at = ${before.confirmedAt} AND hosts = ${before.hosts} RETURNING id)
    INSERT INTO inkling_leases AS l (key_id, version, state, short_at)
    SELECT key_id, version, state, short_at FROM host, json_to_recordset(${json(sql, rows)})
      AS k (key_id TEXT, version BIGINT, state TEXT, short_at BIGINT) ORDER BY key_id
    ON CONFLICT (key_id) DO UPDATE SET version = excluded.version, state = excluded.state,
      short_at = GREATEST(l.short_at, excluded.short_at)
    WHERE l.version = excluded.version - 1 RETURNING key_id`;
  return new Set(written.map(({ key_id }) => key_id));
}

/** Reads the lookups that each key has used on a day, according to the store. */
async function readUsed(sql: SQL, keyIds: readonly KeyId[], day: string): Promise<Map<KeyId, number>> {
  const rows: { key_id: KeyId; total: string }[] =
    await sql`SELECT key_id, SUM(count) AS total FROM inkling_usage
    WHERE day = ${day} AND lookup IN ${sql([...SCOPES])} AND key_id IN ${sql([...keyIds])} GROUP BY key_id`;
  return new Map(rows.map(({ key_id, total }) => [key_id, Number(total)]));
}

const json = (sql: SQL, value: unknown) => sql`CAST(CAST(${JSON.stringify(value)} AS TEXT) AS JSON)`;
