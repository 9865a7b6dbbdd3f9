// cell-allocator.ts: in the supervisor: which key has which cell of the shared memory.
//
// in   the keys in force, each time they change; what the workers say they have taken over
// out  a cell for each; the cells of keys that are gone go to others once no worker uses them any more
// err  none

export class CellAllotment {
  private readonly places = new Map<string, number>();
  /** Cells of keys that are gone, with the number of the change that took them away. */
  private leaving: { keyId: string; cell: number; change: number }[] = [];
  private readonly free: number[] = [];
  private next = 0;

  /** Cells that there have to be. */
  get size(): number {
    return this.next;
  }

  /** Cells by key id. */
  get cells(): ReadonlyMap<string, number> {
    return this.places;
  }

  /**
   * Takes over other keys.
   * @param change a number that grows with each call
   * @returns keys that are new
   */
  assign(keyIds: Iterable<string>, change: number): string[] {
    const wanted = new Set(keyIds);
    for (const [keyId, cell] of this.places) {
      if (wanted.has(keyId)) continue;
      this.places.delete(keyId);
      this.leaving.push({ keyId, cell, change });
    }
    const added: string[] = [];
    for (const keyId of wanted) {
      if (this.places.has(keyId)) continue;
      const before = this.leaving.find((entry) => entry.keyId === keyId);
      if (before === undefined) added.push(keyId);
      else this.leaving.splice(this.leaving.indexOf(before), 1); // it is back, and what it used still counts
      this.places.set(keyId, before?.cell ?? this.free.pop() ?? this.next++);
    }
    return added;
  }

  /**
   * Every worker has taken over the keys of `change`, or ended.
   * @param release told of each key whose cell nobody uses any more, before another key may get it
   */
  settled(change: number, release: (keyId: string, cell: number) => void): void {
    const gone = this.leaving.filter((entry) => entry.change <= change);
    if (gone.length === 0) return;
    this.leaving = this.leaving.filter((entry) => entry.change > change);
    for (const { keyId, cell } of gone) {
      release(keyId, cell);
      this.free.push(cell);
    }
  }
}
