// How often a channel is looked at, and what a roll-out is reported as.

import { expect, test } from "bun:test";
import { pollMs } from "./channel.ts";
import { rolloutText } from "./rollout.ts";

test("a channel that fails is looked at less and less often, and once a minute at least", () => {
  expect([0, 1, 2, 3, 4, 5, 100].map(pollMs)).toEqual([2_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
});

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
