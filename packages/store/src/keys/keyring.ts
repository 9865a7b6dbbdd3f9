// keyring.ts: holds every key that is not revoked in memory, so that no request waits for a database.
//
// While the database is unreachable, the last known keys remain active (see `state`). Cost: one Map access for a
// header that was seen before (50 ns with 5,000 keys); for a new header, also a checksum and a SHA-256.
//
// Response times reveal nothing about stored tokens, because a token is found by its SHA-256. The map of seen headers
// compares text, but it holds only headers with the token of a key. To learn from it, an attacker would first have to
// match the 32-bit string hash of such a header, and then measure one memory comparison over the network.

import type { EpochMs, Key, KeyId } from "./key.ts";
import { type CellOf, idsOf, type KeyRecord, KeyTable, type KeyUpdate } from "./key-table.ts";
import { readToken } from "./token.ts";

type AuthResult =
  | { readonly ok: true; readonly key: Key }
  | { readonly ok: false; readonly code: "KEY_EXPIRED"; readonly key: Key }
  /** KEYS_NOT_LOADED (503) is returned until keys have been loaded since startup, and while keys are stale. */
  | {
      readonly ok: false;
      readonly code: "KEY_MISSING" | "KEY_INVALID" | "KEYS_NOT_LOADED";
      readonly detail?: string;
    };

/** The keyring's state, for metrics and logs. */
export interface KeyringState {
  /** Whether keys have become active since startup. */
  readonly loaded: boolean;
  /** Number of active keys, including expired keys. */
  readonly keys: number;
  /** Time of the last contact with the database. */
  readonly checkedAt: EpochMs | undefined;
  /** Consecutive failed checks since the last success. */
  readonly failures: number;
  /** Why the last check failed, without secrets. */
  readonly lastError: string | undefined;
  /** Whether the database has been unreachable for longer than the operator allows. Every key is then refused. */
  readonly stale?: boolean;
  /** Why this server should not receive requests although its keys are active. */
  readonly unready?: string | undefined;
  /** Problems with keys and their database that the operator should know about, although lookups are answered. */
  readonly warnings?: readonly string[];
}

/** Maximum number of headers that are recognized without hashing, and of keys that are parsed. */
const MAX_SEEN = 10_000;

interface UsedKey {
  readonly key: Key;
  readonly cell: number | undefined;
}

/** One active token. `authenticate` returns this object if it succeeds. */
class Entry {
  readonly ok = true;
  readonly key: Key;
  readonly validUntil: EpochMs;

  /** @param until the time until which a replaced token is valid */
  constructor(key: Key, until: EpochMs | null) {
    this.key = key;
    this.validUntil = Math.min(key.expiresAt ?? Infinity, until ?? Infinity);
  }
}

const MISSING: AuthResult = Object.freeze({ ok: false, code: "KEY_MISSING" });
const INVALID: AuthResult = Object.freeze({ ok: false, code: "KEY_INVALID" });
/** The results for tokens that do not have the form of a key. */
const MALFORMED = {
  "broken key": Object.freeze({
    ok: false,
    code: "KEY_INVALID",
    detail: "The key's checksum does not match. Copy the whole key.",
  }),
  "admin token": Object.freeze({
    ok: false,
    code: "KEY_INVALID",
    detail: "This is an admin token. Use an API key (`ink_live_…`).",
  }),
  other: INVALID,
} as const;
const expired = ({ key }: Entry): AuthResult => ({ ok: false, code: "KEY_EXPIRED", key });
const NOT_LOADED: AuthResult = Object.freeze({ ok: false, code: "KEYS_NOT_LOADED" });
const STALE: AuthResult = Object.freeze({
  ok: false,
  code: "KEYS_NOT_LOADED",
  detail:
    "The server has not reached its database for longer than INKLING_MAX_STALE_SECONDS allows, so it cannot check whether this key is still valid.",
});

