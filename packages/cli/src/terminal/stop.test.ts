import { expect, test } from "bun:test";
import { makeStopRule } from "./stop.ts";

const rows: [name: string, times: number[], meanings: string[]][] = [
  ["one key press through npm, launcher and terminal", [0, 2, 5], ["first", "repeat", "repeat"]],
  ["two key presses", [0, 1_000], ["first", "again"]],
  [
    "two key presses, each received three times",
    [0, 3, 5, 900, 902],
    ["first", "repeat", "repeat", "again", "again"],
  ],
];
test.each(rows)("%s", (_, times, meanings) => {
  const rule = makeStopRule();
  expect(times.map(rule) as string[]).toEqual(meanings);
});
