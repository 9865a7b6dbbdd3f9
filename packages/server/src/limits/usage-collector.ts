// usage-collector.ts: carries counts from the cells to the recorder, and what other hosts used of a quota to the cells.

import { DAY_MS } from "../keys/day.ts";
import type { Counted, EpochMs, KeyId } from "../keys/key.ts";
import { CELL_COUNTS, type CellIndex, countedAt, type LimitCells } from "./cells.ts";

/** Where collected counts go. */
export interface UsageSink {
  record(keyId: KeyId, counted: Counted, now: EpochMs, count: number): void;
}

/** What the store has of a key's lookups on the UTC day of `now`: in all, and from other recorders. */
export interface StoredUsage {
  readonly now: EpochMs;
  readonly stored: number;
  readonly foreign: number;
}

/** What was collected from one cell. */
class Collected {
  readonly cell: CellIndex;
  readonly counts = new Uint32Array(CELL_COUNTS);
  /** Lookups of other hosts on `day` that the cell's quota holds. */
  foreign = 0;
  day = Number.NaN;

  constructor(cell: CellIndex) {
    this.cell = cell;
  }
}

export class UsageCollector {
  private readonly collected = new Map<KeyId, Collected>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  /** A key has this cell from now on. */
  add(keyId: KeyId, cell: CellIndex): void {
    this.collected.set(keyId, new Collected(cell));
  }

  /** Records the last counts of a key, before its cell goes to another one. */
  remove(keyId: KeyId, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const state = this.collected.get(keyId);
    if (state === undefined) return;
    this.collectOne(keyId, state, cells, sink, now);
    this.collected.delete(keyId);
  }

  /** Records what was counted since the last time. */
  collect(cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    for (const [keyId, state] of this.collected) this.collectOne(keyId, state, cells, sink, now);
  }

  /**
   * Where the clock was ahead and was set back, today's quotas continue with what the store has of today: never with none,
   * so not before the store was read.
   */
  correctDays(cells: LimitCells, now: EpochMs, stored: ReadonlyMap<KeyId, number>): void {
    for (const [keyId, state] of this.collected) {
      const used = stored.get(keyId) ?? 0;
      if (!cells.correctDay(state.cell, now, used)) continue;
      state.day = Math.floor(now / DAY_MS);
      state.foreign = used;
    }
  }

  /** Takes from a key's quota what other hosts used of it. */
  takeForeign(keyId: KeyId, { now, stored, foreign }: StoredUsage, cells: LimitCells): void {
    const state = this.collected.get(keyId);
    if (state === undefined || cells.isDayAfter(state.cell, now)) return; // midnight passed while the store was read
    const day = Math.floor(now / DAY_MS);
    if (day !== state.day) {
      state.day = day;
      state.foreign = 0;
    }
    // A key that was given its quota in the course of the day has used more than its cell holds.
    const missing = stored - cells.usedOfQuota(state.cell, now);
    const more = Math.max(foreign - state.foreign, missing);
    state.foreign = Math.max(state.foreign, foreign);
    if (more > 0) cells.chargeQuota(state.cell, now, more);
  }

  private collectOne(
    keyId: KeyId,
    { cell, counts }: Collected,
    cells: LimitCells,
    sink: UsageSink,
    now: EpochMs,
  ): void {
    cells.readCounts(cell, this.fresh);
    const isOddToday = (Math.floor(now / DAY_MS) & 1) === 1;
    for (let i = 0; i < CELL_COUNTS; i++) {
      const count = (this.fresh[i]! - counts[i]!) >>> 0; // both have CELL_COUNTS numbers
      if (count === 0) continue;
      counts[i] = this.fresh[i]!;
      const { counted, isOdd } = countedAt(i);
      // Of the other parity: counted before midnight, collected after.
      sink.record(keyId, counted, isOdd === isOddToday ? now : now - DAY_MS, count);
    }
  }
}
