// cell-memory.ts: memory for cells, which grows with the number of keys. Several processes share another kind
// (cluster/shared-memory.ts).

import type { EpochMs } from "../keys/key.ts";
import { CELL_BYTES, LimitCells } from "./cells.ts";

export interface CellMemory {
  /** The cells as they are now: replaced when they grow. */
  readonly cells: LimitCells;
  /**
   * Makes room for so many cells; those there are keep their counts.
   * @throws when there is no memory for them
   */
  reserve(count: number): void;
  close(): void;
}

/** The cells of one process alone. */
export class HeapCells implements CellMemory {
  cells: LimitCells;
  private readonly base: EpochMs;
  private memory = new Uint8Array(0);

  constructor(base: EpochMs) {
    this.base = base;
    this.cells = new LimitCells(this.memory, base);
  }

  reserve(count: number): void {
    if (count <= this.cells.size) return;
    const larger = new Uint8Array(count * CELL_BYTES);
    larger.set(this.memory);
    this.memory = larger;
    this.cells = new LimitCells(larger, this.base);
  }

  close(): void {}
}
