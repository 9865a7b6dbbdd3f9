// usage-collector.ts: records counts from the cells in use, and deducts what other hosts have used from the quotas in
// the cells.

import { DAY_MS } from "@inkling/store/keys/day";
import type { Counted, EpochMs, KeyId } from "@inkling/store/keys/key";
import { CELL_COUNTS, type CellIndex, countedAt, type LimitCells } from "./cells.ts";

/** Receives the collected counts. */
export interface UsageSink {
  record(keyId: KeyId, counted: Counted, now: EpochMs, count: number): void;
}

/** A key's lookups in the store on the UTC day of `now`: in total, and from other recorders. */
export interface StoredUsage {
  readonly now: EpochMs;
  readonly stored: number;
  readonly foreign: number;
}

/** What has been collected from one cell so far. */
class Collected {
  readonly counts = new Uint32Array(CELL_COUNTS);
  /** Lookups of other hosts on `day` that are already counted in the cell's quota. */
  foreign = 0;
  day = Number.NaN;
}

export class UsageCollector {
  /** The keys, by their cells. */
  private readonly keyIds: (KeyId | undefined)[] = [];
  /** The cells that were ever used by their keys. */
  private readonly collected = new Map<CellIndex, Collected>();
  /** What was used since the last `collect`, and since the last `takeUsed`. */
  private used = new Set<CellIndex>();
  private usedKeys = new Set<KeyId>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  /** Called when a key gets a cell. */
  add(keyId: KeyId, cell: CellIndex): void {
    this.keyIds[cell] = keyId;
  }

  /** Returns the keys that were used since the last call. */
  takeUsed(cells: LimitCells): ReadonlySet<KeyId> {
    this.clearMarks(cells);
    const { usedKeys } = this;
    this.usedKeys = new Set();
    return usedKeys;
  }

  private clearMarks(cells: LimitCells): void {
    cells.clearMarks(this.keyIds.length, (cell) => {
      const keyId = this.keyIds[cell];
      if (keyId === undefined) return;
      this.used.add(cell);
      this.usedKeys.add(keyId);
    });
  }

  /** Records the last counts of a cell's key, before another key gets the cell. */
  remove(cell: CellIndex, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const keyId = this.keyIds[cell];
    if (keyId === undefined) return;
    this.collectOne(cell, cells, sink, now);
    this.collected.delete(cell);
    this.keyIds[cell] = undefined;
    this.used.delete(cell);
    this.usedKeys.delete(keyId);
  }

  /** Records what was counted since the last call in the cells that were used. */
  collect(cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    this.clearMarks(cells);
    for (const cell of this.used) this.collectOne(cell, cells, sink, now);
    this.used.clear();
  }

  /**
   * Corrects a key's quota if the clock was ahead and is set back. Today's quota then continues from today's stored
   * usage. It never restarts at zero, so this correction waits until the store has been read.
   */
  correctDay(cell: CellIndex, stored: number, cells: LimitCells, now: EpochMs): void {
    if (!cells.correctDay(cell, now, stored)) return;
    const state = this.stateOf(cell);
    state.day = Math.floor(now / DAY_MS);
    state.foreign = stored;
  }

  /** Deducts from a key's quota what other hosts have used. */
  takeForeign(cell: CellIndex, { now, stored, foreign }: StoredUsage, cells: LimitCells): void {
    const state = this.stateOn(cell, now, cells);
    if (state === undefined) return;
    // A key that gets its quota during the day has already used more than its cell holds.
    const missing = stored - cells.usedOfQuota(cell, now);
    const more = Math.max(foreign - state.foreign, missing);
    state.foreign = Math.max(state.foreign, foreign);
    if (more > 0) cells.chargeQuota(cell, now, more);
  }

  /** Deducts from a key's quota what the store has beyond the cell's count, which only other hosts can have used. */
  takeStored(cell: CellIndex, stored: number, cells: LimitCells, now: EpochMs): void {
    const state = this.stateOn(cell, now, cells);
    const missing = state === undefined ? 0 : stored - cells.usedOfQuota(cell, now);
    if (state === undefined || missing <= 0) return;
    state.foreign += missing;
    cells.chargeQuota(cell, now, missing);
  }

  /** Returns a cell's state on the day of `now`; undefined if midnight passed while the store was read. */
  private stateOn(cell: CellIndex, now: EpochMs, cells: LimitCells): Collected | undefined {
    if (cells.isDayAfter(cell, now)) return undefined;
    const state = this.stateOf(cell);
    const day = Math.floor(now / DAY_MS);
    if (day !== state.day) {
      state.day = day;
      state.foreign = 0;
    }
    return state;
  }

  private stateOf(cell: CellIndex): Collected {
    const known = this.collected.get(cell);
    if (known !== undefined) return known;
    const state = new Collected();
    this.collected.set(cell, state);
    return state;
  }

  private collectOne(cell: CellIndex, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const keyId = this.keyIds[cell]!; // its callers have just read it, or the mark of its use
    const { counts } = this.stateOf(cell);
    cells.readCounts(cell, this.fresh);
    const isOddToday = (Math.floor(now / DAY_MS) & 1) === 1;
    for (let i = 0; i < CELL_COUNTS; i++) {
      const count = (this.fresh[i]! - counts[i]!) >>> 0; // both arrays have CELL_COUNTS elements
      if (count === 0) continue;
      counts[i] = this.fresh[i]!;
      const { counted, isOdd } = countedAt(i);
      // The lookups of the other parity were counted before midnight, but are collected after it.
      sink.record(keyId, counted, isOdd === isOddToday ? now : now - DAY_MS, count);
    }
  }
}
