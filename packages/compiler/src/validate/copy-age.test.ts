import { expect, test } from "bun:test";
import { type Age, ageOf, type CopyDates } from "./copy-gates.ts";

const NOW = new Date("2026-08-22T12:00:00Z");
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
const feed = { age: { staleHours: 12, dropHours: 240 } };

test.each<[string, CopyDates, Age]>([
  ["no date: ours", {}, "fresh"],
  ["confirmed just now", { confirmedAt: NOW }, "fresh"],
  ["at the limit", { confirmedAt: hoursAgo(12) }, "fresh"],
  ["past it", { confirmedAt: hoursAgo(12.001) }, "stale"],
  ["at the limit of speaking", { confirmedAt: hoursAgo(240) }, "stale"],
  ["past that", { confirmedAt: hoursAgo(240.001) }, "dropped"],
  ["only a date of publication, as a seed has", { publishedAt: hoursAgo(13) }, "stale"],
  [
    "confirmed now, made long ago: the publisher no longer updates it",
    { confirmedAt: NOW, publishedAt: hoursAgo(241) },
    "dropped",
  ],
  ["made now, in a file with an old time", { confirmedAt: hoursAgo(241), publishedAt: NOW }, "fresh"],
  ["a clock that went back", { confirmedAt: hoursAgo(-5) }, "fresh"],
])("%s", (_, dates, age) => {
  expect(ageOf(feed, dates, NOW)).toBe(age);
});

test("without a drop limit: stale, never dropped", () => {
  const kept = { age: { staleHours: 12, dropHours: Number.POSITIVE_INFINITY } };
  expect(ageOf(kept, { confirmedAt: new Date(0) }, NOW)).toBe("stale");
});
