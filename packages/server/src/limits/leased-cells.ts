// leased-cells.ts: cells that hold what this host has taken in advance from a group's limits (leases/), instead of the
// host's limits. Leases refill them, not time.
//
// Size and counts are the same as in cells.ts. The first word is the balance, in nanoseconds of rate. The next word
// holds this host's share of the quota. The word after the counts holds one more than the lookups of the quota that are
// left elsewhere, up to 10^12. It is 0 before the group's first answer.
//
//   bytes of a cell  0 balance (int64)   8 share of the quota, and a bit that flips each day (int32)
//                    after the counts: left elsewhere, plus 1 (int64)

import type { EpochMs } from "../keys/key.ts";
import { AFTER_COUNTS, CELL_BYTES, type CellIndex, LimitCells } from "./cells.ts";

const WORDS = CELL_BYTES / 8;
const SLOTS = CELL_BYTES / 4;
const SHARE = 2;
/** The maximum share, in lookups. */
export const MAX_SHARE = 2 ** 30 - 1;

export class LeasedCells extends LimitCells {
  override take(cell: CellIndex, _now: EpochMs, wanted: number, whole: number): boolean {
    const at = cell * WORDS;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      const balance = Number(seen);
      const isGiven = wanted <= balance;
      const next = isGiven ? balance - wanted : balance;
      if (next === balance || this.replace(at, seen, next)) {
        this.missing = Math.max(0, whole - next);
        return isGiven;
      }
    }
  }

  override takeUpTo(cell: CellIndex, _now: EpochMs, each: number, most: number, whole: number): number {
    for (;;) {
      const there = Math.min(most, Math.floor(this.balanceOf(cell) / each));
      if (there === 0 || this.take(cell, 0, there * each, whole)) return there;
    }
  }

  /** Nanoseconds of rate that are left in this cell. */
  balanceOf(cell: CellIndex): number {
    return Number(Atomics.load(this.words, cell * WORDS));
  }

  /** Adds a lease, or, if `ns` is negative, removes at most what is left. @returns the new balance */
  addBalance(cell: CellIndex, ns: number): number {
    const at = cell * WORDS;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      const next = Math.max(0, Math.floor(Number(seen) + ns));
      if (this.replace(at, seen, next)) return next;
    }
  }

  override takeQuota(cell: CellIndex, _now: EpochMs, _quota: number, most: number): number {
    const at = cell * SLOTS + SHARE;
    for (;;) {
      const seen = Atomics.load(this.slots, at);
      const taken = Math.min(most, seen >> 1);
      this.chargedDay = seen & 1;
      if (taken === 0 || this.replaceSlot(at, seen, seen - 2 * taken)) return taken;
    }
  }

  override giveQuotaBack(cell: CellIndex, day: number, count: number): void {
    const at = cell * SLOTS + SHARE;
    for (;;) {
      const seen = Atomics.load(this.slots, at);
      if ((seen & 1) !== day) return;
      if (this.replaceSlot(at, seen, 2 * Math.min(MAX_SHARE, (seen >> 1) + count) + day)) return;
    }
  }

  /** Lookups that are left of this host's share of the quota. */
  shareOf(cell: CellIndex): number {
    return Atomics.load(this.slots, cell * SLOTS + SHARE) >> 1;
  }

  /** Adds to the share, or, if `count` is negative, removes at most what is left. @returns the new share */
  addShare(cell: CellIndex, count: number): number {
    const at = cell * SLOTS + SHARE;
    for (;;) {
      const seen = Atomics.load(this.slots, at);
      const next = Math.min(MAX_SHARE, Math.max(0, (seen >> 1) + count));
      if (this.replaceSlot(at, seen, 2 * next + (seen & 1))) return next;
    }
  }

  /** Starts another day. The share remains, but lookups taken from it earlier can no longer be returned. */
  turnDay(cell: CellIndex): void {
    Atomics.xor(this.slots, cell * SLOTS + SHARE, 1);
  }

  /** Stores how many lookups of the quota the group has left, apart from the shares of its hosts. */
  putElsewhere(cell: CellIndex, left: number): void {
    Atomics.store(this.words, cell * WORDS + AFTER_COUNTS, BigInt(left + 1));
  }

  /** Returns 0 before the first answer of the group, because only the group knows what was used. */
  override usedOfQuota(cell: CellIndex, _now: EpochMs, quota = 0): number {
    const stored = Number(Atomics.load(this.words, cell * WORDS + AFTER_COUNTS));
    return stored === 0 ? 0 : Math.max(0, quota - this.shareOf(cell) - (stored - 1));
  }

  /** Does nothing, because the group counts what other hosts use. */
  override chargeQuota(): void {}

  /** Does nothing, because days follow the database's clock. */
  override correctDay(): boolean {
    return false;
  }

  private replaceSlot(at: number, seen: number, next: number): boolean {
    return Atomics.compareExchange(this.slots, at, seen, next) === seen;
  }
}
