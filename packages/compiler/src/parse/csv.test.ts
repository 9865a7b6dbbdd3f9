import { expect, test } from "bun:test";
import { csvLine, forEachRow } from "./csv.ts";

const parse = (text: string, columns?: readonly string[]) => {
  const rows: (readonly string[])[] = [];
  forEachRow(text, (row, line) => rows.push([`${line}`, ...row]), columns);
  return rows;
};

test("comments, the header line and empty lines are skipped", () => {
  expect(parse("# a, comment\nx,y\n\n1,2\r\n3,\n")).toEqual([
    ["4", "1", "2"],
    ["5", "3", ""],
  ]);
});

test("written fields read back", () => {
  const rows = [
    ['a "quoted", name', "b"],
    ["", "L'Aquila"],
  ];
  expect(parse(`x,y\n${rows.map(csvLine).join("\n")}`)).toEqual(rows.map((row, i) => [`${i + 2}`, ...row]));
});

const refused: readonly [name: string, text: string, message: string][] = [
  ["a field too many", "x,y\n1,2\n1,2,3\n", "line 3 does not have 2 fields"],
  ["a field too few", "x,y\n1\n", "line 2 does not have 2 fields"],
  ["a quote inside a field", 'x,y\n1,a"b\n', "line 2 does not have 2 fields"],
  ["a quote without its end", 'x,y\n1,"b\n', "line 2 does not have 2 fields"],
  ["another header", "x,z\n1,2\n", "line 1 is not the header x,y"],
  ["no header", "# nothing\n", "lacks its header x,y"],
];
test.each(refused)("%s is refused", (_name, text, message) => {
  expect(() => parse(text, ["x", "y"])).toThrow(message);
});
