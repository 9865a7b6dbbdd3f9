import { expect, test } from "bun:test";
import { subjectOf } from "./subject.ts";

test.each([
  ["8.8.8.8", "address"],
  ["::ffff:8.8.8.8", "address"],
  ["8.8.8.8/24", "network"],
  ["AS60729", "as"],
  ["as4294967296", undefined],
  ["ada@example.com", "email"],
  ["8.8.8.8@", "email"],
  ["münchen.example", "domain"],
  ["mailinator", undefined],
  ["8.8.8.8.8", undefined],
  ["8.8.8.8/33", undefined],
  ["example.com/24", undefined],
])("%s: %s", (value, kind) => {
  expect(subjectOf(value)?.kind).toEqual(kind as never);
});
