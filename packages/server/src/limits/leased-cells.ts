// leased-cells.ts: cells that hold what this host has taken in advance from the limits of a group (leases/), instead of
// their own limits: they are refilled by leases, not by time.
//
// The same 128 bytes, with the same counts: the first word is the balance, in ns that the rate takes to give it; the next
// holds this host's share of the quota, and one behind the counts what is left of it elsewhere: up to 10^12.
//
//   bytes of a cell  0 balance (int64)   8 share of the quota, and a bit that each day turns (int32)   88 left elsewhere (int64)

import type { EpochMs } from "../keys/key.ts";
import { CELL_BYTES, type CellIndex, LimitCells } from "./cells.ts";

const WORDS = CELL_BYTES / 8;
const SLOTS = CELL_BYTES / 4;
const SHARE = 2;
const ELSEWHERE = 11;
/** A share is at most so much. */
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

  /** Ns of the rate that are left here. */
  balanceOf(cell: CellIndex): number {
    return Number(Atomics.load(this.words, cell * WORDS));
  }

  /** Adds a lease, or takes some back: no more than there is. @returns what is there now */
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

  /** What is left of the quota's share here. */
  shareOf(cell: CellIndex): number {
    return Atomics.load(this.slots, cell * SLOTS + SHARE) >> 1;
  }

  /** Adds to the share, or takes some back: no more than there is. @returns what is there now */
  addShare(cell: CellIndex, count: number): number {
    const at = cell * SLOTS + SHARE;
    for (;;) {
      const seen = Atomics.load(this.slots, at);
      const next = Math.min(MAX_SHARE, Math.max(0, (seen >> 1) + count));
      if (this.replaceSlot(at, seen, 2 * next + (seen & 1))) return next;
    }
  }

  /** Another day begins: the share remains, and what was taken from it before is not given back any more. */
  turnDay(cell: CellIndex): void {
    Atomics.xor(this.slots, cell * SLOTS + SHARE, 1);
  }

  /** What the group has left beside the shares of its hosts. */
  putElsewhere(cell: CellIndex, left: number): void {
    Atomics.store(this.words, cell * WORDS + ELSEWHERE, BigInt(left));
  }

  override usedOfQuota(cell: CellIndex, _now: EpochMs, quota = 0): number {
    const left = this.shareOf(cell) + Number(Atomics.load(this.words, cell * WORDS + ELSEWHERE));
    return Math.max(0, quota - left);
  }

  /** The group counts what other hosts used. */
  override chargeQuota(): void {}

  /** Days follow the database's clock. */
  override correctDay(): boolean {
    return false;
  }

  private replaceSlot(at: number, seen: number, next: number): boolean {
    return Atomics.compareExchange(this.slots, at, seen, next) === seen;
  }
}
