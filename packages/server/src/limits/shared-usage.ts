// shared-usage.ts: look-ups counted in memory that all workers share, and collected from there by their supervisor.
//
// SharedUsage     in a worker: what its app asks of usage, exact for the whole machine at any time
// UsageCollector  in the supervisor: brings the counts to the recorder, and what other machines used to the workers
//
// A worker that is killed has counted what it answered: nothing of it is lost.

import type { Counted, Key } from "../keys/key.ts";
import type { CellPlaces } from "./cell-index.ts";
import { CELL_COUNTS, countedAt, DAY_MS, type LimitCells } from "./cells.ts";

export class SharedUsage {
  private readonly places: CellPlaces;

  constructor(places: CellPlaces) {
    this.places = places;
  }

  /** Counts look-ups and refusals. A key that is gone meanwhile has no cell any more: its last are not counted. */
  record(keyId: string, counted: Counted, now: number, count = 1): void {
    const cell = this.places.cellOf(keyId);
    if (cell !== undefined) this.places.cells(now).count(cell, counted, now, count);
  }

  /** What was taken from the key's quota on this UTC day, by all workers at this moment. */
  countToday(keyId: string, now: number): number {
    const cell = this.places.cellOf(keyId);
    return cell === undefined ? 0 : this.places.cells(now).usedOfQuota(cell, now);
  }

  /** Takes from the day's quota: no other worker gets the same. @returns how many, `most` at most */
  takeQuota({ id, quota }: Pick<Key, "id" | "quota">, now: number, most: number): number {
    if (quota === undefined) return most;
    const cell = this.places.cellOf(id);
    return cell === undefined ? 0 : this.places.cells(now).takeQuota(cell, now, quota, most);
  }

  /** Gives back what was taken from the quota and is not recorded. */
  giveQuotaBack({ id, quota }: Pick<Key, "id" | "quota">, now: number, count: number): void {
    const cell = quota === undefined ? undefined : this.places.cellOf(id);
    if (cell !== undefined) this.places.cells(now).giveQuotaBack(cell, now, count);
  }
}

/** What the collector needs of the recorder. */
export interface Recorder {
  record(keyId: string, counted: Counted, now: number, count: number): void;
}

/** What the supervisor has collected of one cell. */
class Collected {
  readonly seen = new Uint32Array(CELL_COUNTS);
  /** Used elsewhere on `day`, as far as the workers were told. */
  told = 0;
  day = Number.NaN;
}

export class UsageCollector {
  private readonly collected = new Map<string, { cell: number; state: Collected }>();
  private readonly fresh = new Uint32Array(CELL_COUNTS);

  /** A key has this cell from now on. */
  add(keyId: string, cell: number): void {
    this.collected.set(keyId, { cell, state: new Collected() });
  }

  /** The last counts of a key, before its cell goes to another one. */
  remove(keyId: string, cells: LimitCells, recorder: Recorder, now: number): void {
    const entry = this.collected.get(keyId);
    if (entry === undefined) return;
    this.collectOne(keyId, entry.cell, entry.state, cells, recorder, now);
    this.collected.delete(keyId);
  }

  /** Records what was counted since the last time. */
  collect(cells: LimitCells, recorder: Recorder, now: number): void {
    for (const [keyId, { cell, state }] of this.collected) {
      this.collectOne(keyId, cell, state, cells, recorder, now);
    }
  }

  /**
   * Tells the workers what other machines used of a key's quota.
   * @param used as UsageRecorder tells it
   */
  tell(
    keyId: string,
    used: { readonly now: number; readonly stored: number; readonly foreign: number },
    cells: LimitCells,
  ): void {
    const entry = this.collected.get(keyId);
    if (entry === undefined) return;
    const { cell, state } = entry;
    const day = Math.floor(used.now / DAY_MS);
    if (day !== state.day) {
      state.day = day;
      state.told = 0;
    }
    // A key that was given its quota in the course of the day has used more than its cell says.
    const unseen = used.stored - cells.usedOfQuota(cell, used.now);
    const more = Math.max(used.foreign - state.told, unseen);
    state.told = Math.max(state.told, used.foreign);
    if (more > 0) cells.giveQuotaBack(cell, used.now, -more);
  }

  private collectOne(
    keyId: string,
    cell: number,
    { seen }: Collected,
    cells: LimitCells,
    recorder: Recorder,
    now: number,
  ): void {
    cells.readCounts(cell, this.fresh);
    for (let i = 0; i < CELL_COUNTS; i++) {
      const count = (this.fresh[i]! - seen[i]!) >>> 0;
      if (count === 0) continue;
      seen[i] = this.fresh[i]!;
      const { counted, isOdd } = countedAt(i);
      const isOddToday = (Math.floor(now / DAY_MS) & 1) === 1;
      // Of the other parity: counted before midnight, collected after.
      recorder.record(keyId, counted, isOdd === isOddToday ? now : now - DAY_MS, count);
    }
  }
}
