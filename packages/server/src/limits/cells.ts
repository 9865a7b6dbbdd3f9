// cells.ts: keeps each key's rate, quota and usage, in memory that several processes may share.
//
// in   a key's cell; the current time; the requested amount
// out  whether that much was available. Checking and taking are one step, so no two processes get the same token.
// err  none; setting the clock back grants nothing, and blocks no key for more than 5 s longer than an empty bucket
//      would (quotas: `correctDay`)
// cost taking tokens takes 43 ns (one 64-bit compare-exchange); counting a lookup takes 5 ns
//
// A bucket is a single number: the time at which it will be full again (the theoretical arrival time of the generic
// cell rate algorithm). Taking tokens moves this time forward. Its distance from now is how much the bucket lacks.
// Within t seconds, all processes together get at most burst + rate * t tokens. Times are nanoseconds since `base`,
// which a double represents exactly for the first 104 days.
//
//   bytes of a cell  0 full at (int64, 0 = never used)   8 the quota's day and count (int64)
//                    16 for each of COUNTED, lookups first: on even days, on odd days (uint32 each)
//                    after the counts a word for leased-cells.ts (int64)

import { DAY_MS } from "../keys/day.ts";
import { COUNTED, type Counted, type EpochMs } from "../keys/key.ts";

/** Index of a cell in the memory. */
export type CellIndex = number & { readonly of?: "cell" };

const FULL_AT = 0;
const QUOTA = 1;
const FIRST_COUNT = 4;
export const CELL_COUNTS = 2 * COUNTED.length;
/** Index of the 64-bit word after the counts, within a cell. */
export const AFTER_COUNTS = Math.ceil((FIRST_COUNT + CELL_COUNTS) / 2);
const CACHE_LINE = 64;
/**
 * Bytes of a cell: whole cache lines, three with today's counts. A single lookup touches the first line, and a second
 * line only if its answer sets a flag.
 */
export const CELL_BYTES = Math.ceil((8 * (AFTER_COUNTS + 1)) / CACHE_LINE) * CACHE_LINE;

const WORDS = CELL_BYTES / 8;
const SLOTS = CELL_BYTES / 4;
const NS = 1e6;
/** If a bucket lacks this much more than its size, the clock was set back, or the key's limits were changed. */
const SLACK_NS = 5e9;
/** A clock reading may be used for at most this many milliseconds. */
const DAY_SLACK_MS = 5_000;
/** Larger than any quota (10^12). */
const DAY_UNIT = 2 ** 40;
/**
 * Days are counted modulo this number, about 22 years. Day and count then fit exactly into a double, whatever the clock
 * shows.
 */
const DAYS = 2 ** 13;

/** Counts of one key since it got its cell, modulo 2^32. Even and odd days are counted separately. */
type CellCounts = Uint32Array;

/** Returns what an index of {@link CellCounts} counts. */
export function countedAt(index: number): { readonly counted: Counted; readonly isOdd: boolean } {
  return { counted: COUNTED[index >> 1]!, isOdd: (index & 1) === 1 };
}

export class LimitCells {
  /** How much the bucket of the last call lacks, in nanoseconds of rate. */
  missing = 0;
  /** The day from whose quota the last `takeQuota` took. It can differ from the day of the given time, see `today`. */
  chargedDay = 0;
  protected readonly words: BigInt64Array;
  protected readonly slots: Int32Array;
  private readonly base: EpochMs;

  /**
   * @param memory room for the cells, initially zero
   * @param base the base time, the same in all processes that share the memory
   */
  constructor(memory: Uint8Array<ArrayBuffer>, base: EpochMs) {
    this.words = new BigInt64Array(memory.buffer, memory.byteOffset, memory.byteLength >> 3);
    this.slots = new Int32Array(memory.buffer, memory.byteOffset, memory.byteLength >> 2);
    this.base = base;
  }

  /** Number of cells. */
  get size(): number {
    return this.words.length / WORDS;
  }

  /**
   * Takes the whole requested amount from a bucket, or nothing.
   * @param wanted the requested amount, in nanoseconds of rate
   * @param whole nanoseconds that an empty bucket takes to fill
   */
  take(cell: CellIndex, now: EpochMs, wanted: number, whole: number): boolean {
    const at = cell * WORDS + FULL_AT;
    const time = Math.floor((now - this.base) * NS);
    for (;;) {
      const seen = Atomics.load(this.words, at);
      const ahead = seen === 0n ? 0 : Math.max(0, Number(seen) - time);
      const isOdd = ahead > whole + SLACK_NS;
      const missing = isOdd ? whole : ahead;
      const isGiven = missing + wanted <= whole;
      const next = isGiven ? missing + wanted : missing;
      const fullAt = time + next === 0 ? 1 : time + next; // 0 means never used
      if (next === ahead || this.replace(at, seen, fullAt)) {
        this.missing = next;
        return isGiven;
      }
    }
  }

