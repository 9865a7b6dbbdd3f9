import { describe, expect, test } from "bun:test";
import { RateHeaders, secondsToMidnight } from "./rate-headers.ts";
import type { RateState } from "./token-bucket.ts";

const headers = new RateHeaders();
const NOON = Date.UTC(2026, 5, 1, 12);
const rate = (limit: number): RateState => ({
  allowed: true,
  limit,
  windowSeconds: 2,
  remaining: 1999,
  resetSeconds: 1,
  retryAfterSeconds: 0,
});

describe("rate headers", () => {
  test.each([
    ["a bucket", undefined, 2000, '"default";q=2000;w=2', '"default";r=1999;t=1'],
    [
      "a bucket and a quota",
      100,
      2000,
      '"default";q=2000;w=2, "daily";q=100;w=86400',
      '"default";r=1999;t=1, "daily";r=93;t=43200',
    ],
    ["a quota alone", 100, 0, '"daily";q=100;w=86400', '"daily";r=93;t=43200'],
    ["more used than allowed", 5, 0, '"daily";q=5;w=86400', '"daily";r=0;t=43200'],
    ["no limit", undefined, 0, undefined, ""],
  ])("%s", (_, quota, limit, policy, left) => {
    expect(headers.formatPolicy({ quota }, rate(limit))).toBe(policy as string);
    expect(headers.formatLeft({ quota }, rate(limit), 7, NOON)).toBe(left);
  });

  test("the day ends at midnight UTC, never now", () => {
    expect(secondsToMidnight(NOON)).toBe(43_200);
    expect(secondsToMidnight(Date.UTC(2026, 5, 1))).toBe(86_400);
    expect(secondsToMidnight(Date.UTC(2026, 5, 2) - 1)).toBe(1);
  });

  test("texts that are kept are never another's", () => {
    const decision = (remaining: number, resetSeconds: number, limit: number): RateState => ({
      ...rate(limit),
      remaining,
      resetSeconds,
    });
    const rows = [
      decision(7, 1, 2000),
      decision(7, 2, 2000), // the same number left, but full later
      decision(1024 + 7, 2, 9000),
      decision(2048 + 14, 2, 9000), // this value uses the same slot
      decision(2 ** 32 + 14 * 2 ** 21, 2, 2 ** 40), // this one as well
      decision(7, 1, 9000),
      decision(0, 0, 1),
    ];
    for (const row of [...rows, ...rows.toReversed()]) {
      const { limit, windowSeconds, remaining, resetSeconds } = row;
      expect(headers.formatPolicy({ quota: undefined }, row)).toBe(`"default";q=${limit};w=${windowSeconds}`);
      expect(headers.formatLeft({ quota: undefined }, row, 0, NOON)).toBe(
        `"default";r=${remaining};t=${resetSeconds}`,
      );
    }
    expect(headers.formatPolicy({ quota: undefined }, { ...rows[0]!, windowSeconds: 3 })).toBe(
      '"default";q=2000;w=3',
    );
  });

  test.each([
    [2047, 2047],
    [2048, 2048],
    [2049, 2048],
    [4095, 4094],
    [8191, 8188],
    [1_000_000, 999_936],
    [10_000_000, 9_994_240],
  ])("of %i left the first 11 bits are shown: %i", (remaining, shown) => {
    const left = { ...rate(10_000_000), remaining };
    expect(headers.formatLeft({ quota: undefined }, left, 0, NOON)).toBe(`"default";r=${shown};t=1`);
  });
});
