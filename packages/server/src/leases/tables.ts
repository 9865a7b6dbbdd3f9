// tables.ts: a host's exchange with its group, in the tables of the store.
//
// in   what the host's keys want
// out  what they get; the state of each key is changed under the lock of its row, so that hosts take turns
// err  StoreError: nothing was given, or it is unknown: the host then acts as if nothing was
// cost one transaction of 7 statements for 500 keys; 3 ms on the same machine

import type { TransactionSQL } from "bun";
import { dayOf } from "../keys/day.ts";
import { type KeyId, SCOPES } from "../keys/key.ts";
import { ROWS_AT_ONCE, type Tables } from "../store/tables.ts";
import type { LeaseAnswer, LeaseRequest } from "./book.ts";
import {
  confirmHost,
  exchangeKey,
  GONE_MS,
  type Group,
  type GroupHost,
  type HostId,
  type KeyState,
  type LeaseGrant,
  type LeaseWish,
  shareAmong,
} from "./group.ts";

/** Any number: what hosts lock that join or leave. */
const MEMBERS_LOCK = 0x696e6b6d;
/** A host that is stopped in the middle must not keep the others waiting. */
const PATIENCE = "SET LOCAL lock_timeout = 1000; SET LOCAL idle_in_transaction_session_timeout = 1000";
/** Other hosts give back what they do not use of a key for so long after one lacked it. */
const SHORT_MS = 3_000;
export const CLOCK = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

interface Step {
  readonly group: Group;
  readonly among: number;
  readonly short: readonly KeyId[];
}

export class LeaseTables {
  private readonly tables: Tables;
  private readonly host: HostId;

  constructor(tables: Tables, host: HostId) {
    this.tables = tables;
    this.host = host;
  }

  /** @param report of this host, for the others to see */
  async exchange({ confirmed, wishes }: LeaseRequest, report?: string): Promise<LeaseAnswer> {
    const grants: LeaseGrant[] = [];
    let last: Step | undefined;
    for (let at = 0; at === 0 || at < wishes.length; at += ROWS_AT_ONCE) {
      const some = wishes.slice(at, at + ROWS_AT_ONCE);
      last = await this.tables.write(async (tx) => {
        await tx.unsafe(PATIENCE);
        await this.confirm(tx, confirmed, report ?? null);
        return this.give(tx, some, grants);
      }, false);
    }
    const { among, group, short } = last!; // there was one step at least
    const { now, members } = group;
    return { now, day: dayOf(now), hosts: members.length, among, grants, short: new Set(short) };
  }

  /** Gives everything back, and leaves the group. */
  async leave({ confirmed, wishes }: LeaseRequest): Promise<void> {
    await this.exchange({ confirmed, wishes });
    await this.tables.write(async (tx) => {
      await tx`DELETE FROM inkling_hosts WHERE id = ${this.host}`;
    }, false);
  }

  private async confirm(
    tx: TransactionSQL,
    confirmed: LeaseRequest["confirmed"],
    report: string | null,
  ): Promise<void> {
    if (confirmed !== undefined) {
      const { at, among } = confirmed;
      const [row] = await readHosts(tx, this.host);
      if (row !== undefined) {
        const { confirmedAt, hosts: count, aloneMs } = confirmHost(row, at, among, row.now);
        await tx`UPDATE inkling_hosts SET confirmed_at = ${confirmedAt}, hosts = ${count}, alone_ms = ${aloneMs},
          report = ${report} WHERE id = ${this.host}`;
        return;
      }
      // It was held to be gone: it joins again.
    }
    // One after another: two that join at once must see each other.
    await tx`SELECT pg_advisory_xact_lock(${MEMBERS_LOCK})`;
    const clock = tx.unsafe(CLOCK);
    await tx`DELETE FROM inkling_hosts WHERE id <> ${this.host} AND confirmed_at < ${clock} - ${GONE_MS}`;
    // One that was there before may still be alone, as far as the others know.
    await tx`INSERT INTO inkling_hosts (id, confirmed_at, hosts, alone_ms, report)
      SELECT ${this.host}, ${clock}, COUNT(*) + 1, 0, CAST(${report} AS TEXT) FROM inkling_hosts
      WHERE id <> ${this.host} ON CONFLICT (id) DO NOTHING`;
  }

