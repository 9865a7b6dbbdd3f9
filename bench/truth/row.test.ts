import { expect, test } from "bun:test";
import { judged } from "./row.ts";

test.each([
  ["0", "0", "0"],
  ["88", "0", "88 (missed)"],
  ["1,002", "0", "1,002 (missed)"],
  ["9 of 62,745", "0", "9 of 62,745 (missed)"],
  ["0 of 8", "0", "0 of 8"],
  ["68.9 %", "at least 69 %", "68.9 % (missed)"],
  ["99.0 %", ">= 99 %", "99.0 %"],
  ["none", "at least 69 %", "none"],
  ["12", "as few as can be", "12"],
  ["50.0 %", "60 to 74 %", "50.0 % (missed)"],
  ["74.1 %", "60 to 74 %", "74.1 % (missed)"],
  ["60.0 %", "60 to 74 %", "60.0 %"],
  ["5", undefined, "5"],
])("%s of %s is shown as %s", (value, target, shown) => expect(judged({ value, target })).toBe(shown));
