// usage-collector.ts: records counts from the cells in use, and deducts what other hosts have used from the quotas in the
// cells.

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
  readonly keyId: KeyId;
  readonly cell: CellIndex;
  readonly counts = new Uint32Array(CELL_COUNTS);
  /** Lookups of other hosts on `day` that are already counted in the cell's quota. */
  foreign = 0;
  day = Number.NaN;

  constructor(keyId: KeyId, cell: CellIndex) {
    this.keyId = keyId;
    this.cell = cell;
  }
}

export class UsageCollector {
  private readonly collected = new Map<KeyId, Collected>();
  private readonly byCell: (Collected | undefined)[] = [];
  /** What was used since the last `collect`, and since the last `takeUsed`. */
  private used = new Set<Collected>();
  private usedKeys = new Set<KeyId>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  /** Called when a key gets a cell. */
  add(keyId: KeyId, cell: CellIndex): void {
    const state = new Collected(keyId, cell);
    this.collected.set(keyId, state);
    this.byCell[cell] = state;
  }

  /** Returns the keys that were used since the last call. */
  takeUsed(cells: LimitCells): ReadonlySet<KeyId> {
    this.clearMarks(cells);
    const { usedKeys } = this;
    this.usedKeys = new Set();
    return usedKeys;
  }

  private clearMarks(cells: LimitCells): void {
    cells.clearMarks(this.byCell.length, (cell) => {
      const state = this.byCell[cell];
      if (state === undefined) return;
      this.used.add(state);
      this.usedKeys.add(state.keyId);
    });
  }

  /** Records a key's last counts, before another key gets its cell. */
  remove(keyId: KeyId, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const state = this.collected.get(keyId);
    if (state === undefined) return;
    this.collectOne(state, cells, sink, now);
    this.collected.delete(keyId);
    this.byCell[state.cell] = undefined;
    this.used.delete(state);
    this.usedKeys.delete(keyId);
  }

  /** Records what was counted since the last call in the cells that were used. */
  collect(cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    this.clearMarks(cells);
    for (const state of this.used) this.collectOne(state, cells, sink, now);
    this.used.clear();
  }

  /**
   * Corrects a key's quota if the clock was ahead and is set back. Today's quota then continues from today's stored
   * usage. It never restarts at zero, so this correction waits until the store has been read.
   */
  correctDay(keyId: KeyId, stored: number, cells: LimitCells, now: EpochMs): void {
    const state = this.collected.get(keyId);
    if (state === undefined || !cells.correctDay(state.cell, now, stored)) return;
    state.day = Math.floor(now / DAY_MS);
    state.foreign = stored;
  }

  /** Deducts from a key's quota what other hosts have used. */
  takeForeign(keyId: KeyId, { now, stored, foreign }: StoredUsage, cells: LimitCells): void {
    const state = this.stateOn(keyId, now, cells);
    if (state === undefined) return;
    // A key that gets its quota during the day has already used more than its cell holds.
    const missing = stored - cells.usedOfQuota(state.cell, now);
    const more = Math.max(foreign - state.foreign, missing);
    state.foreign = Math.max(state.foreign, foreign);
    if (more > 0) cells.chargeQuota(state.cell, now, more);
  }

  /** Deducts from a key's quota what the store has beyond the cell's count, which only other hosts can have used. */
  takeStored(keyId: KeyId, stored: number, cells: LimitCells, now: EpochMs): void {
    const state = this.stateOn(keyId, now, cells);
    const missing = state === undefined ? 0 : stored - cells.usedOfQuota(state.cell, now);
    if (state === undefined || missing <= 0) return;
    state.foreign += missing;
    cells.chargeQuota(state.cell, now, missing);
  }

  /** Returns a key's state on the day of `now`; undefined if midnight passed while the store was read. */
  private stateOn(keyId: KeyId, now: EpochMs, cells: LimitCells): Collected | undefined {
    const state = this.collected.get(keyId);
    if (state === undefined || cells.isDayAfter(state.cell, now)) return undefined;
    const day = Math.floor(now / DAY_MS);
    if (day !== state.day) {
      state.day = day;
      state.foreign = 0;
    }
    return state;
  }

  private collectOne(
    { keyId, cell, counts }: Collected,
    cells: LimitCells,
    sink: UsageSink,
    now: EpochMs,
  ): void {
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
