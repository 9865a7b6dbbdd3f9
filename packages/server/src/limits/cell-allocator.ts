// cell-allocator.ts: assigns a cell to each key.
//
// in   the active keys, whenever they change; the latest change that all processes that answer requests have applied
// out  a cell for each key; a removed key's cell is reused once no process uses it any more

import type { KeyId } from "@inkling/store/keys/key";
import type { CellIndex } from "./cells.ts";

interface Leaving {
  readonly keyId: KeyId;
  readonly cell: CellIndex;
  /** The change that removed the cell's key, as passed to `assign`. */
  readonly change: number;
}

export class CellAllocator {
  private readonly byKey = new Map<KeyId, CellIndex>();
  private leaving: Leaving[] = [];
  private readonly free: CellIndex[] = [];
  private next = 0;

  /** Number of cells that must exist. */
  get size(): number {
    return this.next;
  }

  get cells(): ReadonlyMap<KeyId, CellIndex> {
    return this.byKey;
  }

  /**
   * Takes over a new set of keys.
   * @param change a number that increases with each call
   * @returns the keys that are new
   */
  assign(keyIds: Iterable<KeyId>, change: number): KeyId[] {
    const wanted = new Set(keyIds);
    this.remove(
      [...this.byKey.keys()].filter((keyId) => !wanted.has(keyId)),
      change,
    );
    return this.add(wanted);
  }

  /** Removes some keys. @param change see `assign` */
  remove(keyIds: Iterable<KeyId>, change: number): void {
    for (const keyId of keyIds) {
      const cell = this.byKey.get(keyId);
      if (cell === undefined) continue;
      this.byKey.delete(keyId);
      this.leaving.push({ keyId, cell, change });
    }
  }

  /** Adds some keys. @returns the keys that are new */
  add(keyIds: Iterable<KeyId>): KeyId[] {
    const added: KeyId[] = [];
    for (const keyId of keyIds) {
      if (this.byKey.has(keyId)) continue;
      const before = this.leaving.find((entry) => entry.keyId === keyId);
      if (before === undefined) added.push(keyId);
      else this.leaving.splice(this.leaving.indexOf(before), 1); // the key is back, and its earlier usage still counts
      this.byKey.set(keyId, before?.cell ?? this.free.pop() ?? this.next++);
    }
    return added;
  }

  /**
   * Called when every process has applied the keys of `change`, or has exited.
   * @param release called for each removed key whose cell is no longer in use, before another key may get the cell
   */
  settle(change: number, release: (keyId: KeyId, cell: CellIndex) => void): void {
    const gone = this.leaving.filter((entry) => entry.change <= change);
    if (gone.length === 0) return;
    this.leaving = this.leaving.filter((entry) => entry.change > change);
    for (const { keyId, cell } of gone) {
      release(keyId, cell);
      this.free.push(cell);
    }
  }
}
