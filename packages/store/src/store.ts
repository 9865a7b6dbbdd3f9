// store.ts: stores keys in an SQLite file or a PostgreSQL database, and provides access to everything else in it.
//
// Cost: see each method; no lookup waits for the store.

import type { AuditAction } from "@inkling/contract";
import { randomBase62 } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import { AdminTokenStore } from "./admin-token.ts";
import type { Author } from "./audit.ts";
import { AuditStore, insertAudit } from "./audit.ts";
import { DatabaseCopy } from "./copy.ts";
import { Database, type DatabaseOptions, ROWS_AT_ONCE } from "./database.ts";
import { DecisionStore } from "./decisions.ts";
import { DeliveryStore } from "./deliveries.ts";
import { StoreError } from "./error.ts";
import { changeKeys, readKeyChanges } from "./key-changes.ts";
import { DAY_MS } from "./keys/day.ts";
import {
  type EpochMs,
  KEY_COLUMNS,
  type Key,
  type KeyChange,
  type KeyId,
  type KeyRow,
  keyFromRow,
  keyJson,
  type NewKey,
  rowFromKey,
} from "./keys/key.ts";
import { type KeyUpdate, keyLine, removalLine, sharedLines } from "./keys/key-table.ts";
import type { Revocation, RevokedFile } from "./keys/revoked-file.ts";
import { hashToken, newKeyToken, tokenHint } from "./keys/token.ts";
import { NoticeListener } from "./notices.ts";
import { OverrideStore } from "./overrides.ts";
import { NewestFirst, type Page, type PageRequest } from "./pages.ts";
import { Retention } from "./retention.ts";
import { readRevocations, writeRevocations } from "./revocations.ts";
import { RulesetStore } from "./rulesets.ts";
import { UsageTables } from "./usage.ts";
import { WebhookStore } from "./webhooks.ts";

export { isSharedDatabase } from "./address.ts";

/**
 * Milliseconds for which an expired token is still loaded. Until then, its users receive KEY_EXPIRED instead of
 * KEY_INVALID.
 */
const LOAD_TOKENS_MS = 30 * DAY_MS;
/** Number of keys that are read in one statement. */
const KEYS_AT_ONCE = 5_000;
/** The author if the caller states none. */
const UNNAMED: Author = { author: "inkling", source: undefined };

interface StoreOptions extends DatabaseOptions {
  /**
   * Whether to return a store even if the database is unreachable. Its calls then fail with UNREACHABLE until the
   * database is reachable.
   */
  readonly mayBeUnreachable?: boolean;
  /** The data folder's list of revocations. Each revocation is written to it before it is committed. */
  readonly revoked?: RevokedFile;
}

/** A key and its token, which is shown only once. */
export interface IssuedKey {
  readonly key: Key;
  readonly token: string;
}

/**
 * Opens the store and brings its tables up to date.
 * @param address `postgres://…`, `sqlite://PATH`, or a path; a missing file is created, for this user only
 * @throws StoreError
 */
export async function openStore(address: string, options: StoreOptions = {}): Promise<Store> {
  const store = new Store(address, options);
  try {
    await store.ping();
  } catch (error) {
    if (options.mayBeUnreachable && error instanceof StoreError && error.code === "UNREACHABLE") return store;
    await store.close();
    throw error;
  }
  return store;
}

export const KEY_PAGES = new NewestFirst("key");

/** Reads the fields that every version has, so that a key that a newer version wrote can be revoked here as well. */
const readablePart = (row: KeyRow): Key => keyFromRow({ ...row, mode: "live", scopes: "", networks: "" });

export class Store {
  readonly audit: AuditStore;
  readonly overrides: OverrideStore;
  readonly rulesets: RulesetStore;
  readonly decisions: DecisionStore;
  readonly retention: Retention;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly adminToken: AdminTokenStore;
  readonly usage: UsageTables;
  /** Writes the file of a backup, and takes the rows of another file. */
  readonly copy: DatabaseCopy;
  readonly database: Database;
  /** The same database through connections that keys, limits and the operator's changes do not use. */
  private readonly records: Database;
  private readonly revoked: RevokedFile | undefined;

  /** Use {@link openStore}. */
  constructor(address: string, options: StoreOptions) {
    const { revoked } = options;
    const database = new Database(address, options);
    const { isShared, unreadable } = database;
    const records = isShared ? new Database(address, options, { work: "records", unreadable }) : database;
    this.database = database;
    this.records = records;
    this.revoked = revoked;
    this.audit = new AuditStore(database, records);
    this.overrides = new OverrideStore(database);
    this.rulesets = new RulesetStore(database);
    this.retention = new Retention(records);
    this.decisions = new DecisionStore(records);
    this.webhooks = new WebhookStore(records);
    this.deliveries = new DeliveryStore(records);
    this.adminToken = new AdminTokenStore(database, revoked);
    this.usage = new UsageTables(records);
    this.copy = new DatabaseCopy(records);
  }

