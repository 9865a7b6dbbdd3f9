// key-cells.ts: the cells of the active keys, as a process that answers uses them: usage and quota by key.
//
// in   cells, and which key has which; both are replaced together whenever the keys change
// err  none: a key that is no longer active has no cell, so it gets nothing more, and its last requests are not counted
//
// Processes that share the cells give out together what one alone would. A process that is killed loses no count.

import type { Counted, EpochMs, Key, KeyId } from "../keys/key.ts";
import type { CellIndex, LimitCells } from "./cells.ts";
import { SteadyClock } from "./steady-clock.ts";

/** What counts usage, and gives out quotas. */
export type UsageCounter = Pick<
  KeyCells,
  "record" | "countToday" | "takeQuota" | "chargedDay" | "giveQuotaBack"
>;

export class KeyCells {
  private shared: LimitCells;
  private byKey: ReadonlyMap<KeyId, CellIndex> = new Map();
  private readonly clock: Pick<SteadyClock, "at">;

  /** @param clock decides the day of quotas and usage */
  constructor(cells: LimitCells, clock: Pick<SteadyClock, "at"> = new SteadyClock()) {
    this.shared = cells;
    this.clock = clock;
  }

  /** Read it again for each use: it is replaced when it has grown. */
  get cells(): LimitCells {
    return this.shared;
  }

  cellOf(keyId: KeyId): CellIndex | undefined {
    return this.byKey.get(keyId);
  }

  /** @param byKey the cells of all active keys */
  replace(cells: LimitCells, byKey: ReadonlyMap<KeyId, CellIndex>): void {
    this.shared = cells;
    this.byKey = byKey;
  }

  /** Counts lookups, or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    const cell = this.cellOf(keyId);
    if (cell !== undefined) this.shared.count(cell, counted, this.clock.at(now), count);
  }

  /** What was taken from the key's quota on this UTC day, by all processes at this moment. */
  countToday({ id, quota }: Pick<Key, "id" | "quota">, now: EpochMs): number {
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.shared.usedOfQuota(cell, this.clock.at(now), quota);
  }

  /** Takes from the day's quota: no other process gets the same. @returns how many, `most` at most */
  takeQuota({ id, quota }: Pick<Key, "id" | "quota">, now: EpochMs, most: number): number {
    if (quota === undefined) return most;
    const cell = this.cellOf(id);
    return cell === undefined ? 0 : this.shared.takeQuota(cell, this.clock.at(now), quota, most);
  }

  /** The day that the last `takeQuota` took from. */
  get chargedDay(): number {
    return this.shared.chargedDay;
  }

  /** Gives back what was taken from the quota of that day and is not recorded. */
  giveQuotaBack({ id, quota }: Pick<Key, "id" | "quota">, day: number, count: number): void {
    const cell = quota === undefined ? undefined : this.cellOf(id);
    if (cell !== undefined) this.shared.giveQuotaBack(cell, day, count);
  }
}