export class Keyring {
  /** Part of {@link KeyringState}. */
  unready: string | undefined;
  /** Part of {@link KeyringState}. */
  warnings: readonly string[] = [];
  /** All active keys, and those that only this host refuses. */
  table = new KeyTable();
  /** The cells of keys (limits/cells.ts in the server). */
  readonly cells = { get: (keyId: KeyId): number | undefined => this.used(keyId)?.cell };
  private readonly known = new Map<KeyId, UsedKey>();
  private refusedHere: ReadonlySet<KeyId> = new Set();
  private seen = new Map<string, Entry>();
  private isLoaded = false;
  private isStale = false;
  private checkedAt: EpochMs | undefined;
  private failures = 0;
  private lastError: string | undefined;

  /**
   * Finds the key of a request.
   * @param header the Authorization header in any form; null if the request does not have this header
   */
  authenticate(header: string | null, now: EpochMs): AuthResult {
    if (header === null) return MISSING;
    const known = this.seen.get(header);
    if (known !== undefined) return now < known.validUntil ? known : expired(known);
    const token = readToken(header);
    if (token === undefined) return MISSING;
    if (token.form !== "key") return MALFORMED[token.form];
    if (!this.isLoaded) return NOT_LOADED;
    if (this.isStale) return STALE;
    const { hash } = token;
    const record = this.table.findByToken(hash);
    if (record === undefined || this.refusedHere.has(record.key.id)) return INVALID;
    const entry = new Entry(this.use(record).key, record.tokens[hash] ?? null);
    if (token.isShortest) this.remember(header, entry); // with spaces, one token could have thousands of long headers
    return now < entry.validUntil ? entry : expired(entry);
  }

  private remember(header: string, entry: Entry): void {
    if (this.seen.size >= MAX_SEEN) this.seen.clear();
    this.seen.set(header, entry);
  }

  /** Finds an active key by its id. The key may have expired. */
  find(keyId: KeyId): Key | undefined {
    return this.refusedHere.has(keyId) ? undefined : this.used(keyId)?.key;
  }

  private used(keyId: KeyId): UsedKey | undefined {
    const known = this.known.get(keyId);
    if (known !== undefined) return known;
    const record = this.table.findById(keyId);
    return record && this.use(record);
  }

  /** Returns the object that all users of a key share until the key changes. */
  private use({ key }: KeyRecord): UsedKey {
    const known = this.known.get(key.id);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_SEEN) this.known.clear();
    const used = { key, cell: this.table.cellOf(key.id) };
    this.known.set(key.id, used);
    return used;
  }

  /** Activates an update. @throws Error if it does not follow the active keys */
  replace(update: KeyUpdate, cellOf?: CellOf): void {
    if (update.from === undefined) {
      this.useTable(new KeyTable(update, cellOf));
      return;
    }
    if (update.from !== this.table.stamp) throw new Error("the update follows other keys");
    this.table.append(update, cellOf);
    this.table = this.table.compacted();
    for (const keyId of idsOf(update.lines)) this.known.delete(keyId);
    this.seen.clear();
  }

  /** Uses a table. Call it also when another thread has changed this keyring's table. */
  useTable(table = this.table): void {
    this.table = table;
    this.known.clear();
    this.seen.clear();
    this.isLoaded = true;
  }

  /** The keys of the table that this host refuses, whatever the database says. */
  get refused(): ReadonlySet<KeyId> {
    return this.refusedHere;
  }

  set refused(keyIds: ReadonlySet<KeyId>) {
    this.refusedHere = keyIds;
    this.seen.clear();
  }

  /** Records that the database was reached, so the active keys are current. */
  recordCheck(now: EpochMs): void {
    this.failures = 0;
    this.lastError = undefined;
    this.checkedAt = now;
  }

  recordFailure(reason: string): void {
    this.failures++;
    this.lastError = reason;
  }

  /**
   * Sets whether every key is refused. This also forgets the seen headers, so that `authenticate` can accept a seen
   * header without checking whether keys are stale.
   */
  set stale(isStale: boolean) {
    this.isStale = isStale;
    if (isStale) this.seen = new Map();
  }

  get state(): KeyringState {
    const { isLoaded, checkedAt, failures, lastError, isStale, unready, warnings } = this;
    const [stale, keys] = [isStale, this.table.size - this.refusedHere.size];
    return { loaded: isLoaded, keys, checkedAt, failures, lastError, stale, unready, warnings };
  }
}
