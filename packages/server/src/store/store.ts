// store.ts: keys and usage, overrides and the admin token, kept in an SQLite file or a PostgreSQL database.
//
// in   the database's address
// out  Store: keys in and out, usage in and out; overrides in store-overrides.ts, the admin token in admin-token.ts
// err  StoreError with a hint; its text never has the password or a token
// cost see docs on each method; nothing here is on the way of a look-up

import type { SQL, TransactionSQL } from "bun";
import {
  type Counted,
  type Key,
  type KeyChange,
  type KeyRow,
  keyFromRow,
  keyJson,
  type NewKey,
  rowFromKey,
  SCOPES,
} from "../keys/key.ts";
import type { KeySource } from "../keys/key-loader.ts";
import type { KeySnapshot } from "../keys/keyring.ts";
import { hashToken, type KeyMode, newKeyToken, randomBase62, tokenHint } from "../keys/token.ts";
import { AdminTokenStore } from "./admin-token.ts";
import { Database, type Dialect } from "./database.ts";
import { StoreError } from "./error.ts";
import { migrate } from "./migrations.ts";
import {
  type AuditAction,
  insertAudit,
  lockOverrides,
  OverrideStore,
  type OverrideTables,
  type Page,
  type PageRequest,
} from "./overrides.ts";

const DAY_MS = 86_400_000;
/** A replaced token is kept this long after its end, so that its users read KEY_EXPIRED, not KEY_INVALID. */
const KEEP_TOKENS_MS = 30 * DAY_MS;
/** A recorder that flushed nothing for this long is gone. */
const KEEP_RECORDERS_MS = 30 * DAY_MS;
/** Hours of usage are kept this long; days for good. */
const KEEP_HOURS_MS = 31 * DAY_MS;
/** With the first batch of a recorder, and about once an hour after that. */
const FORGET_EVERY = 4_000;
/** Who changes keys, where nobody says so. */
const SOMEBODY = "inkling";
/** Rows in one INSERT. SQLite runs inside this process: 15,000 rows at once would keep requests waiting 34 ms. */
const USAGE_ROWS = 500;

export interface StoreOptions {
  /** Epoch ms. */
  readonly now?: () => number;
  readonly randomBytes?: (n: number) => Uint8Array;
  /** Longest that one call may take. */
  readonly timeoutMs?: number;
  /** Return a store also when the database cannot be reached now; its calls fail with AWAY until it can. */
  readonly mayBeAway?: boolean;
}

/** A key, and the token that is shown this once. */
export interface IssuedKey {
  readonly key: Key;
  readonly token: string;
}

/** Look-ups of one kind, or what was refused for one reason, of one key on one day. */
export interface UsageEntry {
  readonly keyId: string;
  /** UTC, as "2026-06-01". */
  readonly day: string;
  readonly lookup: Counted;
  readonly count: number;
}

/** The same in one hour. */
export interface HourlyUsage {
  /** UTC, as "2026-06-01T13". */
  readonly hour: string;
  readonly lookup: Counted;
  readonly count: number;
}

/** Usage since the recorder's last batch. */
export interface UsageBatch {
  /** Names the recorder: new for each process start. */
  readonly recorder: string;
  /** Grows with each batch. A batch that is sent again has the same number and the same entries. */
  readonly sequence: number;
  readonly entries: readonly UsageEntry[];
}

/**
 * Opens the store and brings its tables up to date.
 * @param address `postgres://…`, `sqlite://PATH`, or a path; the file is made when it is not there, for this user only
 * @throws StoreError
 */
export async function openStore(address: string, options: StoreOptions = {}): Promise<Store> {
  const store = new Store(address, options);
  try {
    await store.ping();
  } catch (error) {
    if (options.mayBeAway && error instanceof StoreError && error.code === "AWAY") return store;
    await store.close();
    throw error;
  }
  return store;
}

export class Store implements KeySource {
  readonly overrides: OverrideStore;
  readonly adminToken: AdminTokenStore;
  private readonly database: Database;
  private readonly now: () => number;
  private readonly randomBytes: (n: number) => Uint8Array;
  private migrated: Promise<void> | undefined;

  /** Use {@link openStore}. */
  constructor(address: string, options: StoreOptions) {
    this.database = new Database(address, options.timeoutMs);
    this.now = options.now ?? Date.now;
    this.randomBytes = options.randomBytes ?? ((n) => crypto.getRandomValues(new Uint8Array(n)));
    const tables: OverrideTables = {
      read: (work) => this.read(work),
      write: (work, durable) => this.write(work, durable),
      now: this.now,
      randomBytes: this.randomBytes,
    };
    this.overrides = new OverrideStore(tables);
    this.adminToken = new AdminTokenStore(tables);
  }

