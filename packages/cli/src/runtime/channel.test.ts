// How often a channel is looked at.

import { expect, test } from "bun:test";
import { pollMs } from "./channel.ts";

test("a channel that fails is looked at less and less often, and once a minute at least", () => {
  expect([0, 1, 2, 3, 4, 5, 100].map(pollMs)).toEqual([2_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
});
