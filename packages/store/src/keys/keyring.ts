// keyring.ts: holds every key that is not revoked in memory, so that no request waits for a database.
//
// in   snapshots of the keys in the store; a request's Authorization header
// out  the key that the header's token belongs to, or the code of the problem with the header
// err  authenticate never throws. While the database is unreachable, the last snapshot remains active (see `state`).
// cost finding a header that was seen before costs one Map access (50 ns with 5,000 keys); a new header also costs a
//      checksum and a SHA-256
//
// Response times reveal nothing about stored tokens, because a token is found by its SHA-256. The map of seen headers
// compares text, but it holds only headers with the token of a key. To learn from it, an attacker would first have to
// match the 32-bit string hash of such a header, and then measure one memory comparison over the network.

import { bearerToken, isShortest } from "./bearer-token.ts";
import type { EpochMs, Key, KeyId } from "./key.ts";
import { hashToken, isWellFormedToken } from "./token.ts";

/** All keys that are not revoked at one point in time, including expired keys. */
export interface KeySnapshot {
  /** Changes whenever a key or token changes. */
  readonly stamp: string;
  readonly tokens: readonly TokenRecord[];
  /** What is different from an earlier snapshot, if that is known. */
  readonly delta?: KeyDelta;
}

/** The difference between two snapshots. */
export interface KeyDelta {
  /** The stamp of the earlier snapshot. */
  readonly from: string;
  /** The keys that were added, changed or removed. */
  readonly keyIds: ReadonlySet<KeyId>;
  /** The tokens that these keys have in the later snapshot. */
  readonly tokens: readonly TokenRecord[];
}

/** Adds the difference from an earlier snapshot, and keeps the objects of unchanged tokens. */
export function comparedTo(before: KeySnapshot, { stamp, tokens }: KeySnapshot): KeySnapshot {
  const known = new Map(before.tokens.map((token) => [token.hash, token]));
  const keyIds = new Set<KeyId>();
  const merged = tokens.map((token) => {
    const same = known.get(token.hash);
    known.delete(token.hash);
    if (same !== undefined && Bun.deepEquals(same, token)) return same;
    if (same !== undefined) keyIds.add(same.key.id);
    keyIds.add(token.key.id);
    return token;
  });
  for (const { key } of known.values()) keyIds.add(key.id);
  const changed = merged.filter(({ key }) => keyIds.has(key.id));
  return { stamp, tokens: merged, delta: { from: before.stamp, keyIds, tokens: changed } };
}

export interface TokenRecord {
  readonly hash: string;
  readonly key: Key;
  /** The time until which a replaced token is valid. The key's expiry applies as well. */
  readonly validUntil: EpochMs | undefined;
}

type AuthResult =
  | { readonly ok: true; readonly key: Key }
  | { readonly ok: false; readonly code: "KEY_EXPIRED"; readonly key: Key }
  /** KEYS_NOT_LOADED (503) is returned until the first snapshot since startup is active, and while keys are stale. */
  | {
      readonly ok: false;
      readonly code: "KEY_MISSING" | "KEY_INVALID" | "KEYS_NOT_LOADED";
      readonly detail?: string;
    };

/** The keyring's state, for metrics and logs. */
export interface KeyringState {
  /** Whether a snapshot has become active since startup. */
  readonly loaded: boolean;
  /** Number of keys in the active snapshot, including expired keys. */
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

/** Maximum number of headers that are recognized without hashing. */
const MAX_SEEN = 10_000;

/** One active token. `authenticate` returns this object if it succeeds. */
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

/** Returns the result for a token that does not have the form of a key. */
const malformed = (token: string): AuthResult =>
  token.startsWith("ink_admin_") ? ADMIN_TOKEN : /^ink_(?:live|test)_/.test(token) ? TRUNCATED : INVALID;
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
  private readonly byHash = new Map<string, Entry>();
  private readonly keys = new Map<KeyId, Key>();
  private stamp: string | undefined;
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
    if (!isShortest(header, token)) return; // with spaces, one token could have thousands of long headers
    if (this.seen.size >= MAX_SEEN) this.seen.clear();
    this.seen.set(header, entry);
  }

  /** Finds a key of the active snapshot by its id. The key may have expired. */
  find(keyId: KeyId): Key | undefined {
    return this.keys.get(keyId);
  }

  /** Activates a snapshot. Each unchanged key keeps its object, and therefore its bucket. */
  replace({ stamp, tokens, delta }: KeySnapshot): void {
    if (delta === undefined || delta.from !== this.stamp || !this.isLoaded) this.replaceAll(tokens);
    else this.change(delta);
    this.stamp = stamp;
    this.isLoaded = true;
  }

  private replaceAll(tokens: readonly TokenRecord[]): void {
    const before = new Map(this.keys);
    this.keys.clear();
    this.byHash.clear();
    for (const token of tokens) this.add(token, before);
    this.seen.clear();
  }

  private change({ keyIds, tokens }: KeyDelta): void {
    const before = new Map<KeyId, Key>();
    for (const keyId of keyIds) {
      const key = this.keys.get(keyId);
      if (key === undefined) continue;
      before.set(keyId, key);
      this.keys.delete(keyId);
    }
    for (const [hash, { key }] of this.byHash) if (keyIds.has(key.id)) this.byHash.delete(hash);
    for (const [header, { key }] of this.seen) if (keyIds.has(key.id)) this.seen.delete(header);
    for (const token of tokens) this.add(token, before);
  }

  private add(token: TokenRecord, before: ReadonlyMap<KeyId, Key>): void {
    const { id } = token.key;
    let key = this.keys.get(id);
    if (key === undefined) {
      const known = before.get(id);
      key = known !== undefined && Bun.deepEquals(known, token.key) ? known : token.key;
      this.keys.set(id, key);
    }
    this.byHash.set(token.hash, new Entry(token, key));
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
    const { isLoaded, keys, checkedAt, failures, lastError, isStale, unready, warnings } = this;
    const stale = isStale;
    return { loaded: isLoaded, keys: keys.size, checkedAt, failures, lastError, stale, unready, warnings };
  }
}
