import { expect, test } from "bun:test";
import { parseNewKey } from "@inkling/store/keys/key-input";
import { Keyring } from "@inkling/store/keys/keyring";
import { hashToken } from "@inkling/store/keys/token";
import { keyUpdate } from "../../../../test/harness/key-updates.ts";
import { LimitCells } from "../limits/cells.ts";
import { AssignedCells } from "./assigned-cells.ts";

const NO_SINK = { record: () => expect.unreachable() };

function setUp() {
  const cells = new LimitCells(0);
  const keyring = new Keyring();
  return { cells, keyring, keys: new AssignedCells(cells, keyring) };
}

/** @param from see {@link keyUpdate} */
function updateOf(stamp: string, ids: readonly string[], from?: string, removed: readonly string[] = []) {
  const tokens = ids.map((id) => {
    const key = { ...parseNewKey({ name: id }, 0), id, hint: "", createdAt: 0, revokedAt: undefined };
    return { hash: hashToken(id), key, validUntil: undefined };
  });
  return keyUpdate(stamp, tokens, from, removed);
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
