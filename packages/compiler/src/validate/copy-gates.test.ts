// Tests which copies pass, given the last good copy, with each gate at its limit.

import { describe, expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { parseGeofeed } from "../parse/geofeed.ts";
import { comparePrefixes } from "../parse/network-list.ts";
import {
  type Comparable,
  requireLikeness,
  requireLikeSpace,
  requireNewer,
  requirePast,
  requireWholeLines,
} from "./copy-gates.ts";
import { spaceOf } from "./space.ts";

const HOUR = 3_600_000;
const NOW = new Date("2026-08-22T12:00:00.000Z");
const at = (hours: number) => new Date(NOW.getTime() + hours * HOUR);
const feed = (more: Partial<Feed> = {}): Feed => ({ ...FEEDS[0]!, change: 0.4, ...more });
const problem = (check: () => void): string => {
  try {
    check();
    return "passes";
  } catch (error) {
    return (error as Error).name;
  }
};
const prefixes = (...texts: string[]) => texts.map((text) => parsePrefix(text)!).sort(comparePrefixes);

const networks = (count: number, from = 0): Comparable => {
  const list = Array.from(
    { length: count },
    (_, i) => parsePrefix(`45.66.${(from + i) >> 8}.${(from + i) & 255}`)!,
  );
  const claims = { feed: "x", subject: "is_tor_exit", label: "tor_exit", networks: list } as const;
  return { entries: count, networks: [claims] };
};
const domains = (count: number, from = 0): Comparable => ({
  entries: count,
  domains: {
    feed: "x",
    subject: "disposable",
    domains: new Map(Array.from({ length: count }, (_, i) => [`a${from + i}.com`, ""])),
  },
});
/** Returns a hundred networks. The first `moved` of them are in a different country than the rest. */
const geofeed = (moved: number): Comparable => {
  const { networks, stated } = parseGeofeed(
    new TextEncoder().encode(
      Array.from({ length: 100 }, (_, i) => `45.66.1.${i},${i < moved ? "DE" : "US"},,,`).join("\n"),
    ),
  );
  return { entries: networks.length, stated };
};
const counted = (entries: number): Comparable => ({ entries });

describe("change against the last good copy", () => {
  const rows: readonly [name: string, next: Comparable, last: Comparable, verdict: string][] = [
    ["the same", networks(100), networks(100), "passes"],
    ["40% added", networks(140), networks(100), "passes"],
    ["41% added", networks(141), networks(100), "FeedError"],
    ["40% in another country", geofeed(40), geofeed(0), "passes"],
    ["41% in another country", geofeed(41), geofeed(0), "FeedError"],
    ["40% gone", networks(60), networks(100), "passes"],
    ["41% gone", networks(59), networks(100), "FeedError"],
    ["40% others, as many as before", networks(100, 40), networks(100), "passes"],
    ["41% others, as many as before", networks(100, 41), networks(100), "FeedError"],
    ["domains: 40% others", domains(100, 40), domains(100), "passes"],
    ["domains: 41% others", domains(100, 41), domains(100), "FeedError"],
    ["databases: 40% more", counted(140), counted(100), "passes"],
    ["databases: 41% more", counted(141), counted(100), "FeedError"],
    ["databases: 41% fewer", counted(59), counted(100), "FeedError"],
    ["nothing before", networks(100), networks(0), "passes"],
    ["nothing after", networks(0), networks(100), "FeedError"],
  ];
  test.each(rows)("%s", (_name, next, last, verdict) => {
    expect(problem(() => requireLikeness(feed(), next, last))).toBe(verdict);
  });
  test("a list without a change limit passes", () => {
    const any = feed({ change: Number.POSITIVE_INFINITY });
    expect(problem(() => requireLikeness(any, networks(100, 500), networks(100)))).toBe("passes");
  });
});

describe("covered space against the last good copy", () => {
  const claims = (...texts: string[]) =>
    [{ feed: "x", subject: "is_proxy", label: "vpn", networks: prefixes(...texts) }] as const;
  const sixteens = Array.from({ length: 10 }, (_, i) => `45.${i}.0.0/16`);
  const thirtyTwos = Array.from({ length: 10 }, (_, i) => `2a0b:${i}::/32`);
  const rows: readonly [name: string, next: readonly string[], last: readonly string[], verdict: string][] = [
    ["the same", sixteens, sixteens, "passes"],
    ["40% added", [...sixteens, "46.0.0.0/14"], sixteens, "passes"],
    ["40% and one address added", [...sixteens, "46.0.0.0/14", "47.0.0.1"], sixteens, "FeedError"],
    ["one entry of ten wider", ["45.0.0.0/13", ...sixteens.slice(8)], sixteens, "passes"],
    ["one entry of ten much wider", [...sixteens, "46.0.0.0/12"], sixteens, "FeedError"],
    ["inside of what is covered", [...sixteens, "45.0.0.0/17"], sixteens, "passes"],
    ["60% gone", sixteens.slice(6), sixteens, "FeedError"],
    ["a small list: a /16 more", ["45.0.0.1", "46.0.0.0/16"], ["45.0.0.1"], "passes"],
    ["a small list: a /15 more", ["45.0.0.1", "46.0.0.0/15"], ["45.0.0.1"], "FeedError"],
    ["IPv6: 40% added", [...thirtyTwos, "2a0c::/30"], thirtyTwos, "passes"],
    ["IPv6: 80% added", [...thirtyTwos, "2a0c::/29"], thirtyTwos, "FeedError"],
    ["IPv6: addresses of one /64", ["2a0b::1", "2a0b::2"], ["2a0b::1"], "passes"],
    ["IPv6 beside much IPv4", [...sixteens, "2a0c::/31"], sixteens, "FeedError"],
  ];
  test.each(rows)("%s", (_name, next, last, verdict) => {
    expect(problem(() => requireLikeSpace(feed(), claims(...next), claims(...last)))).toBe(verdict);
  });
  test("a list without a change limit passes", () => {
    const any = feed({ change: Number.POSITIVE_INFINITY });
    expect(problem(() => requireLikeSpace(any, claims("45.0.0.0/11"), claims("45.0.0.1")))).toBe("passes");
  });
  test("each address and each /64 counts once", () => {
    const list = prefixes(
      "45.0.0.0/16",
      "45.0.0.0/24",
      "45.0.0.7",
      "45.1.0.0",
      "2a0b::1",
      "2a0b::2",
      "2a0c::/63",
    );
    expect(spaceOf(list)).toEqual({ v4: 65_537, v6: 3 });
    expect(spaceOf(list.toReversed())).toEqual({ v4: 65_537, v6: 3 });
    expect(spaceOf(prefixes("0.0.0.0/0", "::/0"))).toEqual({ v4: 2 ** 32, v6: 2 ** 64 });
  });
});

describe("dates", () => {
  const rows: readonly [name: string, check: () => void, verdict: string][] = [
    ["none", () => requirePast(undefined, NOW), "passes"],
    ["a day ahead", () => requirePast(at(24), NOW), "passes"],
    ["more than a day ahead", () => requirePast(at(24.001), NOW), "FeedError"],
    ["newer", () => requireNewer(at(-1), at(-2), NOW), "passes"],
    ["the same", () => requireNewer(at(-2), at(-2), NOW), "passes"],
    ["older", () => requireNewer(at(-2.001), at(-2), NOW), "FeedError"],
    [
      "older than one of the future, taken while the clock was wrong",
      () => requireNewer(at(0), at(999), NOW),
      "passes",
    ],
    ["none now", () => requireNewer(undefined, at(-2), NOW), "passes"],
    ["none before", () => requireNewer(at(-2), undefined, NOW), "passes"],
  ];
  test.each(rows)("%s", (_name, check, verdict) => expect(problem(check)).toBe(verdict));
});

describe("the last line", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const rows: readonly [name: string, format: Feed["format"], next: string, last: string, verdict: string][] =
    [
      ["has its end, as before", "ip-lines", "a\nb\n", "a\n", "passes"],
      ["has none, as before", "ip-lines", "a\nb", "a", "passes"],
      ["lost its end", "ip-lines", "a\nb", "a\n", "passes"],
      ["lost its end, and nothing else", "ip-lines", "a\nb", "a\nb\n", "passes"],
      ["lost its end, as lines after it went", "ip-lines", "a\nb", "a\nb\r\nc\n", "passes"],
      ["is a new one without an end", "ip-lines", "a\nd", "a\nb\nc\n", "passes"],
      ["is a part of one", "ip-lines", "a\nb", "a\nbc\n", "FeedError"],
      ["is a part of one that is the first by now", "ip-lines", "a\nb", "bc\na\n", "FeedError"],
      ["is a part of one and a whole one", "ip-lines", "a\nb", "a\nbc\nb\n", "passes"],
      ["is a part of one of more lines", "ip-lines", "a\nx\ny\nb", "a\nbc\n", "passes"],
      ["got one", "ip-lines", "a\nb\n", "a", "passes"],
      ["of domains is a part of one", "domain-lines", "a\nb", "a\nbc\n", "FeedError"],
      ["of JSON is JSON's own business", "monosans-json", "[", "[]\n", "passes"],
    ];
  test.each(rows)("%s", (_name, format, next, last, verdict) => {
    expect(problem(() => requireWholeLines(format, bytes(next), bytes(last)))).toBe(verdict);
  });
});
