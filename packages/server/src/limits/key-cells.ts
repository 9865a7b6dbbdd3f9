// key-cells.ts: holds the cells of the active keys, which store usage and quota per key, in a process that answers
// requests.
//
// A key that is no longer active has no cell. Its further requests are not granted, and its last requests are not
// counted.
//
// Processes that share the cells grant as much in total as a single process would. If a process is killed, no count is
// lost.

import type { Counted, EpochMs, Key, KeyId } from "@inkling/store/keys/key";
import type { CellIndex, LimitCells } from "./cells.ts";
import { SteadyClock } from "./steady-clock.ts";

/** The methods that count usage and take from quotas. */
export type UsageCounter = Pick<
  KeyCells,
  "record" | "countToday" | "takeQuota" | "chargedDay" | "giveQuotaBack"
>;

export type CellsByKey = Pick<ReadonlyMap<KeyId, CellIndex>, "get">;

export class KeyCells {
  private shared: LimitCells;
  private byKey: CellsByKey = new Map();
  private readonly clock: Pick<SteadyClock, "at">;

  /** @param clock determines the day of quotas and usage */
  constructor(cells: LimitCells, clock: Pick<SteadyClock, "at"> = new SteadyClock()) {
    this.shared = cells;
    this.clock = clock;
  }

  /** Read this again for each use, because it is replaced when the cells grow. */
  get cells(): LimitCells {
    return this.shared;
  }

  cellOf(keyId: KeyId): CellIndex | undefined {
    return this.byKey.get(keyId);
  }

  /** @param byKey the cells of all active keys */
  replace(cells: LimitCells, byKey: CellsByKey): void {
    this.shared = cells;
    this.byKey = byKey;
  }

  /** Counts lookups or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    const cell = this.cellOf(keyId);
    if (cell !== undefined) this.shared.count(cell, counted, this.clock.at(now), count);
  }

  /** Returns the lookups that all processes have taken from the key's quota so far on this UTC day. */
  countToday({ id }: Pick<Key, "id" | "quota">, now: EpochMs): number {
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.shared.usedOfQuota(cell, this.clock.at(now));
  }

  /**
   * Takes up to `most` lookups from the day's quota. No other process gets the same lookups.
   * @returns how many were taken; `most` if the key has no quota
   */
  takeQuota({ id, quota }: Pick<Key, "id" | "quota">, now: EpochMs, most: number): number {
    if (quota === undefined) return most;
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.shared.takeQuota(cell, this.clock.at(now), quota, most);
  }

  /** The day from whose quota the last `takeQuota` took. */
  get chargedDay(): number {
    return this.shared.chargedDay;
  }

  /** Returns unused lookups to the quota of the day from which they were taken. */
  giveQuotaBack({ id, quota }: Pick<Key, "id" | "quota">, day: number, count: number): void {
    const cell = quota === undefined ? undefined : this.cellOf(id);
    if (cell !== undefined) this.shared.giveQuotaBack(cell, day, count);
  }
}
