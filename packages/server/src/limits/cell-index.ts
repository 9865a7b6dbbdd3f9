// cell-index.ts: which cell counts for which key.
//
// OwnCells     one process for itself: as many cells as there are keys in use
// SharedCells  cells that several processes share: one of them, the supervisor, gives them to keys, and tells the others

import { CELL_BYTES, LimitCells } from "./cells.ts";

export interface CellPlaces {
  /** Read it anew for each use: it is replaced when it has grown too small. @param now epoch ms */
  cells(now: number): LimitCells;
  /** The cell of a key; undefined when there is none for it. */
  cellOf(keyId: string): number | undefined;
  /** The key is gone. */
  drop(keyId: string): void;
}

const FIRST_CELLS = 64;

export class OwnCells implements CellPlaces {
  private memory = new Uint8Array(FIRST_CELLS * CELL_BYTES);
  private base: number | undefined;
  private made: LimitCells | undefined;
  private readonly places = new Map<string, number>();
  private readonly free: number[] = [];
  private next = 0;

  cells(now: number): LimitCells {
    if (this.made !== undefined) return this.made;
    this.base ??= now;
    this.made = new LimitCells(this.memory, this.base);
    return this.made;
  }

  cellOf(keyId: string): number {
    const known = this.places.get(keyId);
    if (known !== undefined) return known;
    const cell = this.free.pop() ?? this.next++;
    if ((cell + 1) * CELL_BYTES > this.memory.byteLength) {
      const larger = new Uint8Array(this.memory.byteLength * 2);
      larger.set(this.memory);
      this.memory = larger;
      this.made = undefined;
    }
    this.places.set(keyId, cell);
    return cell;
  }

  drop(keyId: string): void {
    const cell = this.places.get(keyId);
    if (cell === undefined) return;
    this.places.delete(keyId);
    this.memory.fill(0, cell * CELL_BYTES, (cell + 1) * CELL_BYTES);
    this.free.push(cell);
  }
}

/** In a worker: the cells that the supervisor gave to the keys in force. */
export class SharedCells implements CellPlaces {
  private shared: LimitCells;
  private places: ReadonlyMap<string, number> = new Map();

  constructor(shared: LimitCells) {
    this.shared = shared;
  }

  cells(): LimitCells {
    return this.shared;
  }

  cellOf(keyId: string): number | undefined {
    return this.places.get(keyId);
  }

  /** Cells of keys that are gone leave with the next keys. */
  drop(): void {}

  /** @param places cells by key id, all that there are */
  replace(shared: LimitCells, places: ReadonlyMap<string, number>): void {
    this.shared = shared;
    this.places = places;
  }
}
