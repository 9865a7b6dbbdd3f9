import { describe, expect, test } from "bun:test";
import type { Decision } from "./bucket.ts";
import { rateLeft, ratePolicy, secondsToMidnight } from "./rate-headers.ts";

const NOON = Date.UTC(2026, 5, 1, 12);
const rate = (limit: number): Decision => ({
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
    expect(ratePolicy({ quota }, rate(limit))).toBe(policy as string);
    expect(rateLeft({ quota }, rate(limit), 7, NOON)).toBe(left);
  });

  test("the day ends at midnight UTC, never now", () => {
    expect(secondsToMidnight(NOON)).toBe(43_200);
    expect(secondsToMidnight(Date.UTC(2026, 5, 1))).toBe(86_400);
    expect(secondsToMidnight(Date.UTC(2026, 5, 2) - 1)).toBe(1);
  });
});
