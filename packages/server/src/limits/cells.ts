// cells.ts: rate, quota and usage of each key, in memory that several processes may share.
//
// in   a key's cell; the time; how much is requested
// out  whether there is that much, taken in the same step: no two processes get the same token
// err  none; a clock that is set back grants nothing, and blocks no key for longer than an empty bucket takes to fill
//      (quotas: `correctDay`)
// cost 43 ns for a token (a compare-exchange of 64 bits), 5 ns to count a lookup
//
// A bucket is one number, the time at which it will be full again (the generic cell rate algorithm's theoretical arrival
// time): taking moves it on, and its distance from now is what is missing. Within t seconds at most burst + rate * t are
// given out, to all processes together. Times are nanoseconds since `base`: exact in a double for the first 104 days.
//
//   bytes of a cell  0 full at (int64, 0 = never used)   8 day and count of the quota (int64)
//                    16 for each of COUNTED, lookups first: on even days, on odd days (uint32 each)   104 not used

import { DAY_MS } from "../keys/day.ts";
import { COUNTED, type Counted, type EpochMs } from "../keys/key.ts";

/** Number of a cell in the memory. */
export type CellIndex = number & { readonly of?: "cell" };

/** Two cache lines: a single lookup touches the first only. */
export const CELL_BYTES = 128;

const WORDS = CELL_BYTES / 8;
const SLOTS = CELL_BYTES / 4;
const FULL_AT = 0;
const QUOTA = 1;
const FIRST_COUNT = 4;
const NS = 1e6;
/** Further ahead than an empty bucket by this much: the clock was set back, or the key's limits were changed. */
const SLACK_NS = 5e9;
/** A time that was read so long ago may still be used. */
const DAY_SLACK_MS = 5_000;
/** More than any quota (a million millions). */
const DAY_UNIT = 2 ** 40;
/** Days are counted modulo this many, 22 years: with the count they are exact in a double, whatever the clock says. */
const DAYS = 2 ** 13;

/** Counts of one key since the cells were made, modulo 2^32; even and odd days apart. */
type CellCounts = Uint32Array;
export const CELL_COUNTS = 2 * COUNTED.length;

/** What {@link CellCounts} holds at an index. */
export function countedAt(index: number): { readonly counted: Counted; readonly isOdd: boolean } {
  return { counted: COUNTED[index >> 1]!, isOdd: (index & 1) === 1 };
}

export class LimitCells {
  /** What the bucket of the last call lacks, in ns. */
  missing = 0;
  /** The day that the last `takeQuota` took from: not always that of its time, see `today`. */
  chargedDay = 0;
  protected readonly words: BigInt64Array;
  protected readonly slots: Int32Array;
  private readonly base: EpochMs;

  /**
   * @param memory as many cells as fit; zeroes at first
   * @param base the same in all processes that share the memory
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
   * Takes from a bucket, or nothing at all.
   * @param wanted ns that the rate takes to give what is requested
   * @param whole ns that an empty bucket takes to fill
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
   * Takes up to the number that is left.
   * @param each ns that the rate takes to give one
   * @returns how many, `most` at most
   */
  takeUpTo(cell: CellIndex, now: EpochMs, each: number, most: number, whole: number): number {
    for (;;) {
      this.take(cell, now, 0, whole);
      const there = Math.min(most, Math.max(0, Math.floor((whole - this.missing) / each)));
      // Others may have been quicker: then there is less.
      if (there === 0 || this.take(cell, now, there * each, whole)) return there;
    }
  }

  /**
   * Takes from a day's quota.
   * @returns how many, `most` at most
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
   * Gives back what was taken from the quota and not used, to the day that it was taken from, or not at all.
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

  /** Adds what was used elsewhere. */
  chargeQuota(cell: CellIndex, now: EpochMs, count: number): void {
    const at = cell * WORDS + QUOTA;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      if (this.replace(at, seen, this.today(Number(seen), now) + count)) return;
    }
  }

  /**
   * Begins the day of `now` where the cell has a later one, because the clock was ahead.
   * One caller alone may use it, with a time that it read before; requests that began before midnight may not.
   * @param used of the quota on this day
   * @returns whether it was so
   */
  correctDay(cell: CellIndex, now: EpochMs, used: number): boolean {
    const at = cell * WORDS + QUOTA;
    const seen = Atomics.load(this.words, at);
    // Others may have begun the next day since `now` was read.
    if (!isLater(Number(seen), now) || dayTag(now + DAY_SLACK_MS) !== dayTag(now)) return false;
    return this.replace(at, seen, quotaWord(dayTag(now), used));
  }

  /** Has a request begun the day after that of `now`? */
  isDayAfter(cell: CellIndex, now: EpochMs): boolean {
    const stored = Number(Atomics.load(this.words, cell * WORDS + QUOTA));
    return dayOf(stored) === dayTag(now + DAY_MS);
  }

  /** What was taken from the quota of this day. */
  usedOfQuota(cell: CellIndex, now: EpochMs, _quota?: number): number {
    return countOf(this.today(Number(Atomics.load(this.words, cell * WORDS + QUOTA)), now));
  }

  /** Counts lookups, or refusals. */
  count(cell: CellIndex, counted: Counted, now: EpochMs, count: number): void {
    const isOdd = Math.floor(now / DAY_MS) & 1;
    Atomics.add(this.slots, slotOf(cell) + 2 * COUNTED.indexOf(counted) + isOdd, count);
  }

  /** Reads all counts of a cell; {@link countedAt} has their meaning. */
  readCounts(cell: CellIndex, into: CellCounts): void {
    for (let i = 0; i < CELL_COUNTS; i++) into[i] = Atomics.load(this.slots, slotOf(cell) + i);
  }

  /** Makes a cell as new; no process may use it meanwhile. */
  clear(cell: CellIndex): void {
    this.words.fill(0n, cell * WORDS, (cell + 1) * WORDS);
  }

  /**
   * The day and the count that apply. A request that began before midnight may come after others have begun the next day: it
   * counts there. So it does where the clock was ahead for days: a quota does not begin again because a clock was set back.
   * Any other day is over.
   */
  private today(stored: number, now: EpochMs): number {
    const day = dayTag(now);
    return dayOf(stored) === day || isLater(stored, now) ? stored : quotaWord(day, 0);
  }

  protected replace(at: number, seen: bigint, next: number): boolean {
    return Atomics.compareExchange(this.words, at, seen, BigInt(next)) === seen;
  }
}

/** Day and count of a quota as one number. */
const quotaWord = (day: number, count: number) => day * DAY_UNIT + count;
const dayOf = (word: number) => Math.floor(word / DAY_UNIT);
const countOf = (word: number) => word % DAY_UNIT;

/** Is the stored day, of which something was used, a later one than that of `now`? At most half of DAYS later. */
function isLater(stored: number, now: EpochMs): boolean {
  const ahead = (dayOf(stored) - dayTag(now)) & (DAYS - 1);
  return stored !== 0 && ahead > 0 && ahead < DAYS / 2;
}

/** The UTC day of a time, modulo DAYS; also of a time before 1970. */
function dayTag(time: EpochMs): number {
  return Math.floor(time / DAY_MS) & (DAYS - 1);
}

function slotOf(cell: CellIndex): number {
  return cell * SLOTS + FIRST_COUNT;
}
