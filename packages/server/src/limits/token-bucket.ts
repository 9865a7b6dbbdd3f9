// token-bucket.ts: how many lookups a key may make at once and per second: one token bucket for each key.
//
// in   a key, the time, how many lookups are requested
// out  whether it may, and the numbers of the RateLimit headers
// err  none: a clock that goes backwards grants nothing and blocks no key
// cost one Map access and one compare-exchange for a key seen before: 60 ns with 5,000 keys

import type { EpochMs, Key, KeyId } from "../keys/key.ts";
import type { CellIndex, LimitCells } from "./cells.ts";
import type { KeyCells } from "./key-cells.ts";

/** The server's defaults for keys that have no own limits. */
export interface RateDefaults {
  /** Lookups per second and key; 0 = no limit. */
  readonly rate: number;
  /** Lookups at once. */
  readonly burst: number;
}

/** What {@link Buckets.take} decided. */
export interface Decision {
  readonly allowed: boolean;
  /** Lookups at once (the bucket's size); 0 when the key has no limit: then no RateLimit header applies. */
  readonly limit: number;
  /** Whole seconds that an empty bucket takes to fill. */
  readonly windowSeconds: number;
  /** Lookups left now, whole. */
  readonly remaining: number;
  /** Whole seconds until the bucket is full again, when nothing more is taken. */
  readonly resetSeconds: number;
  /** Whole seconds until the same request can succeed; 0 when it was allowed. */
  readonly retryAfterSeconds: number;
}

/** The limits that hold for a key. Its own come first; its own rate without a burst allows twice that rate. */
export function limitsOf(key: Pick<Key, "rate" | "burst">, defaults: RateDefaults): RateDefaults {
  const rate = key.rate ?? defaults.rate;
  const burst = key.burst ?? (key.rate === undefined ? defaults.burst : Math.max(1, Math.ceil(2 * key.rate)));
  return { rate, burst };
}

const NS_PER_SECOND = 1e9;
/** 36 years: a bucket that takes longer to fill counts as one of that time, for cells hold 64 bits. */
const MAX_NS = 2 ** 60;

/** One key's bucket. It is its own Decision, so that taking makes no object. */
class Bucket implements Decision {
  allowed = true;
  limit = 0;
  windowSeconds = 0;
  remaining = 0;
  resetSeconds = 0;
  retryAfterSeconds = 0;

  private readonly key: Key;
  private readonly cell: CellIndex;
  /** Nanoseconds for one token, whole: a rate that does not divide a second is a trace slower. */
  private readonly each: number;
  private readonly whole: number;

  /** @param cell without one nothing is granted: other processes could not count it */
  constructor(key: Key, cell: CellIndex | undefined, { rate, burst }: RateDefaults) {
    this.key = key;
    this.cell = cell ?? 0; // never used without a cell: the limit is 0 then
    this.allowed = cell !== undefined;
    this.each = rate > 0 ? Math.min(MAX_NS, Math.ceil(NS_PER_SECOND / rate)) : 0;
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
    this.allowed = cells.take(this.cell, now, wanted, this.whole);
    const { missing } = cells;
    this.remaining = Math.max(0, Math.floor((this.whole - missing) / this.each));
    this.resetSeconds = Math.ceil(missing / NS_PER_SECOND);
    this.retryAfterSeconds = this.allowed ? 0 : this.secondsUntil(Math.min(wanted, this.whole), missing);
  }

  /** Takes as many whole tokens as there are, `most` at most. */
  takeUpTo(cells: LimitCells, now: EpochMs, most: number): number {
    if (this.limit === 0) return this.allowed ? most : 0;
    return cells.takeUpTo(this.cell, now, this.each, most, this.whole);
  }

  private secondsUntil(wanted: number, missing: number): number {
    return Math.max(1, Math.ceil((missing + wanted - this.whole) / NS_PER_SECOND));
  }
}

/** The buckets of all keys. */
export class Buckets {
  private defaults: RateDefaults;
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
  take(key: Key, now: EpochMs, cost = 1): Decision {
    const bucket = this.bucketOf(key);
    bucket.take(this.keyCells.cells, now, cost);
    return bucket;
  }

  /**
   * Takes as many lookups as the key's bucket holds, `most` at most.
   * @returns how many; `most` when the key has no limit. What is left afterwards: `take(key, now, 0)`
   */
  takeUpTo(key: Key, now: EpochMs, most: number): number {
    return this.bucketOf(key).takeUpTo(this.keyCells.cells, now, most);
  }

  private bucketOf(key: Key): Bucket {
    const known = this.buckets.get(key.id);
    if (known?.isFor(key)) return known;
    const cell = this.keyCells.cellOf(key.id);
    const made = new Bucket(key, cell, limitsOf(key, this.defaults));
    if (cell !== undefined) this.buckets.set(key.id, made); // otherwise it may get one later
    return made;
  }

  /** What a key may do now. */
  limitsOf(key: Key): RateDefaults {
    return limitsOf(key, this.defaults);
  }

  /** What was taken remains taken. */
  setDefaults(defaults: RateDefaults): void {
    this.defaults = defaults;
    this.buckets.clear();
  }

  /** Forgets keys that have no cell any more. Call it when cells were replaced. */
  dropGone(): void {
    for (const id of this.buckets.keys()) if (this.keyCells.cellOf(id) === undefined) this.buckets.delete(id);
  }

  /** Number of keys that have a bucket. */
  get size(): number {
    return this.buckets.size;
  }
}
