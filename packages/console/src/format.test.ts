import { expect, test } from "bun:test";
import { formatDuration, formatRelative } from "./format.ts";

test.each([
  [0, "0 seconds"],
  [59.6, "1 minute"],
  [89, "1 minute"],
  [91, "2 minutes"],
  [3_599, "1 hour"],
  [86_399, "1 day"],
  [7 * 86_400 - 1, "7 days"],
  [6.4 * 86_400, "6 days"],
] as const)("%p seconds are %p, which is the nearest number", (seconds, text) =>
  expect(formatDuration(seconds)).toBe(text),
);

test("an expiry in a week is in 7 days, however long the answer took", () => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  expect([7, -3].map((days) => formatRelative(at(days)))).toEqual(["in 7 days", "3 days ago"]);
});
