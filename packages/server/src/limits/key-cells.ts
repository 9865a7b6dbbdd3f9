// key-cells.ts: finds the cells of the active keys, which store usage and quota per key, in a thread that answers
// requests.
//
// A key that is no longer active has no cell. Its further requests are not granted, and its last requests are not
// counted.
//
// Threads that share the cells grant as much in total as a single thread would. If a thread ends, no count is lost.

import type { Counted, EpochMs, Key, KeyId } from "@inkling/store/keys/key";
import type { CellIndex, LimitCells } from "./cells.ts";

/** The time that determines a lookup's UTC day, for quotas and usage. A group of hosts follows the database's clock. */
export class QuotaClock {
  /** Milliseconds by which this machine's clock is ahead of the database's. */
  offsetMs = 0;

  /** @param time a time of the machine's clock */
  at(time: EpochMs): EpochMs {
    return time - this.offsetMs;
  }
}

/** The methods that count usage and take from quotas. */
export type UsageCounter = Pick<
  KeyCells,
  "record" | "countToday" | "takeQuota" | "chargedDay" | "giveQuotaBack"
>;

type CellsByKey = Pick<ReadonlyMap<KeyId, CellIndex>, "get">;

export class KeyCells {
  readonly cells: LimitCells;
  private readonly byKey: CellsByKey;
  private readonly clock: QuotaClock;

  /** @param byKey the cells of all active keys */
  constructor(cells: LimitCells, byKey: CellsByKey = new Map(), clock = new QuotaClock()) {
    this.cells = cells;
    this.byKey = byKey;
    this.clock = clock;
  }

  cellOf(keyId: KeyId): CellIndex | undefined {
    const cell = this.byKey.get(keyId);
    // A key that the primary has just added may have a cell in a block that this thread does not have yet.
    return cell !== undefined && cell < this.cells.size ? cell : undefined;
  }

  /** Counts lookups or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    const cell = this.cellOf(keyId);
    if (cell !== undefined) this.cells.count(cell, counted, this.clock.at(now), count);
  }

  /** Returns the lookups that all threads have taken from the key's quota so far on this UTC day. */
  countToday({ id }: Pick<Key, "id" | "quota">, now: EpochMs): number {
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.cells.usedOfQuota(cell, this.clock.at(now));
  }

  /**
   * Takes up to `most` lookups from the day's quota. No other thread gets the same lookups.
   * @returns how many were taken; `most` if the key has no quota
   */
  takeQuota({ id, quota }: Pick<Key, "id" | "quota">, now: EpochMs, most: number): number {
    if (quota === undefined) return most;
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.cells.takeQuota(cell, this.clock.at(now), quota, most);
  }

  /** The day from whose quota the last `takeQuota` took. */
  get chargedDay(): number {
    return this.cells.chargedDay;
  }

  /** Returns unused lookups to the quota of the day from which they were taken. */
  giveQuotaBack({ id, quota }: Pick<Key, "id" | "quota">, day: number, count: number): void {
    const cell = quota === undefined ? undefined : this.cellOf(id);
    if (cell !== undefined) this.cells.giveQuotaBack(cell, day, count);
  }
}
