// key-cells.testing.ts: cells for tests with one thread. Each key gets a cell at its first use.

import { type CellIndex, LimitCells } from "./cells.ts";
import { KeyCells } from "./key-cells.ts";

/** @param base epoch ms; the start of the test's times */
export function cellsOnDemand(base = 0): KeyCells {
  const byKey = new Map<string, CellIndex>();
  const memory = new LimitCells(base);
  memory.grow();
  const cells = new KeyCells(memory);
  cells.cellOf = (keyId) => {
    const cell = byKey.get(keyId) ?? byKey.size;
    byKey.set(keyId, cell);
    return cell;
  };
  return cells;
}
