// keyring.ts: every active key, in memory, so that no request waits for a database.
//
// in   snapshots of the store's keys; the Authorization header of a request
// out  the key that its token stands for, or why there is none
// err  authenticate never throws; while the database is unreachable the last snapshot remains active; see `state`
// cost authenticate of a header seen before: one Map access (50 ns with 5,000 keys); a new one also its checksum and SHA-256
//
// Timing: tokens are found by the SHA-256 of what was sent, so comparing reveals nothing of the stored value. The map of
// headers seen before compares text, but only holds those whose token's hash was found before: an attacker would have to
// hit the full 32-bit string hash of one first, and then measure one memory comparison through the network.

import { bearerToken, isShortest } from "./bearer-token.ts";
import type { EpochMs, Key, KeyId } from "./key.ts";
import { hashToken, isWellFormedToken } from "./token.ts";

/** All keys that are active at one moment. */
export interface KeySnapshot {
  /** Changes whenever any key or token does. */
  readonly stamp: string;
  readonly tokens: readonly TokenRecord[];
}

export interface TokenRecord {
  readonly hash: string;
  readonly key: Key;
  /** Until when the token is valid, set when it was replaced; the key's expiry applies as well. */
  readonly validUntil: EpochMs | undefined;
}

type AuthResult =
  | { readonly ok: true; readonly key: Key }
  | { readonly ok: false; readonly code: "KEY_EXPIRED"; readonly key: Key }
  /** KEYS_NOT_LOADED: there has been no snapshot since the start; 503, not 401. */
  | {
      readonly ok: false;
      readonly code: "KEY_MISSING" | "KEY_INVALID" | "KEYS_NOT_LOADED";
      readonly detail?: string;
    };

/** For readiness, metrics and logs. */
export interface KeyringState {
  /** Has there been a snapshot? */
  readonly loaded: boolean;
  /** Number of active keys. */
  readonly keys: number;
  /** When the database was last reached. */
  readonly checkedAt: EpochMs | undefined;
  /** Failed checks since the last successful one. */
  readonly failures: number;
  /** Why the last check failed, without secrets. */
  readonly lastError: string | undefined;
  /** Was the database unreachable for longer than the operator allows? Then every key is refused. */
  readonly stale?: boolean;
  /** Why this server should get no requests, although its keys are active. */
  readonly unready?: string | undefined;
  /** What an operator should know of keys and their database, although lookups are answered. */
  readonly warnings?: readonly string[];
}

/** Headers remembered without hashing. */
const MAX_SEEN = 10_000;

/** One active token, and the result of authenticating with it. */
class Entry {
  readonly ok = true;
  readonly key: Key;
  readonly validUntil: EpochMs;

  constructor({ validUntil }: TokenRecord, key: Key) {
    this.key = key;
    this.validUntil = Math.min(key.expiresAt ?? Infinity, validUntil ?? Infinity);
  }
}

const MISSING: AuthResult = Object.freeze({ ok: false, code: "KEY_MISSING" });
const INVALID: AuthResult = Object.freeze({ ok: false, code: "KEY_INVALID" });
const TRUNCATED: AuthResult = Object.freeze({
  ok: false,
  code: "KEY_INVALID",
  detail: "The key's checksum does not match. Copy the whole key.",
});
const ADMIN_TOKEN: AuthResult = Object.freeze({
  ok: false,
  code: "KEY_INVALID",
  detail: "This is an admin token. Use an API key (`ink_live_…`).",
});

/** Why a token is not even in the form of a key. */
const malformed = (token: string): AuthResult =>
  token.startsWith("ink_admin_") ? ADMIN_TOKEN : /^ink_(?:live|test)_/.test(token) ? TRUNCATED : INVALID;
const expired = ({ key }: Entry): AuthResult => ({ ok: false, code: "KEY_EXPIRED", key });
const NOT_LOADED: AuthResult = Object.freeze({ ok: false, code: "KEYS_NOT_LOADED" });
const STALE: AuthResult = Object.freeze({
  ok: false,
  code: "KEYS_NOT_LOADED",
  detail:
    "The server has not reached its database for longer than INKLING_MAX_STALE allows, so it cannot tell whether this key is still valid.",
});

export class Keyring {
  /** See {@link KeyringState}. */
  unready: string | undefined;
  /** See {@link KeyringState}. */
  warnings: readonly string[] = [];
  private byHash: ReadonlyMap<string, Entry> = new Map();
  private keys: ReadonlyMap<KeyId, Key> = new Map();
  private seen = new Map<string, Entry>();
  private isLoaded = false;
  private isStale = false;
  private checkedAt: EpochMs | undefined;
  private failures = 0;
  private lastError: string | undefined;

  /**
   * The key that a request comes with.
   * @param header Authorization, of any form; null without one
   */
  authenticate(header: string | null, now: EpochMs): AuthResult {
    if (header === null) return MISSING;
    const known = this.seen.get(header);
    if (known !== undefined) return now < known.validUntil ? known : expired(known);
    const token = bearerToken(header);
    if (token === undefined) return MISSING;
    if (!isWellFormedToken(token)) return malformed(token);
    if (!this.isLoaded) return NOT_LOADED;
    if (this.isStale) return STALE;
    const entry = this.byHash.get(hashToken(token));
    if (entry === undefined) return INVALID;
    this.remember(header, token, entry);
    return now < entry.validUntil ? entry : expired(entry);
  }

  private remember(header: string, token: string, entry: Entry): void {
    if (!isShortest(header, token)) return; // with spaces, one token would have thousands of long headers
    if (this.seen.size >= MAX_SEEN) this.seen.clear();
    this.seen.set(header, entry);
  }

  /** The key with this id, when it is active. */
  find(keyId: KeyId): Key | undefined {
    return this.keys.get(keyId);
  }

  /** Applies a snapshot. An unchanged key keeps its object, so that its bucket remains as it is. */
  replace({ tokens }: KeySnapshot): void {
    const keys = new Map<KeyId, Key>();
    const byHash = new Map<string, Entry>();
    for (const token of tokens) {
      const { id } = token.key;
      let key = keys.get(id);
      if (key === undefined) {
        const known = this.keys.get(id);
        key = known !== undefined && Bun.deepEquals(known, token.key) ? known : token.key;
        keys.set(id, key);
      }
      byHash.set(token.hash, new Entry(token, key));
    }
    this.keys = keys;
    this.byHash = byHash;
    this.seen = new Map();
    this.isLoaded = true;
  }

  /** The database was reached: what is active is what it holds. */
  recordCheck(now: EpochMs): void {
    this.failures = 0;
    this.lastError = undefined;
    this.checkedAt = now;
  }

  recordFailure(reason: string): void {
    this.failures++;
    this.lastError = reason;
  }

  /** Whether every key is refused. Headers seen before are forgotten, so that no request has to look. */
  set stale(isStale: boolean) {
    this.isStale = isStale;
    if (isStale) this.seen = new Map();
  }

  get state(): KeyringState {
    const { isLoaded, keys, checkedAt, failures, lastError, isStale, unready, warnings } = this;
    const stale = isStale;
    return { loaded: isLoaded, keys: keys.size, checkedAt, failures, lastError, stale, unready, warnings };
  }
}
