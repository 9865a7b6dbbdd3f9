import { expect, test } from "bun:test";
import type { Key } from "../keys/key.ts";
import type { KeySnapshot } from "../keys/keyring.ts";
import { HeapCells } from "../limits/cell-memory.ts";
import { KeyBroadcaster } from "./key-broadcaster.ts";

/** Keys from one number to another, the last excluded. */
function snapshotOf(from: number, to: number): KeySnapshot {
  const tokens = Array.from({ length: to - from }, (_, i) => {
    return { hash: "", validUntil: undefined, key: { id: `key_${from + i}` } as Key };
  });
  return { stamp: `${from} ${to}`, tokens };
}

test("without memory for new keys the others go on, those that are gone end, and usage is collected", () => {
  const memory = new HeapCells(0);
  const keys = new KeyBroadcaster(memory);
  keys.take(snapshotOf(0, 1000));
  const cellOfLast = keys.current.cells.get("key_999");
  const reserve = memory.reserve.bind(memory);
  memory.reserve = () => {
    throw new Error("ENOSPC: no space left on device");
  };
  expect(() => keys.take(snapshotOf(10, 1100))).toThrow("ENOSPC");
  const { snapshot, cells, change } = keys.current;
  expect({ change, known: snapshot?.tokens.length, cells: cells.size }).toEqual({
    change: 2,
    known: 1090,
    cells: 990,
  });
  expect(cells.has("key_9")).toBe(false);
  expect(cells.get("key_999")).toBe(cellOfLast);
  const counted: string[] = [];
  const collect = () => keys.collect({ record: (keyId) => void counted.push(keyId) }, 0);
  memory.cells.count(cellOfLast!, "geolocate", 0, 1);
  collect();
  expect(counted).toEqual(["key_999"]);

  memory.reserve = reserve;
  keys.take(snapshotOf(10, 1100));
  expect(keys.current.cells.size).toBe(1090);
  expect(Math.max(...keys.current.cells.values())).toBeLessThan(memory.cells.size);
  collect();
});
