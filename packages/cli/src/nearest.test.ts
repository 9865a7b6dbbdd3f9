import { expect, test } from "bun:test";
import { editDistance, nearest } from "./nearest.ts";

const distances: [a: string, b: string, edits: number][] = [
  ["", "", 0],
  ["port", "port", 0],
  ["prot", "port", 1],
  ["por", "port", 1],
  ["ports", "port", 1],
  ["kitten", "sitting", 3],
  ["", "abc", 3],
];
test.each(distances)("%p to %p: %d", (a, b, edits) => {
  expect(editDistance(a, b)).toBe(edits);
  expect(editDistance(b, a)).toBe(edits);
});

const names = ["port", "host", "admin_port", "data_dir"];
const rows: [word: string, near: string | undefined][] = [
  ["prot", "port"],
  ["admin_prot", "admin_port"],
  ["datadir", "data_dir"],
  ["x", undefined],
  ["something_else", undefined],
];
test.each(rows)("near %p: %p", (word, near) => expect(nearest(word, names)).toBe(near));
