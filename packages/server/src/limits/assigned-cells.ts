// assigned-cells.ts: assigns a cell to each active key, and reuses the cells of removed keys when no thread uses them
// any more. The primary collects what the cells have counted, and charges their quotas with what other hosts used.

import { DAY_MS } from "@inkling/store/keys/day";
import type { Counted, EpochMs, KeyId } from "@inkling/store/keys/key";
import { idsOf, type KeyUpdate } from "@inkling/store/keys/key-table";
import type { Keyring } from "@inkling/store/keys/keyring";
import { CELL_COUNTS, type CellIndex, countedAt, type LimitCells } from "./cells.ts";
import type { GroupCounts } from "./group-counts.ts";

/** Receives the collected counts. */
interface UsageSink {
  record(keyId: KeyId, counted: Counted, now: EpochMs, count: number): void;
}

export class AssignedCells {
  /** Increases with each update. */
  change = 0;
  /** The counts of a group of hosts, which forget a removed key before its cell is reused. */
  group: Pick<GroupCounts, "drop"> | undefined;
  private readonly cells: LimitCells;
  private readonly keyring: Keyring;
  /** The keys, by their cells. */
  private readonly keyIds: (KeyId | undefined)[] = [];
  private readonly free: CellIndex[] = [];
  /** The cells of removed keys, which a thread may still use, and the change that removed them. */
  private readonly leaving = new Map<KeyId, { readonly cell: CellIndex; readonly change: number }>();
  /** What has been collected so far from the cells that were ever used by their keys. */
  private readonly collected = new Map<CellIndex, Uint32Array>();
  /** What was used since the last `collect`, and since the last `takeUsed`. */
  private readonly used = new Set<CellIndex>();
  private usedKeys = new Set<KeyId>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  constructor(cells: LimitCells, keyring: Keyring) {
    this.cells = cells;
    this.keyring = keyring;
  }

  /** Activates an update in the keyring. */
  take(update: KeyUpdate): void {
    const { keyring } = this;
    const { table: before } = keyring;
    const isWhole = update.from === undefined;
    const known = Array.from(isWhole ? before.ids() : idsOf(update.lines), (keyId) => {
      return { keyId, cell: before.cellOf(keyId) };
    });
    keyring.replace(update, (keyId) => (isWhole ? before.cellOf(keyId) : undefined) ?? this.cellFor(keyId));
    this.change++;
    for (const { keyId, cell } of known)
      if (cell !== undefined && !keyring.table.has(keyId))
        this.leaving.set(keyId, { cell, change: this.change });
  }

  private cellFor(keyId: KeyId): CellIndex {
    const back = this.leaving.get(keyId);
    if (back !== undefined) {
      this.leaving.delete(keyId); // its earlier usage still counts
      return back.cell;
    }
    const cell = this.free.pop() ?? this.keyIds.length;
    if (cell >= this.cells.size) this.cells.grow();
    this.keyIds[cell] = keyId;
    return cell;
  }

  /** Frees the cells of keys that were removed by `change` or earlier. No thread uses those keys any more. */
  settle(change: number, sink: UsageSink, now: EpochMs): void {
    for (const [keyId, { cell, change: removedBy }] of this.leaving) {
      if (removedBy > change) continue;
      this.leaving.delete(keyId);
      this.collectOne(cell, sink, now);
      this.collected.delete(cell);
      this.keyIds[cell] = undefined;
      this.used.delete(cell);
      this.usedKeys.delete(keyId);
      this.group?.drop(keyId);
      this.cells.clear(cell);
      this.free.push(cell);
    }
  }

  /** Records what was counted since the last call in the cells that were used. */
  collect(sink: UsageSink, now: EpochMs): void {
    this.clearMarks();
    for (const cell of this.used) this.collectOne(cell, sink, now);
    this.used.clear();
  }

  /** Returns the keys that were used since the last call. */
  takeUsed(): ReadonlySet<KeyId> {
    this.clearMarks();
    const { usedKeys } = this;
    this.usedKeys = new Set();
    return usedKeys;
  }

  /**
   * Deducts from a key's quota what the store has beyond the cell's count, which only other hosts can have used.
   * @param stored the key's lookups in the store on the UTC day of `now`
   */
  takeStored(keyId: KeyId, stored: number, now: EpochMs): void {
    const { cells } = this;
    const cell = this.keyring.table.cellOf(keyId);
    if (cell === undefined || cells.isDayAfter(cell, now)) return; // midnight passed while the store was read
    const missing = stored - cells.usedOfQuota(cell, now);
    if (missing > 0) cells.chargeQuota(cell, now, missing);
  }

  private clearMarks(): void {
    this.cells.clearMarks(this.keyIds.length, (cell) => {
      const keyId = this.keyIds[cell];
      if (keyId === undefined) return;
      this.used.add(cell);
      this.usedKeys.add(keyId);
    });
  }

  private collectOne(cell: CellIndex, sink: UsageSink, now: EpochMs): void {
    const keyId = this.keyIds[cell]!; // a key has the cell until `settle` frees it
    const counts = this.collected.get(cell) ?? new Uint32Array(CELL_COUNTS);
    this.collected.set(cell, counts);
    this.cells.readCounts(cell, this.fresh);
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
