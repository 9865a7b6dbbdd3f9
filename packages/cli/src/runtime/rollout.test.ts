// What a roll-out is reported as.

import { expect, test } from "bun:test";
import { rolloutText } from "./rollout.ts";

test("of a roll-out without a server the text names how many others report", () => {
  const none = { ready: [], failed: [], waiting: [] };
  expect(rolloutText({ ...none, others: 0 })).toBe("no server of the roll-out reports");
  expect(rolloutText({ ...none, others: 3 })).toBe(
    "none of the 3 servers that report is in this share: nobody has tried the release",
  );
  expect(rolloutText({ ...none, ready: ["a"], others: 3 })).toBe(
    "1 of 1 servers of the roll-out report it ready",
  );
});
