// cells.ts: keeps each key's rate, quota and usage, in memory that all threads share.
//
// Checking and taking are one step, so no two threads get the same token. Setting the clock back grants nothing, and
// blocks no key for more than 5 s longer than an empty bucket would, unless the key owes what other hosts took. Cost:
// taking tokens takes 43 ns (one 64-bit compare-exchange); counting a lookup takes 5 ns.
//
// A bucket is a single number: the time at which it will be full again (the theoretical arrival time of the generic
// cell rate algorithm). Taking tokens moves this time forward. Its distance from now is how much the bucket lacks.
// Within t seconds, all threads together get at most burst + rate * t tokens. Times are nanoseconds since `base`,
// which a double represents exactly for the first 104 days.
//
// `charge` moves a bucket beyond empty: what other hosts took is a debt, which may exceed the burst. It is stored, so
// that it is not mistaken for a clock that was set back.
//
//   bytes of a cell  0 full at (int64, 0 = never used)   8 the quota's day and count (int64)
//                    16 the time up to which the bucket may lawfully be ahead because of a debt (int64)
//                    24 tokens taken so far (uint32)   28 unused
//                    32 for each of COUNTED, lookups first: on even days, on odd days (uint32 each)
//
// Whoever uses a cell also sets its mark, one of a fixed number of bits. The primary reads and clears the marks, and
// then looks only at cells in use, however many keys there are.
//
// The memory grows in blocks, which are never copied. One block for a million keys would cost no memory either, because
// the system provides a page when it is first touched. But the runtime counts all of a block as memory in use, and with
// 200 MB in use it lets 200 MB of garbage pile up between two collections.

import { DAY_MS } from "@inkling/store/keys/day";
import { COUNTED, type Counted, type EpochMs } from "@inkling/store/keys/key";

export type CellIndex = number & { readonly of?: "cell" };

const FULL_AT = 0;
const QUOTA = 1;
const DEBT_UNTIL = 2;
const TAKEN = 6;
const FIRST_COUNT = 8;
export const CELL_COUNTS = 2 * COUNTED.length;
const CACHE_LINE = 64;
/** Bytes of a cell: whole cache lines, three with today's counts. */
const CELL_BYTES = Math.ceil((4 * (FIRST_COUNT + CELL_COUNTS)) / CACHE_LINE) * CACHE_LINE;
/** Number of marks. Cells beyond this number share the marks of earlier cells. */
const MARKS = 2 ** 19;
const MARKS_BYTES = MARKS / 8;

const WORDS = CELL_BYTES / 8;
const SLOTS = CELL_BYTES / 4;
const BLOCK_BITS = 12;
const BLOCK_CELLS = 2 ** BLOCK_BITS;
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

/** The memory of cells, as threads share it. */
export interface SharedCells {
  readonly base: EpochMs;
  readonly marks: SharedArrayBuffer;
  /** BLOCK_CELLS cells each. */
  readonly blocks: readonly SharedArrayBuffer[];
}

export class LimitCells {
  /** How much the bucket of the last call lacks, in nanoseconds of rate. */
  missing = 0;
  /** The day from whose quota the last `takeQuota` took. It can differ from the day of the given time, see `today`. */
  chargedDay = 0;
  private readonly base: EpochMs;
  private readonly marks: Int32Array;
  private readonly blocks: SharedArrayBuffer[] = [];
  /** The blocks, as words and as slots. */
  private readonly words: BigInt64Array[] = [];
  private readonly slots: Int32Array[] = [];

  /** @param shared the cells of another thread; by default there are none yet */
  constructor(base: EpochMs, shared?: SharedCells) {
    this.base = base;
    this.marks = new Int32Array(shared?.marks ?? new SharedArrayBuffer(MARKS_BYTES));
    if (shared) this.add(shared.blocks);
  }

  get size(): number {
    return BLOCK_CELLS * this.blocks.length;
  }

  get shared(): SharedCells {
    const { base, marks, blocks } = this;
    return { base, marks: marks.buffer as SharedArrayBuffer, blocks };
  }

  /** Makes room for more cells. Only the primary calls it. */
  grow(): void {
    this.add([new SharedArrayBuffer(BLOCK_CELLS * CELL_BYTES)]);
  }

  /** Adds blocks that the primary has made. */
  add(blocks: SharedCells["blocks"]): void {
    for (const block of blocks) {
      this.blocks.push(block);
      this.words.push(new BigInt64Array(block));
      this.slots.push(new Int32Array(block));
    }
  }

  private wordsOf(cell: CellIndex): BigInt64Array {
    return this.words[cell >> BLOCK_BITS]!; // a cell is within a block
  }

