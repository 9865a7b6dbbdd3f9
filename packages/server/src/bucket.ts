// bucket.ts: how many look-ups a key may make at once and per second: one token bucket for each key.
//
// in   a key, the time, how many look-ups it asks for
// out  whether it may, and what the RateLimit headers say
// err  none: a clock that goes backwards grants nothing and blocks nobody
// cost one Map look-up and no allocation for a key seen before: 25 ns with 5,000 keys

import type { Key } from "./key.ts";

/** The server's defaults for keys that have no limits of their own. */
export interface RateDefaults {
  /** Look-ups per second and key; 0 = no limit. */
  readonly rate: number;
  /** Look-ups at once. */
  readonly burst: number;
}

export const DEFAULT_RATE: RateDefaults = { rate: 1_000, burst: 2_000 };

/** What {@link Buckets.take} decided. */
export interface Decision {
  readonly allowed: boolean;
  /** Look-ups at once (the bucket's size); 0 when the key has no limit: then no RateLimit header applies. */
  readonly limit: number;
  /** Whole seconds that an empty bucket takes to fill. */
  readonly windowSeconds: number;
  /** Look-ups left now, whole. */
  readonly remaining: number;
  /** Whole seconds until the bucket is full again, when nothing more is taken. */
  readonly resetSeconds: number;
  /** Whole seconds until the same request can succeed; 0 when it was allowed. */
  readonly retryAfterSeconds: number;
}

/** The limits that hold for a key. Its own come first; its own rate without a burst gives twice that rate. */
export function limitsOf(key: Pick<Key, "rate" | "burst">, defaults: RateDefaults): RateDefaults {
  const rate = key.rate ?? defaults.rate;
  const burst = key.burst ?? (key.rate === undefined ? defaults.burst : Math.max(1, Math.ceil(2 * key.rate)));
  return { rate, burst };
}

/** One key's bucket. It is its own Decision, so that taking allocates nothing. */
class Bucket implements Decision {
  allowed = true;
  limit = 0;
  windowSeconds = 0;
  remaining = 0;
  resetSeconds = 0;
  retryAfterSeconds = 0;

  private key: Key | undefined;
  private perMs = 0;
  private tokens = 0;
  private filledAt = 0;

  /** Takes over the limits of `key`, new or changed; what was already taken stays taken. */
  adopt(key: Key, defaults: RateDefaults, now: number): void {
    const { rate, burst } = limitsOf(key, defaults);
    const isNew = this.key === undefined || this.limit === 0;
    this.key = key;
    this.perMs = rate / 1_000;
    this.limit = rate > 0 ? burst : 0;
    this.windowSeconds = rate > 0 ? Math.ceil(burst / rate) : 0;
    this.tokens = isNew ? this.limit : Math.min(this.tokens, this.limit);
    if (isNew) this.filledAt = now;
    if (this.limit > 0) return;
    this.allowed = true;
    this.remaining = 0;
    this.resetSeconds = 0;
    this.retryAfterSeconds = 0;
  }

  isFor(key: Key): boolean {
    return this.key === key;
  }

  take(now: number, cost: number): void {
    if (this.limit === 0) return;
    const elapsed = now - this.filledAt;
    if (elapsed > 0) this.tokens = Math.min(this.limit, this.tokens + elapsed * this.perMs);
    this.filledAt = now; // also backwards: a bucket that waited for the old time would block for as long
    this.allowed = this.tokens >= cost;
    if (this.allowed) this.tokens -= cost;
    this.remaining = Math.floor(this.tokens);
    this.resetSeconds = this.secondsUntil(this.limit);
    this.retryAfterSeconds = this.allowed ? 0 : Math.max(1, this.secondsUntil(Math.min(cost, this.limit)));
  }

  /** Takes as many whole tokens as there are, `most` at most. */
  takeUpTo(now: number, most: number): number {
    if (this.limit === 0) return most;
    this.take(now, 0);
    const taken = Math.min(most, this.remaining);
    this.take(now, taken);
    return taken;
  }

  private secondsUntil(tokens: number): number {
    return Math.ceil((tokens - this.tokens) / this.perMs / 1_000);
  }
}

/** The buckets of all keys of this process. Each process has its own: n processes allow n times the rate. */
export class Buckets {
  private readonly defaults: RateDefaults;
  private readonly buckets = new Map<string, Bucket>();

  constructor(defaults: RateDefaults = DEFAULT_RATE) {
    this.defaults = defaults;
  }

  /**
   * Takes `cost` look-ups from the key's bucket, or none at all.
   * @param now milliseconds, of any clock that goes on
   * @param cost look-ups of this request; more than the bucket's size is never allowed
   * @returns the same object for each call with this key: read it before the next call
   */
  take(key: Key, now: number, cost = 1): Decision {
    const bucket = this.bucketOf(key, now);
    bucket.take(now, cost);
    return bucket;
  }

  /**
   * Takes as many look-ups as the key's bucket holds, `most` at most.
   * @param now milliseconds, of any clock that goes on
   * @returns how many; `most` when the key has no limit. What is left afterwards: `take(key, now, 0)`
   */
  takeUpTo(key: Key, now: number, most: number): number {
    return this.bucketOf(key, now).takeUpTo(now, most);
  }

  private bucketOf(key: Key, now: number): Bucket {
    let bucket = this.buckets.get(key.id);
    if (bucket === undefined) {
      bucket = new Bucket();
      this.buckets.set(key.id, bucket);
    }
    if (!bucket.isFor(key)) bucket.adopt(key, this.defaults, now);
    return bucket;
  }

  /** Forgets a key that is gone. */
  drop(keyId: string): void {
    this.buckets.delete(keyId);
  }

  /** Number of keys that have a bucket. */
  get size(): number {
    return this.buckets.size;
  }
}
