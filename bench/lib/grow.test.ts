import { describe, expect, test } from "bun:test";
import { RangeColumns } from "@inkling/engine";
import { randomWords } from "../../test/random.ts";
import { growRanges, newPlaceShare } from "./grow.ts";

/** Ranges with gaps between some of them, sizes from one address to many. */
function sample(family: 4 | 6, count: number): RangeColumns {
  const next = randomWords(7);
  const columns = new RangeColumns(family);
  columns.append(0, 0, 0, 0, 0);
  let word = 2 ** 24;
  for (let i = 0; i < count; i++) {
    columns.append(word, 0, 0, 0, i % 7 === 0 ? 0 : 1 + (i % 500));
    word += 1 + (next() % 2 ** (next() % 16));
  }
  columns.append(word, 0, 0, 0, 0);
  return columns;
}

const valueAt = ({ starts, values, width, length }: RangeColumns, words: readonly number[]) => {
  let found = 0;
  for (let i = 0; i < length; i++) {
    const order = words
      .map((word, k) => (k < width ? starts[i * width + k]! - word : 0))
      .find((d) => d !== 0);
    if ((order ?? 0) > 0) break;
    found = values[i]!;
  }
  return found;
};

describe.each([4, 6] as const)("IPv%d", (family) => {
  const before = sample(family, 2_000);
  const { columns, besides } = growRanges(before, 10, 0.05, 501, randomWords(1));

  test("grows to about the size that was asked for", () => {
    expect(columns.length / before.length).toBeGreaterThan(6);
    expect(columns.length / before.length).toBeLessThan(12);
    expect(besides.length).toBeGreaterThan(300);
  });

  test("starts rise, and neighbours differ", () => {
    for (let i = 1; i < columns.length; i++) {
      const words = Array.from({ length: columns.width }, (_, k) => [
        columns.starts[(i - 1) * columns.width + k]!,
        columns.starts[i * columns.width + k]!,
      ]);
      const [a, b] = words.find(([x, y]) => x !== y) ?? [0, 0];
      expect(b!).toBeGreaterThan(a!);
      expect(columns.values[i]).not.toBe(columns.values[i - 1]!);
    }
  });

  test("what nothing is known about stays so, what was known stays known", () => {
    for (let i = 0; i < before.length; i += 13) {
      const words = Array.from(before.starts.subarray(i * before.width, (i + 1) * before.width));
      expect(valueAt(columns, words)).toBe(before.values[i]!);
    }
    const largest = columns.values.subarray(0, columns.length).reduce((a, b) => Math.max(a, b));
    expect(largest).toBe(500 + besides.length);
  });

  test("once is the same again", () => {
    const same = growRanges(before, 1, 0, 501, randomWords(1));
    expect(same.columns.length).toBe(before.length);
    expect(same.besides).toEqual([]);
  });
});

test("places grow slower than ranges", () => {
  const added = 1000 * 9 * newPlaceShare(1000, 100, 10);
  expect((100 + added) / 100).toBeCloseTo(10 ** 0.7, 5);
});
