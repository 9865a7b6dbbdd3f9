import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PrefixIndex } from "./ranges.ts";

/** Returns a cell that names node `i`. Such cells are negative. */
const cellOf = (i: number) => -1 - i;

const SETS: readonly (readonly [name: string, firsts: readonly number[]])[] = [
  ["none", []],
  ["one", [0x20010db8]],
  ["the first and the last", [0, -1]],
  ["neighbours", Array.from({ length: 10_000 }, (_, i) => 0x26000000 + i)],
  ["a /16 each", Array.from({ length: 4_096 }, (_, i) => (i << 20) | 0)],
];

describe("a prefix index", () => {
  for (const [name, firsts] of SETS) {
    test(`of ${name} has these and no others`, () => {
      const index = new PrefixIndex(firsts.flatMap((first, i) => [first, cellOf(i)]));
      firsts.forEach((first, i) => {
        assert.equal(index.find(first), cellOf(i));
      });
      const known = new Set(firsts);
      const others = [
        0,
        1,
        -1,
        0x7fffffff,
        ...firsts.map((first) => ~first),
        ...firsts.map((f) => (f + 7) | 0),
      ];
      let lookups = 0;
      for (const other of others) {
        if (known.has(other)) continue;
        assert.equal(index.find(other), 0);
        lookups++;
      }
      assert.ok(lookups > 0);
    });
  }
});