  private slotsOf(cell: CellIndex): Int32Array {
    return this.slots[cell >> BLOCK_BITS]!; // a cell is within a block
  }

  /**
   * Takes all requested tokens from a bucket, or none.
   * @param each nanoseconds that it takes to gain one token at this rate
   * @param whole nanoseconds that an empty bucket takes to fill
   */
  take(cell: CellIndex, now: EpochMs, each: number, tokens: number, whole: number): boolean {
    const words = this.wordsOf(cell);
    const at = wordAt(cell, FULL_AT);
    const time = this.timeOf(now);
    const wanted = tokens * each;
    for (;;) {
      const seen = Atomics.load(words, at);
      const ahead = seen === 0n ? 0 : Math.max(0, Number(seen) - time);
      const isOdd = ahead > whole + SLACK_NS && !this.isOwed(cell, seen);
      const missing = isOdd ? whole : ahead;
      const isGiven = missing + wanted <= whole;
      const next = isGiven ? missing + wanted : missing;
      if (next !== ahead && !replace(words, at, seen, usedTime(time + next))) continue;
      this.missing = next;
      if (tokens === 0) return isGiven;
      if (isGiven) Atomics.add(this.slotsOf(cell), slotAt(cell, TAKEN), tokens);
      this.mark(cell);
      return isGiven;
    }
  }

  /**
   * Takes as many tokens as are left, but at most `most`.
   * @param each nanoseconds that it takes to gain one token at this rate
   * @returns how many were taken
   */
  takeUpTo(cell: CellIndex, now: EpochMs, each: number, most: number, whole: number): number {
    for (;;) {
      this.take(cell, now, each, 0, whole);
      const there = Math.min(most, Math.max(0, Math.floor((whole - this.missing) / each)));
      if (there === 0) {
        if (most > 0) this.mark(cell); // the refused key is in use
        return 0;
      }
      // If another thread was faster, fewer tokens are left, and the loop repeats.
      if (this.take(cell, now, each, there, whole)) return there;
    }
  }

  /** Tokens that were taken from the bucket so far, modulo 2^32. */
  takenFrom(cell: CellIndex): number {
    return Atomics.load(this.slotsOf(cell), slotAt(cell, TAKEN)) >>> 0;
  }

  /** The time at which the bucket is full, in nanoseconds since the base; at least `now`. */
  fullAt(cell: CellIndex, now: EpochMs): number {
    return Math.max(this.timeOf(now), Number(Atomics.load(this.wordsOf(cell), wordAt(cell, FULL_AT))));
  }

  /** What the bucket lacks, in nanoseconds of rate. */
  lackOf(cell: CellIndex, now: EpochMs): number {
    return this.fullAt(cell, now) - this.timeOf(now);
  }

  /** Charges a bucket with what other hosts took, even beyond empty. @param owed in nanoseconds of rate */
  charge(cell: CellIndex, now: EpochMs, owed: number): void {
    const words = this.wordsOf(cell);
    const at = wordAt(cell, FULL_AT);
    for (;;) {
      const seen = Atomics.load(words, at);
      const fullAt = usedTime(Math.max(this.timeOf(now), Number(seen)) + Math.ceil(owed));
      // stored first, so that no other thread mistakes the debt for a clock that was set back
      Atomics.store(words, wordAt(cell, DEBT_UNTIL), BigInt(fullAt));
      if (replace(words, at, seen, fullAt)) return;
    }
  }

  /** From now on, the bucket lacks at most its size. Call it if the clock was set back, or the key's limits changed. */
  forgiveDebt(cell: CellIndex): void {
    Atomics.store(this.wordsOf(cell), wordAt(cell, DEBT_UNTIL), 0n);
  }

  private isOwed(cell: CellIndex, fullAt: bigint): boolean {
    return fullAt <= Atomics.load(this.wordsOf(cell), wordAt(cell, DEBT_UNTIL));
  }

  private timeOf(now: EpochMs): number {
    return Math.floor((now - this.base) * NS);
  }

  /** Marks the cell as used. Call it after the use, so that whoever clears the mark sees the use. */
  private mark(cell: CellIndex): void {
    const at = (cell & (MARKS - 1)) >> 5;
    const bit = 1 << (cell & 31);
    if ((Atomics.load(this.marks, at) & bit) === 0) Atomics.or(this.marks, at, bit);
  }

  /** Clears all marks. @param use called for each cell below `size` that was marked */
  clearMarks(size: number, use: (cell: CellIndex) => void): void {
    const words = Math.min(this.marks.length, (size + 31) >> 5);
    for (let at = 0; at < words; at++) {
      if (Atomics.load(this.marks, at) === 0) continue;
      const bits = Atomics.exchange(this.marks, at, 0);
      for (let bit = 0; bit < 32; bit++) {
        if ((bits & (1 << bit)) === 0) continue;
        for (let cell = 32 * at + bit; cell < size; cell += MARKS) use(cell);
      }
    }
  }

