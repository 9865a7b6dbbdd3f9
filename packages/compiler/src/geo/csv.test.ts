import { expect, test } from "bun:test";
import { csvLine, parseCsv } from "./csv.ts";

test("comments, the line of column names and empty lines are no rows", () => {
  expect(parseCsv("# a, comment\nx,y\n\n1,2\r\n3,\n")).toEqual([
    ["1", "2"],
    ["3", ""],
  ]);
});

test("what is written reads back", () => {
  const rows = [
    ['a "quoted", name', "b"],
    ["", "L'Aquila"],
  ];
  expect(parseCsv(`x,y\n${rows.map(csvLine).join("\n")}`)).toEqual(rows);
});

test("a row with a field too many is refused by its line", () => {
  expect(() => parseCsv("x,y\n1,2\n1,2,3\n")).toThrow("line 3: has 3 fields, want 2");
});
