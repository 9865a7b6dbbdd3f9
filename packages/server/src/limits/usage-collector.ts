// usage-collector.ts: records counts from the cells, and deducts what other hosts have used from the quotas in the
// cells.

import { DAY_MS } from "../keys/day.ts";
import type { Counted, EpochMs, KeyId } from "../keys/key.ts";
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
  readonly cell: CellIndex;
  readonly counts = new Uint32Array(CELL_COUNTS);
  /** Lookups of other hosts on `day` that are already counted in the cell's quota. */
  foreign = 0;
  day = Number.NaN;

  constructor(cell: CellIndex) {
    this.cell = cell;
  }
}

export class UsageCollector {
  private readonly collected = new Map<KeyId, Collected>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  /** Called when a key gets a cell. */
  add(keyId: KeyId, cell: CellIndex): void {
    this.collected.set(keyId, new Collected(cell));
  }

  /** Records a key's last counts, before another key gets its cell. */
  remove(keyId: KeyId, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const state = this.collected.get(keyId);
    if (state === undefined) return;
    this.collectOne(keyId, state, cells, sink, now);
    this.collected.delete(keyId);
  }

  /** Records what was counted since the last call. */
  collect(cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    for (const [keyId, state] of this.collected) this.collectOne(keyId, state, cells, sink, now);
  }

  /**
   * Corrects the quotas if the clock was ahead and is set back. Today's quotas then continue from today's stored usage.
   * They never restart at zero, so this correction waits until the store has been read.
   */
  correctDays(cells: LimitCells, now: EpochMs, stored: ReadonlyMap<KeyId, number>): void {
    for (const [keyId, state] of this.collected) {
      const used = stored.get(keyId) ?? 0;
      if (!cells.correctDay(state.cell, now, used)) continue;
      state.day = Math.floor(now / DAY_MS);
      state.foreign = used;
    }
  }

  /** Deducts from a key's quota what other hosts have used. */
  takeForeign(keyId: KeyId, { now, stored, foreign }: StoredUsage, cells: LimitCells): void {
    const state = this.collected.get(keyId);
    // midnight passed while the store was read
    if (state === undefined || cells.isDayAfter(state.cell, now)) return;
    const day = Math.floor(now / DAY_MS);
    if (day !== state.day) {
      state.day = day;
      state.foreign = 0;
    }
    // A key that gets its quota during the day has already used more than its cell holds.
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
      const count = (this.fresh[i]! - counts[i]!) >>> 0; // both arrays have CELL_COUNTS elements
      if (count === 0) continue;
      counts[i] = this.fresh[i]!;
      const { counted, isOdd } = countedAt(i);
      // The lookups of the other parity were counted before midnight, but are collected after it.
      sink.record(keyId, counted, isOdd === isOddToday ? now : now - DAY_MS, count);
    }
  }
}
