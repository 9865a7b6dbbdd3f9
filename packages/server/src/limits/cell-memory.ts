// cell-memory.ts: memory for cells, which grows with the number of keys. If there are several processes, they share a
// different kind of memory (cluster/shared-memory.ts).

import type { EpochMs } from "../keys/key.ts";
import { CELL_BYTES, LimitCells } from "./cells.ts";
import { LeasedCells } from "./leased-cells.ts";

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

/** Whether cells hold this host's own limits, or leases of the group's limits. */
export type CellKind = "own" | "leased";

export function cellsIn(memory: Uint8Array<ArrayBuffer>, base: EpochMs, kind: CellKind): LimitCells {
  return kind === "own" ? new LimitCells(memory, base) : new LeasedCells(memory, base);
}

/** Cells for a single process. */
export class HeapCells implements CellMemory {
  cells: LimitCells;
  private readonly base: EpochMs;
  private readonly kind: CellKind;
  private memory = new Uint8Array(0);

  constructor(base: EpochMs, kind: CellKind = "own") {
    this.base = base;
    this.kind = kind;
    this.cells = cellsIn(this.memory, base, kind);
  }

  reserve(count: number): void {
    if (count <= this.cells.size) return;
    const larger = new Uint8Array(count * CELL_BYTES);
    larger.set(this.memory);
    this.memory = larger;
    this.cells = cellsIn(larger, this.base, this.kind);
  }

  close(): void {}
}
