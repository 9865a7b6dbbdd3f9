// Tests the age of data, which is the time since publishers created the data, not the time since its download or build.
// The tests also cover what is shown of long lists.

import { expect, test } from "bun:test";
import { dataAges, type FeedReport } from "@inkling/engine";
import { attributions, conflictsText, dataAge, feedAge, oldestData, overdueData } from "./release-tables.ts";
import { makeStyle, printSources } from "./terminal.ts";

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
  ["a mirror's file without a date in it", { source: "mirror", fetched_at: TODAY }, "1 hour (file)"],
  [
    "a mirror's file with the publisher's date",
    { source: "mirror", published_at: "2026-03-06T12:00:00.000Z", fetched_at: TODAY },
    "169 days",
  ],
] satisfies [string, Partial<FeedReport>, string][])("of a feed: %s", (_name, times, want) =>
  expect(feedAge(feed("geolocation", times), NOW)).toBe(want),
);

test("of an answer: of feeds that are loaded", () => {
  const feeds = [
    feed("geolocation", { published_at: "2026-03-06T12:00:00.000Z", fetched_at: TODAY }),
    feed("geolocation", { published_at: "2026-08-21T12:00:00.000Z" }),
    feed("geolocation", { published_at: "2020-01-01T00:00:00.000Z", state: "expired" }),
    feed("registered_country", { published_at: "2020-01-01T00:00:00.000Z" }),
    feed("is_proxy", { fetched_at: TODAY }),
    feed("is_tor_exit", { source: "own" }),
  ];
  expect(dataAge(feeds, NOW)).toBe("geolocation 169 days, is_proxy 1 hour");
  expect(dataAges(feeds, NOW.getTime())).toEqual([
    { answer: "geolocation", feed: "x", seconds: 169 * 86_400 },
    { answer: "is_proxy", feed: "x", seconds: 3_600 },
  ]);
  expect(dataAge([], NOW)).toBe("");
});

test("the oldest of all data, and answers whose data is older than its feed should be", () => {
  const feeds = [
    { ...feed("geolocation", { published_at: "2026-03-06T12:00:00.000Z" }), id: "dbip-city-lite" },
    { ...feed("is_proxy", { fetched_at: TODAY }), id: "x4bnet-vpn-v4" },
    { ...feed("is_abuser", { published_at: "2026-08-01T12:00:00.000Z" }), id: "unknown-to-this-version" },
  ];
  expect(oldestData(feeds, NOW)).toBe("; oldest data: 169 days");
  expect(oldestData([], NOW)).toBe("");
  const limits: Record<string, number> = { "dbip-city-lite": 60 * 24, "x4bnet-vpn-v4": 24 };
  const found = overdueData(feeds, (id) => limits[id], NOW);
  expect(found).toEqual(["geolocation (dbip-city-lite, stale after 60 days)"]);
});

test("of many domains that lists disagree on those are shown where a wrong verdict refuses people", () => {
  const of = (verdict: string) => (_: unknown, i: number) => ({
    domain: `${verdict === "disposable" ? "z" : "a"}${i}.com`,
    verdict,
    reason: "r",
  });
  const few = Array.from({ length: 3 }, of("not disposable"));
  expect(conflictsText([], undefined)).toBe("");
  expect(conflictsText(few, undefined).split("\n")).toHaveLength(4);
  const many = [
    ...Array.from({ length: 1_200 }, of("not disposable")),
    ...Array.from({ length: 4 }, of("disposable")),
  ];
  const lines = conflictsText(many, undefined).split("\n");
  expect(lines.slice(1, 6).map((line) => line.split(" ")[0]!)).toEqual([
    "z0.com",
    "z1.com",
    "z2.com",
    "z3.com",
    "a0.com",
  ]);
  expect(lines.slice(6)).toEqual([
    "and 1,199 more (in all 4 disposable, 1,200 not): run `inkling data status --json` to list them.",
  ]);
});

test("attributions below an answer: one line, that of the place; all of them on request", () => {
  const feeds = [
    feed("is_abuser", { attribution: "(c) Lists" }),
    feed("geolocation", { attribution: "Places by P, https://p.example" }),
    feed("registered_country", { attribution: "Registries" }),
    feed("registered_country", { attribution: "Registries" }),
  ];
  const shown = (texts: readonly string[], isWhole: boolean) => {
    let out = "";
    const err = (text: string) => {
      out += text;
    };
    printSources({ err, style: makeStyle(false) }, texts, isWhole);
    return out;
  };
  const texts = attributions(feeds);
  expect(shown(texts, false)).toBe("Places by P, https://p.example, and 2 more: --attribution\n");
  expect(shown(texts, true)).toBe("Places by P, https://p.example\n(c) Lists\nRegistries\n");
  expect(shown(texts.slice(0, 1), false)).toBe("Places by P, https://p.example\n");
  expect(shown([], false)).toBe("");
});
