import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DOMAIN_SOURCES, shareOf } from "../catalog/domain-lineage.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { independentWeight, type WeightedList } from "./lineage.ts";

const list = (feed: string, weight: number, ...lineage: string[]): WeightedList => ({
  feed,
  weight,
  lineage,
});

describe("independentWeight", () => {
  test.each<[string, WeightedList[], number]>([
    ["no lists", [], 0],
    ["one", [list("a", 2)], 2],
    ["two that know nothing of each other", [list("a", 1), list("b", 1)], 2],
    ["a copy", [list("a", 1), list("copy", 1, "a")], 1],
    ["a heavier copy", [list("a", 1), list("copy", 2, "a")], 2],
    ["two copies without their original", [list("x", 1, "a"), list("y", 1, "a")], 1],
    [
      "one that copies both does not lower their weight",
      [list("a", 1), list("b", 1), list("all", 1, "a", "b")],
      2,
    ],
    ["and stands beside a third", [list("a", 1), list("all", 1, "a", "b"), list("c", 1)], 2],
    [
      "one that copies two weighs more than each, less than both",
      [list("a", 1), list("b", 1), list("all", 3, "a", "b")],
      3,
    ],
  ])("%s", (_, lists, weight) => {
    expect(independentWeight(lists)).toBe(weight);
    expect(independentWeight(lists.toReversed())).toBe(weight);
  });

  test("a hundred lists in pairs that copy each other: as quick as a few", () => {
    const pairs = Array.from({ length: 50 }, (_, i) => [list(`a${i}`, 1), list(`b${i}`, 2, `a${i}`)]);
    expect(independentWeight(pairs.flat())).toBe(100);
  });

  test("matches a brute-force search; one more list never lowers the weight", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const weighted = fc.record({
      feed: fc.constantFrom(...names),
      weight: fc.integer({ min: 1, max: 6 }),
      lineage: fc.subarray(names, { maxLength: 2 }),
    });
    let dependent = 0;
    fc.assert(
      fc.property(fc.uniqueArray(weighted, { selector: (w) => w.feed, maxLength: 6 }), (lists) => {
        const got = independentWeight(lists);
        expect(got).toBe(bySets(lists));
        expect(independentWeight(lists.slice(1))).toBeLessThanOrEqual(got);
        if (got < lists.reduce((sum, { weight }) => sum + weight, 0)) dependent++;
      }),
      { numRuns: 300 },
    );
    expect(dependent).toBeGreaterThan(100);
  });
});

/** Finds the best weight by trying all 2^n sets. A set counts only if no two of its lists share an origin. */
function bySets(lists: readonly WeightedList[]): number {
  let best = 0;
  for (let set = 0; set < 2 ** lists.length; set++) {
    const chosen = lists.filter((_, i) => (set >> i) & 1);
    const origins = chosen.flatMap(({ feed, lineage = [] }) => [...new Set([feed, ...lineage])]);
    if (new Set(origins).size < origins.length) continue;
    best = Math.max(
      best,
      chosen.reduce((sum, { weight }) => sum + weight, 0),
    );
  }
  return best;
}

test("the lineage of each feed names the lineage of what it copies, and no feed copies itself", () => {
  const lineageOf = new Map(FEEDS.map(({ id, lineage = [] }) => [id, lineage]));
  expect([...lineageOf.values()].some((lineage) => lineage.length > 0)).toBe(true);
  for (const [id, lineage] of lineageOf) {
    const copied = lineage.flatMap((feed) => lineageOf.get(feed) ?? []);
    expect([id, copied.filter((feed) => !lineage.includes(feed))]).toEqual([id, []]);
    expect([id, lineage.includes(id)]).toEqual([id, false]);
  }
});

test("sources of domain lists are declared only if the shares of entries do not show them", () => {
  const ids = new Set(FEEDS.map(({ id }) => id));
  for (const { list, source, why } of DOMAIN_SOURCES) {
    const isShown = shareOf(source, list) >= 0.75 && shareOf(list, source) < shareOf(source, list);
    expect([list, source, isShown]).toEqual([list, source, why === undefined]);
    expect([ids.has(list), ids.has(source)]).toEqual([true, true]);
  }
  expect(DOMAIN_SOURCES.filter(({ why }) => why === undefined).length).toBeGreaterThan(4);
});
