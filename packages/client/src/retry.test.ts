import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseRetryAfter, pauseMs } from "./retry.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

describe("Retry-After", () => {
  const rows: [header: string | null, seconds: number | undefined][] = [
    [null, undefined],
    ["0", 0],
    [" 12 ", 12],
    ["-1", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["Thu, 01 Jan 2026 12:00:07 GMT", 7],
    ["Thu, 01 Jan 2026 11:00:00 GMT", 0],
    ["2026-01-01", undefined],
  ];
  for (const [header, seconds] of rows)
    test(`${header}`, () => assert.equal(parseRetryAfter(header, NOW), seconds));
});

describe("a pause", () => {
  const rows: [failures: number, retryAfter: number | undefined, random: number, ms: number][] = [
    [1, undefined, 0, 50],
    [1, undefined, 1, 100],
    [2, undefined, 1, 200],
    [4, undefined, 1, 800],
    [20, undefined, 1, 10_000],
    [1, 3, 0, 3_000],
    [5, 3, 1, 3_750],
    [1, 0, 1, 0],
  ];
  for (const [failures, retryAfter, random, ms] of rows)
    test(`${failures}, ${retryAfter}, ${random}`, () =>
      assert.equal(pauseMs(failures, retryAfter, random), ms));
});