  private async give(tx: TransactionSQL, wishes: readonly LeaseWish[], grants: LeaseGrant[]): Promise<Step> {
    const states = await this.lock(tx, wishes);
    // Only now: who waited for a lock must see what the others did meanwhile, and a later clock.
    const rows = await readHosts(tx);
    const now = rows[0]?.now ?? Number.NaN; // this host is among them
    const members = rows.filter(({ id, confirmedAt }) => id === this.host || confirmedAt > now - GONE_MS);
    const group = { now, members };
    const among = shareAmong(this.host, members);
    // A larger share is known before it leaves: its receipt may never be.
    if (among < (members.find(({ id }) => id === this.host)?.hosts ?? 0))
      await tx`UPDATE inkling_hosts SET hosts = ${among} WHERE id = ${this.host}`;
    const bases = await readBases(tx, wishes, states, dayOf(now));
    const written = wishes.map((wish) => {
      const { keyId } = wish;
      const { state, grant, isShort } = exchangeKey(
        states.get(keyId),
        wish,
        this.host,
        group,
        bases.get(keyId) ?? 0,
      );
      grants.push(grant);
      return { key_id: keyId, state: JSON.stringify(state), short_at: isShort ? now : 0 };
    });
    if (written.length > 0) {
      await tx`INSERT INTO inkling_leases AS l ${tx(written)} ON CONFLICT (key_id) DO UPDATE
        SET state = excluded.state, short_at = GREATEST(l.short_at, excluded.short_at)`;
    }
    const short: { key_id: string }[] =
      await tx`SELECT key_id FROM inkling_leases WHERE short_at > ${now - SHORT_MS}`;
    return { group, among, short: short.map(({ key_id }) => key_id) };
  }

  /** The states of keys, locked in the same order by every host. */
  private async lock(tx: TransactionSQL, wishes: readonly LeaseWish[]): Promise<Map<KeyId, KeyState>> {
    const ids = wishes.map(({ keyId }) => keyId).sort();
    if (ids.length === 0) return new Map();
    const read = async () => {
      const rows: { key_id: string; state: string }[] =
        await tx`SELECT key_id, state FROM inkling_leases WHERE key_id IN ${tx(ids)} ORDER BY key_id FOR UPDATE`;
      return new Map(rows.map(({ key_id, state }) => [key_id, JSON.parse(state) as KeyState]));
    };
    const found = await read();
    if (found.size === ids.length) return found;
    const missing = ids.filter((id) => !found.has(id));
    const blank = missing.map((key_id) => ({ key_id, state: "{}", short_at: 0 }));
    await tx`INSERT INTO inkling_leases ${tx(blank)} ON CONFLICT (key_id) DO NOTHING`;
    return read();
  }
}

async function readHosts(tx: TransactionSQL, id?: HostId): Promise<(GroupHost & { readonly now: number })[]> {
  const rows: { id: string; confirmed_at: string; hosts: number; alone_ms: number; now: string }[] =
    await tx`SELECT id, confirmed_at, hosts, alone_ms, ${tx.unsafe(CLOCK)} AS now FROM inkling_hosts
      WHERE ${id === undefined ? tx`1 = 1` : tx`id = ${id}`}`;
  return rows.map(({ id, confirmed_at, hosts, alone_ms, now }) => ({
    id,
    confirmedAt: Number(confirmed_at),
    hosts,
    aloneMs: alone_ms,
    now: Number(now),
  }));
}

/** What keys used today by the store's count, where their state has another day. */
async function readBases(
  tx: TransactionSQL,
  wishes: readonly LeaseWish[],
  states: ReadonlyMap<KeyId, KeyState>,
  day: string,
): Promise<Map<KeyId, number>> {
  const ids = wishes
    .filter(({ keyId, quota }) => quota !== undefined && states.get(keyId)?.quota?.day !== day)
    .map(({ keyId }) => keyId);
  if (ids.length === 0) return new Map();
  const rows: { key_id: string; total: string }[] =
    await tx`SELECT key_id, SUM(count) AS total FROM inkling_usage
    WHERE day = ${day} AND lookup IN ${tx([...SCOPES])} AND key_id IN ${tx(ids)} GROUP BY key_id`;
  return new Map(rows.map(({ key_id, total }) => [key_id, Number(total)]));
}