  get dialect(): Dialect {
    return this.database.dialect;
  }

  /** The database's address, without its password. */
  get label(): string {
    return this.database.label;
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.read((sql) => sql`SELECT 1`);
  }

  async close(): Promise<void> {
    await this.database.close();
  }

  /**
   * Makes a key.
   * @param token the key's text when it is not a new one, well formed
   * @throws StoreError CONFLICT when a key with this token exists
   */
  async createKey(wanted: NewKey, token = this.newToken(wanted.mode), actor = SOMEBODY): Promise<IssuedKey> {
    const key: Key = Object.freeze({
      ...wanted,
      id: `key_${randomBase62(16, this.randomBytes)}`,
      hint: tokenHint(token),
      createdAt: this.now(),
      revokedAt: undefined,
    });
    await this.change(async (tx) => {
      await tx`INSERT INTO inkling_keys ${tx(rowFromKey(key))}`;
      await this.insertToken(tx, token, key.id);
      await this.audit(tx, actor, "key-made", undefined, key);
    });
    return { key, token };
  }

  /** The key with a token of this hash, revoked or not. */
  async keyByHash(hash: string): Promise<Key | undefined> {
    const rows: KeyRow[] = await this.read(
      (sql) =>
        sql`SELECT ${keyColumns(sql)} FROM inkling_keys k JOIN inkling_tokens t ON t.key_id = k.id WHERE t.hash = ${hash}`,
    );
    return rows[0] && keyFromRow(rows[0]);
  }

  /** All keys, revoked ones too, oldest first. */
  async listKeys(): Promise<Key[]> {
    const rows: KeyRow[] = await this.read(
      (sql) => sql`SELECT ${keyColumns(sql)} FROM inkling_keys k ORDER BY created_at, id`,
    );
    return rows.map(keyFromRow);
  }