  /**
   * Runs an update that changes nothing, as the user and with the locks of every change.
   * @throws StoreError if the database cannot be written now, for example because the server or the disk is read-only
   */
  async checkWritable(): Promise<void> {
    await this.database.write((tx) => tx`UPDATE inkling_key_stamp SET stamp = stamp WHERE id < 0`, false);
  }

  /** Resolves if the database answers. @throws StoreError */
  async ping(): Promise<void> {
    await this.database.run((sql) => sql`SELECT 1`);
  }

  /**
   * Listens for changes by other processes, with PostgreSQL only. The caller must call `stop` on the listener before
   * `close`.
   */
  listen(options: ConstructorParameters<typeof NoticeListener>[1]): NoticeListener {
    return new NoticeListener(this.database, options);
  }

  /** Reads the PostgreSQL server's clock, in epoch ms; undefined with SQLite. */
  async readClock(): Promise<number | undefined> {
    if (!this.database.isShared) return undefined;
    const rows: { now: string }[] = await this.database.run(
      (sql) => sql`SELECT ${this.database.clock(sql)} AS now`,
    );
    return Number(rows[0]?.now);
  }

  async close(): Promise<void> {
    await Promise.all([this.database.close(), this.records.close()]);
  }

  /**
   * Creates a key.
   * @param token a well-formed token for the key; by default, a new one is created
   * @throws StoreError CONFLICT if a key with this token already exists
   */
  async createKey(
    wanted: NewKey,
    token = newKeyToken(wanted.mode, this.database.randomBytes),
    by: Author = UNNAMED,
  ): Promise<IssuedKey> {
    const key: Key = Object.freeze({
      ...wanted,
      id: `key_${randomBase62(16, this.database.randomBytes)}`,
      hint: tokenHint(token),
      createdAt: this.database.now(),
      revokedAt: undefined,
    });
    await changeKeys(this.database, async (tx, changed) => {
      changed.push(key.id);
      await tx`INSERT INTO inkling_keys ${tx(rowFromKey(key))}`;
      await this.insertToken(tx, token, key.id);
      await this.auditKey(tx, by, "key-created", undefined, key);
      return key;
    });
    return { key, token };
  }

  /** Finds the key that has a token with this hash, revoked or not. */
  async findKeyByHash(hash: string): Promise<Key | undefined> {
    const rows: KeyRow[] = await this.database.run(
      (sql) =>
        sql`SELECT ${keyColumns(sql)} FROM inkling_keys k JOIN inkling_tokens t ON t.key_id = k.id WHERE t.hash = ${hash}`,
    );
    return this.readRows(rows)[0];
  }

  /** Lists all keys, including revoked ones, oldest first. */
  async listKeys(): Promise<Key[]> {
    const rows: KeyRow[] = await this.database.run(
      (sql) => sql`SELECT ${keyColumns(sql)} FROM inkling_keys k ORDER BY created_at, id`,
    );
    return this.readRows(rows);
  }

