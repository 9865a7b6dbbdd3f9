// usage-collector.ts: records counts from the cells in use, and deducts from the quotas in the cells what the store has
// beyond their counts, which only other hosts can have used.

import { DAY_MS } from "@inkling/store/keys/day";
import type { Counted, EpochMs, KeyId } from "@inkling/store/keys/key";
import { CELL_COUNTS, type CellIndex, countedAt, type LimitCells } from "./cells.ts";

/** Receives the collected counts. */
export interface UsageSink {
  record(keyId: KeyId, counted: Counted, now: EpochMs, count: number): void;
}

export class UsageCollector {
  /** The keys, by their cells. */
  private readonly keyIds: (KeyId | undefined)[] = [];
  /** What has been collected so far from the cells that were ever used by their keys. */
  private readonly collected = new Map<CellIndex, Uint32Array>();
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
   * Deducts from a key's quota what the store has beyond the cell's count.
   * @param stored the key's lookups in the store on the UTC day of `now`
   */
  takeStored(cell: CellIndex, stored: number, cells: LimitCells, now: EpochMs): void {
    if (cells.isDayAfter(cell, now)) return; // midnight passed while the store was read
    const missing = stored - cells.usedOfQuota(cell, now);
    if (missing > 0) cells.chargeQuota(cell, now, missing);
  }

  private collectOne(cell: CellIndex, cells: LimitCells, sink: UsageSink, now: EpochMs): void {
    const keyId = this.keyIds[cell]!; // its callers have just read it, or the mark of its use
    const counts = this.collected.get(cell) ?? new Uint32Array(CELL_COUNTS);
    this.collected.set(cell, counts);
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
