// cell-memory.ts: memory for cells, which grows with the number of keys. If there are several processes, they share a
// different kind of memory (run/shared-memory.ts).

import type { EpochMs } from "@inkling/store/keys/key";
import { CELL_BYTES, LimitCells, MARKS_BYTES } from "./cells.ts";

export interface CellMemory {
  /** The current cells. They are replaced when the memory grows. */
  readonly cells: LimitCells;
  /**
   * Makes room for `count` cells. Existing cells keep their counts.
   * @throws if there is no memory for them
   */
  reserve(count: number): void;
  close(): void;
}

/** Cells for a single process. */
export class HeapCells implements CellMemory {
  cells: LimitCells;
  private readonly base: EpochMs;
  private memory = new Uint8Array(0);
  private readonly marks = new Uint8Array(MARKS_BYTES);

  constructor(base: EpochMs) {
    this.base = base;
    this.cells = new LimitCells(this.memory, base, this.marks);
  }

  reserve(count: number): void {
    if (count <= this.cells.size) return;
    const larger = new Uint8Array(count * CELL_BYTES);
    larger.set(this.memory);
    this.memory = larger;
    this.cells = new LimitCells(larger, this.base, this.marks);
  }

  close(): void {}
}
