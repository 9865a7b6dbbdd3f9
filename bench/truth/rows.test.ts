// Tests the tables of figures: a column for each build, targets that are missed, and samples that are missing.

import { expect, test } from "bun:test";
import { type TruthRow, table } from "./rows.ts";

const row = (value: string | undefined, target?: string, mode: TruthRow["mode"] = "mirror"): TruthRow => ({
  measure: "found",
  sample: "s",
  mode,
  value,
  target,
  seen: "held out",
});

test.each([
  ["0", "0", "0"],
  ["3 of 1,000", "0", "3 of 1,000 (missed)"],
  ["5", "at most 5", "5"],
  ["6", "at most 5", "6 (missed)"],
  ["90.0%", "at least 90%", "90.0%"],
  ["89.9%", "at least 90%", "89.9% (missed)"],
  ["8 of 12", "at least 12", "8 of 12 (missed)"],
  ["75.1%", "60 to 75%", "75.1% (missed)"],
  ["60.0%", "60 to 75%", "60.0%"],
  ["1,200", "at most 1300", "1,200"],
  ["7", "as few as can be", "7"],
])("%p, wanted is %p: %p", (value, target, shown) => {
  expect(table([row(value, target)])).toContain(`| s | found | ${shown} | ${target} |`);
});

test("both builds share a line where all else is the same; what was not measured says why", () => {
  const rows: TruthRow[] = [
    row("91%", "at least 90%"),
    row("80%", "at least 90%", "seeds"),
    { ...row(undefined), seen: "not measured: lacks a mirror" },
  ];
  expect(table(rows).split("\n").slice(2, -1)).toEqual([
    "| s | found | 91% | 80% (missed) | at least 90% | held out |",
    "| s | found |  |  |  | not measured: lacks a mirror |",
  ]);
});
