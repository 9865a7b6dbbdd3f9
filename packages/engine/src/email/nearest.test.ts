import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { editDistance, nearest } from "./nearest.ts";

describe("edits between two words", () => {
  const rows: readonly [a: string, b: string, edits: number][] = [
    ["", "", 0],
    ["port", "port", 0],
    ["prot", "port", 1],
    ["por", "port", 1],
    ["ports", "port", 1],
    ["kitten", "sitting", 3],
    ["", "abc", 3],
  ];
  for (const [a, b, edits] of rows)
    test(`"${a}" to "${b}": ${edits}`, () => {
      assert.equal(editDistance(a, b), edits);
      assert.equal(editDistance(b, a), edits);
    });
});

describe("the nearest name", () => {
  const names = ["port", "host", "admin_port", "data_dir"];
  const rows: readonly [word: string, near: string | undefined][] = [
    ["prot", "port"],
    ["admin_prot", "admin_port"],
    ["datadir", "data_dir"],
    ["x", undefined],
    ["something_else", undefined],
  ];
  for (const [word, near] of rows) test(`${word}: ${near}`, () => assert.equal(nearest(word, names), near));
});
