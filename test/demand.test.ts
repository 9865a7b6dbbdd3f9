// Whether a limit was kept, from when lookups were sent and answered.

import { expect, test } from "bun:test";
import { type Allowed, load, mostAboveRate, usable } from "./demand.ts";

const BURST = 200;
/** A bucket that is emptied at once and then at its rate of 100 a second. */
const exact: readonly Allowed[] = Array.from({ length: 1_200 }, (_, i) => {
  const at = i < BURST ? 0 : (i - BURST) * 10 + 10;
  return { sent: at, received: at };
});

test("a bucket that is used up to the last does not exceed its limit, one lookup more does", () => {
  expect(mostAboveRate(exact, 100)).toBeLessThanOrEqual(BURST);
  expect(mostAboveRate(exact, 100)).toBeGreaterThan(BURST - 2);
  for (const at of [0, 500, 9_000]) {
    const more = Array.from({ length: 5 }, () => ({ sent: at + 1, received: at + 2 }));
    expect(mostAboveRate([...exact, ...more], 100)).toBeGreaterThan(BURST);
  }
  expect(mostAboveRate([], 100)).toBe(0);
});

test("a window in the middle counts as one from the beginning does", () => {
  const later = exact.map(({ sent, received }) => ({ sent: sent + 5_000, received: received + 5_000 }));
  expect(mostAboveRate(later, 100)).toBe(mostAboveRate(exact, 100));
});

test("answers that came late, and together, are no proof that they were decided together", () => {
  const late = Array.from({ length: 500 }, (_, i) => ({ sent: i * 10, received: 5_000 }));
  expect(mostAboveRate(late, 100)).toBeLessThan(10);
});

test("usable is what the limit leaves of the demand, or of each host's part of it", () => {
  const loaded = {
    seconds: 2,
    allowed: [],
    refused: 0,
    failed: 0,
    demand: [
      [400, 50],
      [10, 20],
    ],
  };
  expect(usable(loaded, { rate: 100, burst: 200 })).toBe(330);
  expect(usable(loaded, { rate: 100, burst: 200 }, () => 50)).toBe(130);
});

test("lookups are sent at their rates, and counted by how they were answered", async () => {
  const { allowed, refused, failed, demand } = await load({
    seconds: 1,
    rates: () => [300, 100, 50],
    lookUp: async (host) => [200, 429, 500][host]!,
  });
  expect([allowed.length, refused, failed]).toEqual(demand[0]! as number[]);
  expect(Math.abs(allowed.length - 300)).toBeLessThanOrEqual(1);
});
