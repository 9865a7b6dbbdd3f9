// The age of data: when publishers made it, never when it was downloaded or built.

import { expect, test } from "bun:test";
import { dataAges, type FeedReport } from "@inkling/engine";
import { dataAge, feedAge } from "./release-tables.ts";

const NOW = new Date("2026-08-22T12:00:00.000Z");
const TODAY = "2026-08-22T11:00:00.000Z";
const feed = (sets: string, more: Partial<FeedReport>): FeedReport => ({
  id: "x",
  sets,
  source: "fetched",
  state: "loaded",
  entries: 1,
  licence: "",
  ...more,
});

test.each([
  [
    "published long before it was downloaded",
    { published_at: "2026-03-06T12:00:00.000Z", fetched_at: TODAY },
    "169 days",
  ],
  ["the publisher gives no time", { fetched_at: TODAY }, "1 hour"],
  ["no time at all", {}, "-"],
])("of a feed: %s", (_name, times, want) => expect(feedAge(feed("geolocation", times), NOW)).toBe(want));

test("of an answer: the oldest copy behind it, of feeds that are loaded", () => {
  const feeds = [
    feed("geolocation", { published_at: "2026-03-06T12:00:00.000Z", fetched_at: TODAY }),
    feed("geolocation", { published_at: "2026-08-21T12:00:00.000Z" }),
    feed("geolocation", { published_at: "2020-01-01T00:00:00.000Z", state: "expired" }),
    feed("registered_country", { published_at: "2020-01-01T00:00:00.000Z" }),
    feed("is_proxy", { fetched_at: TODAY }),
    feed("is_tor_exit", { source: "own" }),
  ];
  expect(dataAge({ feeds }, NOW)).toBe("geolocation 169 days, is_proxy 1 hour");
  expect(dataAges(feeds, NOW.getTime())).toEqual([
    { answer: "geolocation", seconds: 169 * 86_400 },
    { answer: "is_proxy", seconds: 3_600 },
  ]);
  expect(dataAge({ feeds: [] }, NOW)).toBe("");
});
