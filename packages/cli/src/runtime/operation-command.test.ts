import { expect, test } from "bun:test";
import { plainText } from "./operation-command.ts";

test("a list without a text of its own is a table with a column for each field", () => {
  const rows = [
    { id: "a", created_at: null, events: ["x"] },
    { id: "b\u001b", created_at: "2027-01-31", by: 3 },
  ];
  expect(plainText({ rows, next_cursor: null }).split("\n")).toEqual([
    "ID  CREATED AT  EVENTS  BY",
    'a   -           ["x"]   -',
    "b\ufffd  2027-01-31  -       3",
  ]);
});

test("any other output has a line for each field", () =>
  expect(plainText({ id: "a", deleted: 3, note: null }).split("\n")).toEqual([
    "id       a",
    "deleted  3",
    "note     -",
  ]));
