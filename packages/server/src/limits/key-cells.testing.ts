// key-cells.testing.ts: cells for a test of one process: each key gets one with its first use.

import { CELL_BYTES, type CellIndex, LimitCells } from "./cells.ts";
import { KeyCells } from "./key-cells.ts";

const MAX_KEYS = 256;

/** @param base epoch ms from which the test's times begin */
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
