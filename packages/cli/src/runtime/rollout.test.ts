// Tests how a roll-out is reported.

import { expect, test } from "bun:test";
import { rolloutText } from "./rollout.ts";

test("of a roll-out without a server the text names how many others report", () => {
  const none = { ready: [], failed: [], waiting: [] };
  expect(rolloutText({ ...none, others: 0 })).toBe("no server in the roll-out sends reports");
  expect(rolloutText({ ...none, others: 3 })).toBe(
    "none of the 3 reporting servers is in this share: no server has tried the release",
  );
  expect(rolloutText({ ...none, ready: ["a"], others: 3 })).toBe(
    "1 of 1 servers in the roll-out report the release ready",
  );
});
