import { expect, test } from "bun:test";
import { OffsetIds } from "./records.ts";

test("random offsets, against a Map", () => {
  let random = 11;
  const next = (below: number) => {
    random = (random * 48271) % 2147483647;
    return random % below;
  };
  const ids = new OffsetIds();
  const known = new Map<number, number>();
  let found = 0;
  for (let i = 0; i < 60_000; i++) {
    const offset = next(3) === 0 ? next(100_000) : next(2 ** 31 - 1) * 2 + next(2);
    expect(ids.get(offset)).toBe(known.get(offset));
    if (known.has(offset)) found++;
    const id = next(20) === 0 ? -1 : i;
    ids.set(offset, id);
    known.set(offset, id);
  }
  for (const [offset, id] of known) expect(ids.get(offset)).toBe(id);
  expect(known.size).toBeGreaterThan(20_000);
  expect(found).toBeGreaterThan(1_000);
});

test("the smallest and largest offsets", () => {
  const ids = new OffsetIds();
  const ends: [offset: number, id: number][] = [
    [0, -1],
    [2 ** 32 - 1, 2 ** 31 - 2],
    [1, 0],
  ];
  for (const [offset, id] of ends) ids.set(offset, id);
  for (const [offset, id] of ends) expect(ids.get(offset)).toBe(id);
  expect(ids.get(2)).toBeUndefined();
});