  /**
   * Takes as many tokens as are left, but at most `most`.
   * @param each nanoseconds that it takes to gain one token at this rate
   * @returns how many were taken
   */
  takeUpTo(cell: CellIndex, now: EpochMs, each: number, most: number, whole: number): number {
    for (;;) {
      this.take(cell, now, 0, whole);
      const there = Math.min(most, Math.max(0, Math.floor((whole - this.missing) / each)));
      // If another process was faster, fewer tokens are left, and the loop repeats.
      if (there === 0 || this.take(cell, now, there * each, whole)) return there;
    }
  }

  /**
   * Takes up to `most` lookups from a day's quota.
   * @returns how many were taken
   */
  takeQuota(cell: CellIndex, now: EpochMs, quota: number, most: number): number {
    const at = cell * WORDS + QUOTA;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      const today = this.today(Number(seen), now);
      const taken = Math.min(most, Math.max(0, quota - countOf(today)));
      this.chargedDay = dayOf(today);
      if (taken === 0 || this.replace(at, seen, today + taken)) return taken;
    }
  }

  /**
   * Returns unused lookups to the quota of the day from which they were taken. Does nothing if that day is over.
   * @param day `chargedDay` after `takeQuota`
   */
  giveQuotaBack(cell: CellIndex, day: number, count: number): void {
    const at = cell * WORDS + QUOTA;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      const stored = Number(seen);
      if (dayOf(stored) !== day) return;
      if (this.replace(at, seen, stored - Math.min(count, countOf(stored)))) return;
    }
  }

  /** Adds lookups that other hosts have used. */
  chargeQuota(cell: CellIndex, now: EpochMs, count: number): void {
    const at = cell * WORDS + QUOTA;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      if (this.replace(at, seen, this.today(Number(seen), now) + count)) return;
    }
  }

  /**
   * Moves the cell back to the day of `now` if it is on a later day because the clock was ahead. Only one caller may do
   * this, with a time that it has already read. Requests that started before midnight must not use it.
   * @param used lookups of the quota that were used on this day
   * @returns whether the day was changed
   */
  correctDay(cell: CellIndex, now: EpochMs, used: number): boolean {
    const at = cell * WORDS + QUOTA;
    const seen = Atomics.load(this.words, at);
    // Another process may have started the next day after `now` was read.
    if (!isLater(Number(seen), now) || dayTag(now + DAY_SLACK_MS) !== dayTag(now)) return false;
    return this.replace(at, seen, quotaWord(dayTag(now), used));
  }

  /** Returns true if a request has already started the day after the day of `now`. */
  isDayAfter(cell: CellIndex, now: EpochMs): boolean {
    const stored = Number(Atomics.load(this.words, cell * WORDS + QUOTA));
    return dayOf(stored) === dayTag(now + DAY_MS);
  }

  /** Returns the lookups that were taken from this day's quota. */
  usedOfQuota(cell: CellIndex, now: EpochMs, _quota?: number): number {
    return countOf(this.today(Number(Atomics.load(this.words, cell * WORDS + QUOTA)), now));
  }

  /** Counts lookups or refusals. */
  count(cell: CellIndex, counted: Counted, now: EpochMs, count: number): void {
    const isOdd = Math.floor(now / DAY_MS) & 1;
    Atomics.add(this.slots, slotOf(cell) + 2 * COUNTED.indexOf(counted) + isOdd, count);
  }

  /** Reads all counts of a cell. {@link countedAt} explains their meaning. */
  readCounts(cell: CellIndex, into: CellCounts): void {
    for (let i = 0; i < CELL_COUNTS; i++) into[i] = Atomics.load(this.slots, slotOf(cell) + i);
  }

  /** Resets a cell. No process may use the cell at the same time. */
  clear(cell: CellIndex): void {
    this.words.fill(0n, cell * WORDS, (cell + 1) * WORDS);
  }

  /**
   * Returns the day and count that apply. A request that started before midnight may arrive after another request has
   * started the next day. It then counts towards the next day. The same applies if the clock was days ahead, because
   * setting a clock back must not restart a quota. Any other stored day is over.
   */
  private today(stored: number, now: EpochMs): number {
    const day = dayTag(now);
    return dayOf(stored) === day || isLater(stored, now) ? stored : quotaWord(day, 0);
  }

  protected replace(at: number, seen: bigint, next: number): boolean {
    return Atomics.compareExchange(this.words, at, seen, BigInt(next)) === seen;
  }
}

/** Combines a quota's day and count into one number. */
const quotaWord = (day: number, count: number) => day * DAY_UNIT + count;
const dayOf = (word: number) => Math.floor(word / DAY_UNIT);
const countOf = (word: number) => word % DAY_UNIT;

/**
 * Returns true if the stored day is later than the day of `now`, by less than half of DAYS. Returns false for a quota
 * that was never used.
 */
function isLater(stored: number, now: EpochMs): boolean {
  const ahead = (dayOf(stored) - dayTag(now)) & (DAYS - 1);
  return stored !== 0 && ahead > 0 && ahead < DAYS / 2;
}

/** Returns the UTC day of a time, modulo DAYS. Also works for times before 1970. */
function dayTag(time: EpochMs): number {
  return Math.floor(time / DAY_MS) & (DAYS - 1);
}

function slotOf(cell: CellIndex): number {
  return cell * SLOTS + FIRST_COUNT;
}