  /** Newest first. */
  async keyPage({ limit, cursor }: PageRequest): Promise<Page<Key>> {
    const from = cursor === undefined ? undefined : parseKeyCursor(cursor);
    const rows: KeyRow[] = await this.read(
      (sql) => sql`SELECT ${keyColumns(sql)} FROM inkling_keys k
        WHERE ${from === undefined ? sql`1 = 1` : sql`(created_at < ${from.at} OR (created_at = ${from.at} AND id < ${from.id}))`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    const items = rows.slice(0, limit).map(keyFromRow);
    const last = items.at(-1);
    const isMore = rows.length > limit && last !== undefined;
    return { items, next: isMore ? `${last.createdAt}-${last.id}` : undefined };
  }

  /** The key with this id, revoked or not. */
  async findKey(id: string): Promise<Key | undefined> {
    return this.read((sql) => this.keyById(sql, id));
  }

  /**
   * Changes what a key may do, within a second in every process. One that is so already stays as it is.
   * @returns undefined when there is no such key, or it is revoked
   */
  async changeKey(id: string, change: KeyChange, actor = SOMEBODY): Promise<Key | undefined> {
    return this.change(async (tx) => {
      const before = await this.keyById(tx, id);
      if (before === undefined || before.revokedAt !== undefined) return undefined;
      const after: Key = Object.freeze({ ...before, ...change });
      if (Bun.deepEquals(before, after)) return before;
      const { name, scopes, networks, rate, burst, quota, expires_at } = rowFromKey(after);
      await tx`UPDATE inkling_keys SET name = ${name}, scopes = ${scopes}, networks = ${networks}, rate = ${rate},
        burst = ${burst}, quota = ${quota}, expires_at = ${expires_at} WHERE id = ${id}`;
      await this.audit(tx, actor, "key-changed", before, after);
      return after;
    });
  }

  /** Ends a key for good, within a second in every process. @returns the key; undefined when there is none */
  async revokeKey(id: string, actor = SOMEBODY): Promise<Key | undefined> {
    return this.change(async (tx) => {
      const before = await this.keyById(tx, id);
      if (before === undefined || before.revokedAt !== undefined) return before;
      const after: Key = Object.freeze({ ...before, revokedAt: this.now() });
      await tx`UPDATE inkling_keys SET revoked_at = ${after.revokedAt} WHERE id = ${id}`;
      await this.audit(tx, actor, "key-revoked", before, after);
      return after;
    });
  }

  /**
   * Gives a key a new token.
   * @param overlapUntil epoch ms until which its tokens of before stay valid
   * @returns undefined when there is no such key, or it is revoked
   */
  async rotateKey(id: string, overlapUntil: number, actor = SOMEBODY): Promise<IssuedKey | undefined> {
    return this.change(async (tx) => {
      const before = await this.keyById(tx, id);
      if (before === undefined || before.revokedAt !== undefined) return undefined;
      const token = this.newToken(before.mode);
      const hint = tokenHint(token);
      await tx`DELETE FROM inkling_tokens WHERE key_id = ${id} AND valid_until < ${this.now() - KEEP_TOKENS_MS}`;
      await tx`UPDATE inkling_tokens SET valid_until = ${overlapUntil}
        WHERE key_id = ${id} AND (valid_until IS NULL OR valid_until > ${overlapUntil})`;
      await this.insertToken(tx, token, id);
      await tx`UPDATE inkling_keys SET hint = ${hint} WHERE id = ${id}`;
      const after: Key = Object.freeze({ ...before, hint });
      await this.audit(tx, actor, "key-rotated", before, after);
      return { key: after, token };
    });
  }

  /** A text that changes with any change to keys. Reads one row. */
  async keyStamp(): Promise<string> {
    const rows: { stamp: string }[] = await this.read((sql) => sql`SELECT stamp FROM inkling_key_stamp`);
    return rows[0]?.stamp ?? "";
  }

  /** All tokens of keys that are not revoked. */
  async loadKeys(): Promise<KeySnapshot> {
    // The stamp comes first: keys that change in between are then read again, not missed.
    const stamp = await this.keyStamp();
    const rows: (KeyRow & { hash: string; valid_until: number | string | null })[] = await this.read(
      (sql) => sql`SELECT ${keyColumns(sql)}, t.hash, t.valid_until
        FROM inkling_tokens t JOIN inkling_keys k ON k.id = t.key_id WHERE k.revoked_at IS NULL`,
    );
    const tokens = rows.map(({ hash, valid_until, ...row }) => ({
      hash,
      key: keyFromRow(row),
      validUntil: valid_until === null ? undefined : Number(valid_until),
    }));
    return { stamp, tokens };
  }

  /**
   * Counts usage. A batch counts exactly once, however often it is sent: its number is kept in the same
   * transaction as its counts, so a batch whose first attempt timed out after its commit is recognised.
   * @returns false when it had been counted before
   */
  async addUsage({ recorder, sequence, entries }: UsageBatch): Promise<boolean> {
    // Two processes that lock rows in different orders would wait for each other.
    const rows = entries
      .map(({ keyId, day, lookup, count }) => ({ day, key_id: keyId, lookup, count }))
      .sort((a, b) => order(a.day, b.day) || order(a.key_id, b.key_id) || order(a.lookup, b.lookup));
    return this.write(async (tx) => {
      const isNew = await tx`INSERT INTO inkling_recorders AS r (id, sequence, flushed_at)
        VALUES (${recorder}, ${sequence}, ${this.now()})
        ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, flushed_at = excluded.flushed_at
        WHERE r.sequence < excluded.sequence
        RETURNING id`;
      if (isNew.length === 0) return false;
      if (sequence % FORGET_EVERY === 1) await this.forget(tx);
      for (let at = 0; at < rows.length; at += USAGE_ROWS) {
        if (at > 0) await Bun.sleep(0);
        await tx`INSERT INTO inkling_usage AS u ${tx(rows.slice(at, at + USAGE_ROWS))}
          ON CONFLICT (day, key_id, lookup) DO UPDATE SET count = u.count + excluded.count`;
        const hours = rows
          .slice(at, at + USAGE_ROWS)
          .map(({ day, ...row }) => ({ hour: this.hourOf(day), ...row }));
        await tx`INSERT INTO inkling_usage_hours AS u ${tx(hours)}
          ON CONFLICT (hour, key_id, lookup) DO UPDATE SET count = u.count + excluded.count`;
      }
      return true;
    });
  }

  /**
   * Usage of one key by the hour, from one hour to another, both included, as "2026-06-01T13". An hour is that in
   * which the count arrived here: a second later than the look-up, or more when the database was away.
   */
  async hourlyUsage(keyId: string, fromHour: string, toHour: string): Promise<HourlyUsage[]> {
    const rows: { hour: string; lookup: Counted; count: number | string }[] = await this.read(
      (sql) => sql`SELECT hour, lookup, count FROM inkling_usage_hours
        WHERE key_id = ${keyId} AND hour >= ${fromHour} AND hour <= ${toHour} ORDER BY hour, lookup`,
    );
    return rows.map(({ count, ...row }) => ({ ...row, count: Number(count) }));
  }

  /** Usage of each key on one UTC day. */
  async usageOfDay(day: string): Promise<Map<string, Partial<Record<Counted, number>>>> {
    const rows: { key_id: string; lookup: Counted; count: number | string }[] = await this.read(
      (sql) => sql`SELECT key_id, lookup, count FROM inkling_usage WHERE day = ${day}`,
    );
    const byKey = new Map<string, Partial<Record<Counted, number>>>();
    for (const { key_id, lookup, count } of rows) {
      byKey.set(key_id, { ...byKey.get(key_id), [lookup]: Number(count) });
    }
    return byKey;
  }

  /** The hour of a day's count that arrives now: this one, or the day's last when it is over. */
  private hourOf(day: string): string {
    const hour = new Date(this.now()).toISOString().slice(0, "2026-06-01T13".length);
    return hour.startsWith(day) ? hour : `${day}T23`;
  }

  /** Usage of one key from one UTC day to another, both included, as "2026-06-01". */
  async usage(keyId: string, fromDay: string, toDay: string): Promise<UsageEntry[]> {
    const rows: { day: string; lookup: Counted; count: number | string }[] = await this.read(
      (sql) => sql`SELECT day, lookup, count FROM inkling_usage
        WHERE key_id = ${keyId} AND day >= ${fromDay} AND day <= ${toDay} ORDER BY day, lookup`,
    );
    return rows.map(({ day, lookup, count }) => ({ keyId, day, lookup, count: Number(count) }));
  }

  /** Look-ups on one UTC day of each key that has a quota and was used, by all processes. */
  async quotaUsage(day: string): Promise<Map<string, number>> {
    const rows: { key_id: string; total: number | string }[] = await this.read(
      (sql) => sql`SELECT u.key_id, SUM(u.count) AS total
        FROM inkling_usage u JOIN inkling_keys k ON k.id = u.key_id
        WHERE u.day = ${day} AND u.lookup IN ${sql([...SCOPES])} AND k.quota IS NOT NULL GROUP BY u.key_id`,
    );
    return new Map(rows.map((row) => [row.key_id, Number(row.total)]));
  }

  private async forget(tx: TransactionSQL): Promise<void> {
    await tx`DELETE FROM inkling_recorders WHERE flushed_at < ${this.now() - KEEP_RECORDERS_MS}`;
    const oldest = new Date(this.now() - KEEP_HOURS_MS).toISOString().slice(0, "2026-06-01T13".length);
    await tx`DELETE FROM inkling_usage_hours WHERE hour < ${oldest}`;
  }

  private newToken(mode: KeyMode): string {
    return newKeyToken(mode, this.randomBytes);
  }

  private async insertToken(tx: TransactionSQL, token: string, keyId: string): Promise<void> {
    await tx`INSERT INTO inkling_tokens (hash, key_id, created_at)
      VALUES (${hashToken(token)}, ${keyId}, ${this.now()})`;
  }

  /** An entry of the audit trail, which never has a token. */
  private async audit(
    tx: TransactionSQL,
    actor: string,
    action: AuditAction,
    before: Key | undefined,
    after: Key,
  ): Promise<void> {
    const at = this.now();
    const json = (key: Key) => keyJson(key, at);
    await lockOverrides(tx, this.randomBytes);
    const was = before === undefined ? undefined : json(before);
    await insertAudit(tx, [{ actor, action, subject: after.id, before: was, after: json(after) }], at);
  }

  private async keyById(tx: SQL, id: string): Promise<Key | undefined> {
    const rows: KeyRow[] = await tx`SELECT ${keyColumns(tx)} FROM inkling_keys k WHERE id = ${id}`;
    return rows[0] && keyFromRow(rows[0]);
  }

  private async read<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    await this.ready();
    return this.database.run(work);
  }

  private async write<T>(work: (tx: TransactionSQL) => Promise<T>, durable = false): Promise<T> {
    await this.ready();
    return this.database.transaction(work, durable);
  }

  /** A change to keys. The stamp goes first: its row lock puts changes of several processes in a row. */
  private change<T>(work: (tx: TransactionSQL) => Promise<T>): Promise<T> {
    return this.write(async (tx) => {
      await tx`UPDATE inkling_key_stamp SET stamp = ${randomBase62(22, this.randomBytes)}`;
      return work(tx);
    }, true);
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

/** The columns of KeyRow, by name: `k.*` breaks prepared statements when a newer version adds a column. */
function keyColumns(sql: SQL) {
  return sql.unsafe(
    "k.id, k.name, k.mode, k.hint, k.scopes, k.networks, k.rate, k.burst, k.quota, k.created_at, k.expires_at, k.revoked_at",
  );
}

const KEY_CURSOR = /^(\d{1,16})-(key_[0-9A-Za-z]{16})$/;

function parseKeyCursor(cursor: string): { at: number; id: string } | undefined {
  const parts = KEY_CURSOR.exec(cursor);
  return parts === null ? undefined : { at: Number(parts[1]), id: parts[2]! };
}

/** Is this a cursor that a page of keys could have given? */
export const isKeyCursor = (text: string) => KEY_CURSOR.test(text);

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
