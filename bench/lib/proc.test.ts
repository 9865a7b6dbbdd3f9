// proc.test.ts: tests how the usage of a process is read.

import { expect, test } from "bun:test";
import { parseStat } from "./proc.ts";

test("a process's usage includes the children that it has waited for, whatever its name contains", () => {
  const stat = "41 (a) b (c) S 7 41 41 0 -1 4194304 100 20 3 4 50 6 70 8 20 0 1 0 999 1 1\n";
  expect(parseStat(stat)).toEqual({ parent: 7, cpu: 1_340_000, system: 140_000, pageFaults: 127 });
});