  /**
   * Lists keys, newest first.
   * @param ending only keys that are not revoked and expire in this time
   */
  async readKeyPage(
    { limit, cursor }: PageRequest,
    ending?: { readonly from: number; readonly until: number },
  ): Promise<Page<Key>> {
    const rows: KeyRow[] = await this.database.run(
      (sql) => sql`SELECT ${keyColumns(sql)} FROM inkling_keys k WHERE ${KEY_PAGES.after(sql, cursor)}
          AND ${ending === undefined ? sql`1 = 1` : sql`revoked_at IS NULL AND expires_at BETWEEN ${ending.from} AND ${ending.until}`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    );
    return KEY_PAGES.page(rows, limit, (shown) => this.readRows(shown));
  }

  /** Finds the key with this id, revoked or not. */
  async findKey(id: string): Promise<Key | undefined> {
    return this.database.run((sql) => this.readKeyById(sql, id));
  }

  /**
   * Changes what a key may do. Every process applies the change within a second. Values equal to the current ones
   * change nothing.
   * @returns undefined if the key does not exist or is revoked
   */
  async changeKey(id: string, change: KeyChange, by: Author = UNNAMED): Promise<Key | undefined> {
    return changeKeys(this.database, async (tx, changed) => {
      changed.push(id);
      const before = await this.readKeyById(tx, id);
      if (before === undefined || before.revokedAt !== undefined) return undefined;
      const after: Key = Object.freeze({ ...before, ...change });
      if (Bun.deepEquals(before, after)) return before;
      const { name, networks, rate, burst, quota, expires_at, traced_until } = rowFromKey(after);
      const scopes = await scopesToStore(tx, before, after);
      await tx`UPDATE inkling_keys SET name = ${name}, scopes = ${scopes}, networks = ${networks}, rate = ${rate},
        burst = ${burst}, quota = ${quota}, expires_at = ${expires_at}, traced_until = ${traced_until} WHERE id = ${id}`;
      await this.auditKey(tx, by, "key-changed", before, after);
      return after;
    });
  }

  /**
   * Revokes a key. Every process applies this within a second.
   * @param at when the key was revoked, in epoch ms
   * @returns the key; undefined if it does not exist
   */
  async revokeKey(id: string, by: Author = UNNAMED, at = this.database.now()): Promise<Key | undefined> {
    return changeKeys(this.database, async (tx, changed) => {
      changed.push(id);
      const rows: KeyRow[] = await tx`SELECT ${keyColumns(tx)} FROM inkling_keys k WHERE id = ${id}`;
      const [before] = this.readStored(rows);
      const known = before ?? rows.map(readablePart)[0];
      if (known === undefined || known.revokedAt !== undefined) return known;
      const after: Key = Object.freeze({ ...known, revokedAt: at });
      await tx`UPDATE inkling_keys SET revoked_at = ${after.revokedAt} WHERE id = ${id}`;
      await this.auditKey(tx, by, "key-revoked", before, after);
      writeRevocations(this.revoked, [{ id, at, author: by.author }]);
      return after;
    });
  }

  /**
   * Creates a new token for a key.
   * @param overlapUntil epoch ms until which its earlier tokens remain valid
   * @returns undefined if the key does not exist or is revoked
   */
  async rotateKey(id: string, overlapUntil: number, by: Author = UNNAMED): Promise<IssuedKey | undefined> {
    return changeKeys(this.database, async (tx, changed) => {
      changed.push(id);
      const before = await this.readKeyById(tx, id);
      if (before === undefined || before.revokedAt !== undefined) return undefined;
      const token = newKeyToken(before.mode, this.database.randomBytes);
      const hint = tokenHint(token);
      await tx`UPDATE inkling_tokens SET valid_until = ${overlapUntil}
        WHERE key_id = ${id} AND (valid_until IS NULL OR valid_until > ${overlapUntil})`;
      await this.insertToken(tx, token, id);
      await tx`UPDATE inkling_keys SET hint = ${hint} WHERE id = ${id}`;
      const after: Key = Object.freeze({ ...before, hint });
      await this.auditKey(tx, by, "key-rotated", before, after);
      return { key: after, token };
    });
  }

  /** Reads a text that changes with every change to keys. This reads one row. */
  async readKeyStamp(): Promise<string> {
    const rows: { stamp: string }[] = await this.database.run(
      (sql) => sql`SELECT stamp FROM inkling_key_stamp`,
    );
    return rows[0]?.stamp ?? "";
  }

  /**
   * Loads the keys that are not revoked, with their tokens, except tokens that expired long ago. Tokens are never
   * deleted. If a deleted token were also in INKLING_API_KEY, the next start would create a new key from it.
   * @param since the stamp of an earlier result; if possible, only the keys that changed since then are read
   */
  async loadKeys(since?: string): Promise<KeyUpdate> {
    // Reads the stamp first. A change that happens in between is then read again rather than missed.
    const stamp = await this.readKeyStamp();
    const changed =
      since === undefined ? undefined : await this.database.run((sql) => readKeyChanges(sql, since));
    if (changed === undefined) return { stamp, lines: sharedLines(await this.loadAllKeys()) };
    const lines = new Map(changed.map((id) => [id, removalLine(id)]));
    for (let at = 0; at < changed.length; at += ROWS_AT_ONCE) {
      const some = changed.slice(at, at + ROWS_AT_ONCE);
      for (const [id, line] of await this.loadKeyLines((sql) => sql`k.id IN ${sql(some)}`))
        lines.set(id, line);
    }
    return { stamp, from: since, lines: Buffer.from([...lines.values()].join("")) };
  }

  /** Reads in pages, so that the rows of 100,000 keys are not all in memory at the same time. */
  private async loadAllKeys(): Promise<Buffer[]> {
    const pages: Buffer[] = [];
    for (let last = ""; ; ) {
      const ids: { id: string }[] = await this.database.run(
        (sql) =>
          sql`SELECT id FROM inkling_keys WHERE id > ${last} ORDER BY id LIMIT 1 OFFSET ${KEYS_AT_ONCE}`,
      );
      const next = ids[0]?.id;
      const until = (sql: SQL) => (next === undefined ? sql`1 = 1` : sql`k.id <= ${next}`);
      const lines = await this.loadKeyLines((sql) => sql`k.id > ${last} AND ${until(sql)}`);
      pages.push(Buffer.from([...lines.values()].join("")));
      if (next === undefined) return pages;
      last = next;
    }
  }

  private async loadKeyLines(where: (sql: SQL) => SQL.Query<unknown>): Promise<Map<KeyId, string>> {
    const since = this.database.now() - LOAD_TOKENS_MS;
    const rows: (KeyRow & { hash: string; valid_until: number | string | null })[] = await this.database.run(
      (sql) => sql`SELECT ${keyColumns(sql)}, t.hash, t.valid_until
        FROM inkling_tokens t JOIN inkling_keys k ON k.id = t.key_id
        WHERE k.revoked_at IS NULL AND (t.valid_until IS NULL OR t.valid_until >= ${since}) AND ${where(sql)}
        ORDER BY t.hash`,
    );
    const tokens = new Map<KeyId, Record<string, EpochMs | null>>();
    const keys = rows.filter(({ id, hash, valid_until }) => {
      const known = tokens.get(id);
      const until = valid_until === null ? null : Number(valid_until);
      if (known === undefined) tokens.set(id, { [hash]: until });
      else known[hash] = until;
      return known === undefined;
    });
    const read = (row: KeyRow, report: (reason: string) => void) =>
      [row.id, keyLine(rowFromKey(keyFromRow(row, report)), tokens.get(row.id)!)] as const;
    return new Map(this.database.unreadable.read("keys", keys, read, ({ id }) => id));
  }

  /**
   * Reads the revocations of admin tokens, and of keys that the data folder's list lacks.
   * @param after the `last` of an earlier call; by default, and if the audit trail does not reach it, reads all
   */
  readRevocations(
    after = 0,
  ): Promise<{ readonly last: number; readonly revocations: readonly Revocation[] }> {
    return this.database.snapshot((tx) =>
      readRevocations(tx, after, (keyId) => this.revoked?.timeOf(keyId) !== undefined),
    );
  }

  private async insertToken(tx: TransactionSQL, token: string, keyId: string): Promise<void> {
    await tx`INSERT INTO inkling_tokens (hash, key_id, created_at)
      VALUES (${hashToken(token)}, ${keyId}, ${this.database.now()})`;
  }

  /** Adds an entry to the audit trail. The entry never contains a token. */
  private async auditKey(
    tx: TransactionSQL,
    by: Author,
    action: AuditAction,
    before: Key | undefined,
    after: Key,
  ): Promise<void> {
    const at = this.database.now();
    const was = before && keyJson(before, at);
    await insertAudit(tx, [{ ...by, action, subject: after.id, before: was, after: keyJson(after, at) }], at);
  }

  private async readKeyById(tx: SQL, id: string): Promise<Key | undefined> {
    const rows: KeyRow[] = await tx`SELECT ${keyColumns(tx)} FROM inkling_keys k WHERE id = ${id}`;
    return this.readRows(rows)[0];
  }

  /** Reads keys as this host uses them: a key that it refuses counts as revoked, whatever the database says. */
  private readRows(rows: readonly KeyRow[]): Key[] {
    const { revoked } = this;
    const keys = this.readStored(rows);
    if (revoked === undefined || revoked.isEmpty) return keys;
    return keys.map((key) => {
      const at = key.revokedAt === undefined ? revoked.timeOf(key.id) : undefined;
      return at === undefined ? key : Object.freeze({ ...key, revokedAt: at });
    });
  }

  private readStored(rows: readonly KeyRow[]): Key[] {
    return this.database.unreadable.read("keys", rows, keyFromRow, ({ id }) => id);
  }
}

/** Returns the scopes of a changed key. Scopes that only a newer version has remain, unless the change sets scopes. */
async function scopesToStore(tx: TransactionSQL, before: Key, after: Key): Promise<string> {
  if (after.scopes !== before.scopes) return rowFromKey(after).scopes;
  const rows: { scopes: string }[] = await tx`SELECT scopes FROM inkling_keys WHERE id = ${after.id}`;
  return rows[0]!.scopes; // the caller has just read this row
}

/** Returns the columns of KeyRow by name. `k.*` would break prepared statements when a newer version adds a column. */
const keyColumns = (sql: SQL) => sql.unsafe(KEY_COLUMNS.map((column) => `k.${column}`).join(", "));