  /**
   * Takes up to `most` lookups from a day's quota.
   * @returns how many were taken
   */
  takeQuota(cell: CellIndex, now: EpochMs, quota: number, most: number): number {
    const words = this.wordsOf(cell);
    const at = wordAt(cell, QUOTA);
    for (;;) {
      const seen = Atomics.load(words, at);
      const today = this.today(Number(seen), now);
      const taken = Math.min(most, Math.max(0, quota - countOf(today)));
      this.chargedDay = dayOf(today);
      if (taken === 0 || replace(words, at, seen, today + taken)) return taken;
    }
  }

  /**
   * Returns unused lookups to the quota of the day from which they were taken. Does nothing if that day is over.
   * @param day `chargedDay` after `takeQuota`
   */
  giveQuotaBack(cell: CellIndex, day: number, count: number): void {
    const words = this.wordsOf(cell);
    const at = wordAt(cell, QUOTA);
    for (;;) {
      const seen = Atomics.load(words, at);
      const stored = Number(seen);
      if (dayOf(stored) !== day) return;
      if (replace(words, at, seen, stored - Math.min(count, countOf(stored)))) return;
    }
  }

  /** Adds lookups that other hosts have used. */
  chargeQuota(cell: CellIndex, now: EpochMs, count: number): void {
    const words = this.wordsOf(cell);
    const at = wordAt(cell, QUOTA);
    for (;;) {
      const seen = Atomics.load(words, at);
      if (replace(words, at, seen, this.today(Number(seen), now) + count)) return;
    }
  }

  /** Returns true if a request has already started the day after the day of `now`. */
  isDayAfter(cell: CellIndex, now: EpochMs): boolean {
    const stored = Number(Atomics.load(this.wordsOf(cell), wordAt(cell, QUOTA)));
    return dayOf(stored) === dayTag(now + DAY_MS);
  }

  /** Returns the lookups that were taken from this day's quota. */
  usedOfQuota(cell: CellIndex, now: EpochMs): number {
    return countOf(this.today(Number(Atomics.load(this.wordsOf(cell), wordAt(cell, QUOTA))), now));
  }

  /** Counts lookups or refusals. */
  count(cell: CellIndex, counted: Counted, now: EpochMs, count: number): void {
    const isOdd = Math.floor(now / DAY_MS) & 1;
    Atomics.add(this.slotsOf(cell), slotAt(cell, FIRST_COUNT) + 2 * COUNTED.indexOf(counted) + isOdd, count);
    this.mark(cell);
  }

  /** Reads all counts of a cell. {@link countedAt} explains their meaning. */
  readCounts(cell: CellIndex, into: CellCounts): void {
    const slots = this.slotsOf(cell);
    const at = slotAt(cell, FIRST_COUNT);
    for (let i = 0; i < CELL_COUNTS; i++) into[i] = Atomics.load(slots, at + i);
  }

  /** Resets a cell. No thread may use the cell at the same time. */
  clear(cell: CellIndex): void {
    this.wordsOf(cell).fill(0n, wordAt(cell, 0), wordAt(cell, WORDS));
  }

  /**
   * Returns the day and count that apply. A request that started before midnight may arrive after another request has
   * started the next day. It then counts towards the next day. Any other stored day is over, or the clock was wrong.
   */
  private today(stored: number, now: EpochMs): number {
    const day = dayTag(now);
    const known = dayOf(stored);
    return known === day || known === dayTag(now + DAY_SLACK_MS) ? stored : quotaWord(day, 0);
  }
}

/** The index of a cell's word in the cell's block. */
const wordAt = (cell: CellIndex, word: number) => (cell & (BLOCK_CELLS - 1)) * WORDS + word;
const slotAt = (cell: CellIndex, slot: number) => (cell & (BLOCK_CELLS - 1)) * SLOTS + slot;

const replace = (words: BigInt64Array, at: number, seen: bigint, next: number) =>
  Atomics.compareExchange(words, at, seen, BigInt(next)) === seen;

/** 0 means never used. */
const usedTime = (time: number) => (time === 0 ? 1 : time);

/** Combines a quota's day and count into one number. */
const quotaWord = (day: number, count: number) => day * DAY_UNIT + count;
const dayOf = (word: number) => Math.floor(word / DAY_UNIT);
const countOf = (word: number) => word % DAY_UNIT;

/** Returns the UTC day of a time, modulo DAYS. Also works for times before 1970. */
function dayTag(time: EpochMs): number {
  return Math.floor(time / DAY_MS) & (DAYS - 1);
}
