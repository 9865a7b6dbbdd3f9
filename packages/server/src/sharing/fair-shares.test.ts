import { expect, test } from "bun:test";
import { FairShares } from "./fair-shares.ts";

/** Lets each key take one unit in turn, until no key gets more. */
function takeAll(shares: FairShares, keys: readonly string[]): number[] {
  const most = 5_000;
  for (let round = 0; round < most; round++) for (const key of keys) shares.take(key);
  return keys.map((key) => shares.of(key));
}
const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `key_${i}`);

test.each([
  [128, 32],
  [64, 48],
  [4096, 3072],
  [32, 8],
])("of %i one key alone gets %i", (capacity, alone) => {
  expect(takeAll(new FairShares(capacity, alone), ["a"])).toEqual([alone]);
});

test.each([2, 3, 6, 20])("%i greedy keys get the same, and something is left", (count) => {
  const shares = new FairShares(128, 32);
  const parts = takeAll(shares, keysOf(count));
  expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
  expect(Math.min(...parts)).toBeGreaterThan(0);
  expect(shares.taken).toBe(parts.reduce((a, b) => a + b));
  expect(shares.taken).toBeLessThan(128);
  expect(shares.take("late")).toBe(true);
});

test("a key that has none gets the last one; nobody gets more than there is", () => {
  const shares = new FairShares(4, 3);
  expect(takeAll(shares, ["a"])).toEqual([3]);
  expect([shares.take("b"), shares.take("b"), shares.take("c"), shares.taken]).toEqual([
    true,
    false,
    false,
    4,
  ]);
});

test("what is given back can be taken again, by another key too", () => {
  const shares = new FairShares(128, 32);
  takeAll(shares, ["a"]);
  shares.giveBack("a", 30);
  expect([shares.of("a"), shares.taken]).toEqual([2, 2]);
  shares.giveBack("a", 2);
  expect(takeAll(shares, ["b"])).toEqual([32]);
});

test("amounts: all of it or nothing", () => {
  const MIB = 1024 * 1024;
  const shares = new FairShares(128 * MIB, 32 * MIB);
  for (let i = 0; i < 32; i++) expect(shares.take("a", MIB)).toBe(true);
  expect(shares.take("a", 1)).toBe(false);
  expect(shares.of("a")).toBe(32 * MIB);
});
