import { expect, test } from "bun:test";
import { readOutcomeLine } from "./outcome-file.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const AT = Date.parse("2026-05-01T00:00:00Z");

test.each([
  ["a-1,fraud,2026-05-01T00:00:00Z", { ref: "a-1", outcome: "fraud", at: AT }],
  ["a-1,fraud,2026-05-01", { ref: "a-1", outcome: "fraud", at: AT + 86_399_999 }], // the whole day
  ['{"ref":"a-1","outcome":"fraud","at":"2026-06-01"}', { ref: "a-1", outcome: "fraud", at: NOW }],
  ['\uFEFF"a ""b"", c" , Legitimate\r', { ref: 'a "b", c', outcome: "legitimate" }],
  ['"a ""b"", c",Legitimate\r', { ref: 'a "b", c', outcome: "legitimate" }],
  ['{"ref":"a","outcome":"fraud","at":null}', { ref: "a", outcome: "fraud" }],
  ["a,none", { ref: "a", outcome: null }],
  ["ref,outcome,at", undefined],
  ["", undefined],
  ["a", "must have the columns ref, outcome and, optionally, at"],
  ["a,fraud,2026-05-01,x", "must have the columns ref, outcome and, optionally, at"],
  ["a,abuse", "outcome: must be one of legitimate, fraud, none"],
  ['a"b,fraud', "has a quotation mark in the wrong place"],
  ["a,fraud,yesterday", "at: must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z"],
  ["a,fraud,2026-06-02", "`at` is in the future"],
  [",fraud", "ref: is empty"],
  ['{"ref":1,"outcome":"fraud"}', "ref: must be text"],
  ['{"ref":"a\\u0000","outcome":"fraud"}', "ref: contains a control character, which no stored `ref` has"],
  ['{"ref":"a","outcome":"fraud","by":"x"}', "unknown field `by`"],
  ["{", "is not JSON"],
  ["x".repeat(2_000), "is longer than 1,024 characters"],
])("%j", (line, read) => {
  expect(readOutcomeLine(line, NOW)).toEqual(read as never);
});
