// cell-allocator.ts: which key has which cell.
//
// in   the active keys, each time they change; which change every process that answers has applied
// out  a cell for each; the cell of a key that is gone goes to another one once no process uses it any more

import type { KeyId } from "../keys/key.ts";
import type { CellIndex } from "./cells.ts";

interface Leaving {
  readonly keyId: KeyId;
  readonly cell: CellIndex;
  /** Number of the change that removed the key. */
  readonly change: number;
}

export class CellAllocator {
  private readonly byKey = new Map<KeyId, CellIndex>();
  private leaving: Leaving[] = [];
  private readonly free: CellIndex[] = [];
  private next = 0;

  /** Cells that there have to be. */
  get size(): number {
    return this.next;
  }

  get cells(): ReadonlyMap<KeyId, CellIndex> {
    return this.byKey;
  }

  /**
   * Takes over other keys.
   * @param change a number that grows with each call
   * @returns keys that are new
   */
  assign(keyIds: Iterable<KeyId>, change: number): KeyId[] {
    const wanted = new Set(keyIds);
    for (const [keyId, cell] of this.byKey) {
      if (wanted.has(keyId)) continue;
      this.byKey.delete(keyId);
      this.leaving.push({ keyId, cell, change });
    }
    const added: KeyId[] = [];
    for (const keyId of wanted) {
      if (this.byKey.has(keyId)) continue;
      const before = this.leaving.find((entry) => entry.keyId === keyId);
      if (before === undefined) added.push(keyId);
      else this.leaving.splice(this.leaving.indexOf(before), 1); // it is back, and what it used still counts
      this.byKey.set(keyId, before?.cell ?? this.free.pop() ?? this.next++);
    }
    return added;
  }

  /**
   * Every process has applied the keys of `change`, or ended.
   * @param release called with each key whose cell no process uses any more, before another key may get it
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
