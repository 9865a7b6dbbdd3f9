import { expect, test } from "bun:test";
import { type Age, ageOf } from "./copy-gates.ts";

const NOW = new Date("2026-08-22T12:00:00Z");
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
const feed = { age: { staleHours: 12, dropHours: 240 } };

test.each<[string, Parameters<typeof ageOf>[1], Age]>([
  ["no date: ours", {}, "fresh"],
  ["confirmed just now", { fetchedAt: NOW }, "fresh"],
  ["at the limit", { fetchedAt: hoursAgo(12) }, "fresh"],
  ["past it", { fetchedAt: hoursAgo(12.001) }, "stale"],
  ["at the limit of speaking", { fetchedAt: hoursAgo(240) }, "stale"],
  ["past that", { fetchedAt: hoursAgo(240.001) }, "dropped"],
  ["only a date of publication, as a seed has", { publishedAt: hoursAgo(13) }, "stale"],
  [
    "confirmed now, made long ago: the publisher no longer updates it",
    { fetchedAt: NOW, publishedAt: hoursAgo(241) },
    "dropped",
  ],
  ["made now, in a file with an old time", { fetchedAt: hoursAgo(241), publishedAt: NOW }, "fresh"],
  ["a clock that went back", { fetchedAt: hoursAgo(-5) }, "fresh"],
])("%s", (_, dates, age) => {
  expect(ageOf(feed, dates, NOW)).toBe(age);
});

test("without a drop limit: stale, never dropped", () => {
  const kept = { age: { staleHours: 12, dropHours: Number.POSITIVE_INFINITY } };
  expect(ageOf(kept, { fetchedAt: new Date(0) }, NOW)).toBe("stale");
});
