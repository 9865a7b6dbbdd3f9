// token-bucket.ts: limits a key's lookups per second and its bursts, with one token bucket per key.
//
// Setting the clock back grants nothing, and blocks no key for more than 5 s longer than an empty bucket would. Cost:
// one Map access and one compare-exchange for a known key: 60 ns with 5,000 keys.

import type { EpochMs, Key, KeyId } from "@inkling/store/keys/key";
import type { CellIndex, LimitCells } from "./cells.ts";
import type { KeyCells } from "./key-cells.ts";

/** The server's defaults, which apply to keys that set no limits. */
export interface RateDefaults {
  /** Lookups per second for each key; 0 means no limit. */
  readonly rate: number;
  /** Burst size in lookups. */
  readonly burst: number;
}

/**
 * Returns the limits that apply to a key. Its own limits take precedence. A key with its own rate but no burst may
 * burst to twice its rate.
 */
export function limitsOf(key: Pick<Key, "rate" | "burst">, defaults: RateDefaults): RateDefaults {
  const rate = key.rate ?? defaults.rate;
  const burst = key.burst ?? (key.rate === undefined ? defaults.burst : Math.max(1, Math.ceil(2 * key.rate)));
  return { rate, burst };
}

const NS_PER_SECOND = 1e9;
/**
 * 36 years in nanoseconds, because cells hold 64 bits. A bucket that takes longer to fill counts as if it took this
 * long.
 */
const MAX_NS = 2 ** 60;

/** Nanoseconds per token, rounded up. The effective rate may therefore be slightly lower. 0 means no limit. */
export const eachOf = (rate: number) => (rate > 0 ? Math.min(MAX_NS, Math.ceil(NS_PER_SECOND / rate)) : 0);

/** One key's bucket. It is its own RateState, so that taking creates no object. */
class Bucket {
  allowed = true;
  /**
   * Burst size in lookups (the bucket's size); 0 if the key has no limit or no cell, in which case no RateLimit header
   * applies.
   */
  limit = 0;
  /** Whole seconds that an empty bucket takes to fill. */
  windowSeconds = 0;
  /** Whole lookups that are left. */
  remaining = 0;
  /** Whole seconds until the bucket is full again if nothing more is taken. */
  resetSeconds = 0;
  /** Whole seconds until the same request can succeed, if it fits into the bucket; 0 if it was allowed. */
  retryAfterSeconds = 0;

  private readonly key: Key;
  private readonly cell: CellIndex;
  private readonly each: number;
  private readonly whole: number;

  /** @param cell undefined if the key has none; nothing is then granted, because other threads could not count it */
  constructor(key: Key, cell: CellIndex | undefined, { rate, burst }: RateDefaults) {
    this.key = key;
    this.cell = cell ?? 0; // not used without a cell, because the limit is then 0
    this.allowed = cell !== undefined;
    this.each = eachOf(rate);
    this.whole = Math.min(MAX_NS, burst * this.each);
    this.limit = rate > 0 && cell !== undefined ? burst : 0;
    if (cell === undefined) this.retryAfterSeconds = 1;
    this.windowSeconds = rate > 0 ? Math.ceil(Math.min(MAX_NS / NS_PER_SECOND, burst / rate)) : 0;
  }

  isFor(key: Key): boolean {
    return this.key === key;
  }

  take(cells: LimitCells, now: EpochMs, cost: number): void {
    if (this.limit === 0) return;
    const wanted = cost * this.each;
    this.allowed = cells.take(this.cell, now, this.each, cost, this.whole);
    const { missing } = cells;
    this.remaining = Math.max(0, Math.floor((this.whole - missing) / this.each));
    this.resetSeconds = Math.ceil(missing / NS_PER_SECOND);
    this.retryAfterSeconds = this.allowed ? 0 : this.secondsUntil(Math.min(wanted, this.whole), missing);
  }

  /** Takes as many whole tokens as are left, but at most `most`. */
  takeUpTo(cells: LimitCells, now: EpochMs, most: number): number {
    if (this.limit === 0) return this.allowed ? most : 0;
    return cells.takeUpTo(this.cell, now, this.each, most, this.whole);
  }

  private secondsUntil(wanted: number, missing: number): number {
    return Math.max(1, Math.ceil((missing + wanted - this.whole) / NS_PER_SECOND));
  }
}

/** What {@link Buckets.take} decided. */
export type RateState = Readonly<
  Pick<Bucket, "allowed" | "limit" | "windowSeconds" | "remaining" | "resetSeconds" | "retryAfterSeconds">
>;

const MAX_BUCKETS = 10_000;

/** The buckets of the keys in use. */
export class Buckets {
  private readonly defaults: RateDefaults;
  private readonly keyCells: Pick<KeyCells, "cells" | "cellOf">;
  private readonly buckets = new Map<KeyId, Bucket>();

  constructor(defaults: RateDefaults, keyCells: Pick<KeyCells, "cells" | "cellOf">) {
    this.defaults = defaults;
    this.keyCells = keyCells;
  }

  /**
   * Takes `cost` lookups from the key's bucket, or none at all.
   * @param cost lookups of this request; more than the bucket's size is never allowed
   * @returns the same object for each call with this key: read it before the next call
   */
  take(key: Key, now: EpochMs, cost = 1): RateState {
    const bucket = this.bucketOf(key);
    bucket.take(this.keyCells.cells, now, cost);
    return bucket;
  }

  /**
   * Takes as many lookups as the key's bucket holds, up to `most`. Call `take(key, now, 0)` to read what is left
   * afterwards.
   * @returns how many were taken; `most` if the key has no limit
   */
  takeUpTo(key: Key, now: EpochMs, most: number): number {
    return this.bucketOf(key).takeUpTo(this.keyCells.cells, now, most);
  }

  private bucketOf(key: Key): Bucket {
    const known = this.buckets.get(key.id);
    if (known?.isFor(key)) return known;
    const cell = this.keyCells.cellOf(key.id);
    const made = new Bucket(key, cell, limitsOf(key, this.defaults));
    if (this.buckets.size >= MAX_BUCKETS) this.buckets.clear(); // what was taken is in the cells
    if (cell !== undefined) this.buckets.set(key.id, made); // without a cell, the key may get one later
    return made;
  }

  /** Returns the limits that currently apply to a key. */
  limitsOf(key: Key): RateDefaults {
    return limitsOf(key, this.defaults);
  }

  /** Call this after keys or cells were replaced. */
  clear(): void {
    this.buckets.clear();
  }

  /** Number of keys that have a bucket. */
  get size(): number {
    return this.buckets.size;
  }
}
