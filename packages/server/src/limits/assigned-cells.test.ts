import { expect, test } from "bun:test";
import { DAY_MS } from "@inkling/store/keys/day";
import { Keyring } from "@inkling/store/keys/keyring";
import { updateOf } from "../../../../test/harness/key-updates.ts";
import { AssignedCells } from "./assigned-cells.ts";
import { LimitCells } from "./cells.ts";

const NOON = Date.parse("2026-06-01T12:00:00Z");
const NO_SINK = { record: () => expect.unreachable() };

function setUp() {
  const cells = new LimitCells(0);
  const keyring = new Keyring();
  return { cells, keyring, keys: new AssignedCells(cells, keyring) };
}

test("a cell goes to another key only when no thread uses it any more", () => {
  const { keyring, keys } = setUp();
  keys.take(updateOf("1", ["a", "b"]));
  const cell = keyring.cells.get("a");
  keys.take(updateOf("2", ["c"], "1", ["a"]));
  expect(keyring.cells.get("a")).toBeUndefined();
  expect(new Set([cell, ...["b", "c"].map(keyring.cells.get)]).size).toBe(3);
  const freed: string[] = [];
  keys.group = { drop: (keyId) => void freed.push(keyId) };
  keys.settle(1, NO_SINK, 0);
  expect(freed).toEqual([]);
  keys.settle(2, NO_SINK, 0);
  expect(freed).toEqual(["a"]);
  keys.take(updateOf("3", ["d"], "2"));
  expect(keyring.cells.get("d")).toBe(cell);
});

test("a key that comes back has its cell again, with what it used; so do all keys that are read again", () => {
  const { keyring, keys } = setUp();
  keys.take(updateOf("1", ["a", "b"]));
  keys.take(updateOf("2", [], "1", ["a"]));
  keys.take(updateOf("3", ["a", "c"], "2"));
  keys.take(updateOf("4", ["c", "d", "a"]));
  expect(["a", "c", "d"].map(keyring.cells.get)).toEqual([0, 2, 3]);
  keys.settle(3, NO_SINK, 0); // b was removed by change 4
  keys.take(updateOf("5", ["e"], "4"));
  expect(keyring.cells.get("e")).toBe(4);
});

test("more keys than a block has cells get a second block, and their own cells", () => {
  const { cells, keyring, keys } = setUp();
  const ids = Array.from({ length: 5_000 }, (_, i) => `key_${i}`);
  keys.take(updateOf("1", ids));
  expect(cells.size).toBeGreaterThan(ids.length);
  expect(new Set(ids.map(keyring.cells.get)).size).toBe(ids.length);
  cells.count(keyring.cells.get("key_4999")!, "geolocate", 0, 1);
  const counted: string[] = [];
  keys.collect({ record: (keyId) => void counted.push(keyId) }, 0);
  expect(counted).toEqual(["key_4999"]);
});

test("usage is collected once, on the day of the lookup, and before another key gets the cell", () => {
  const { cells, keys } = setUp();
  keys.take(updateOf("1", ["a"]));
  const recorded: unknown[] = [];
  const sink = { record: (...row: unknown[]) => recorded.push(row) };
  const lastMinute = NOON - (NOON % DAY_MS) + DAY_MS - 1;
  cells.count(0, "geolocate", lastMinute, 3);
  cells.count(0, "email", lastMinute + 2, 1);
  keys.collect(sink, lastMinute + 500);
  keys.collect(sink, lastMinute + 600);
  expect(recorded).toHaveLength(2);
  expect(recorded).toContainEqual(["a", "geolocate", lastMinute + 500 - DAY_MS, 3]);
  expect(recorded).toContainEqual(["a", "email", lastMinute + 500, 1]);
  cells.count(0, "email", lastMinute + 700, 4);
  keys.take(updateOf("2", [], "1", ["a"]));
  keys.settle(2, sink, lastMinute + 800);
  expect(recorded.at(-1)).toEqual(["a", "email", lastMinute + 800, 4]);
});

test("what other hosts used counts against the quota, once", () => {
  const { cells, keys } = setUp();
  keys.take(updateOf("1", ["a"]));
  expect(cells.takeQuota(0, NOON, 100, 10)).toBe(10);
  for (const [stored, used] of [
    [40, 40],
    [40, 40],
    [45, 45],
  ] as const) {
    keys.takeStored("a", stored, NOON);
    expect(cells.usedOfQuota(0, NOON)).toBe(used);
  }
  expect(cells.takeQuota(0, NOON, 100, 100)).toBe(55);
  expect(cells.takeQuota(0, NOON + DAY_MS, 100, 100)).toBe(100);
});

test("a key that is given its quota in the course of the day has used what is in the store", () => {
  const { cells, keys } = setUp();
  keys.take(updateOf("1", ["a"]));
  keys.takeStored("a", 70, NOON);
  expect(cells.takeQuota(0, NOON, 100, 100)).toBe(30);
});
