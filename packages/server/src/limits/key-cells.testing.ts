// key-cells.testing.ts: cells for tests with one process. Each key gets a cell at its first use.

import { CELL_BYTES, type CellIndex, LimitCells } from "./cells.ts";
import { KeyCells } from "./key-cells.ts";

const MAX_KEYS = 256;

/** @param base epoch ms; the start of the test's times */
export function cellsOnDemand(base = 0): KeyCells {
  const byKey = new Map<string, CellIndex>();
  const cells = new KeyCells(new LimitCells(new Uint8Array(MAX_KEYS * CELL_BYTES), base));
  cells.cellOf = (keyId) => {
    const cell = byKey.get(keyId) ?? byKey.size;
    byKey.set(keyId, cell);
    return cell;
  };
  return cells;
}
