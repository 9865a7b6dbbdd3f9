// Tests what a copy may contain, with each gate at its limit.

import { describe, expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import { EXTENSIONS, type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { comparePrefixes, neverFlagged } from "../parse/network-list.ts";
import {
  neverDisposable,
  requireNarrow,
  requireParsable,
  unflaggableDomains,
  unflaggableNetworks,
} from "./content-gates.ts";

const FORMATS = Object.keys(EXTENSIONS) as Format[];
const feed = (more: Partial<Feed>): Feed => ({ ...FEEDS[0]!, ...more });
const prefixes = (...texts: string[]) => texts.map((text) => parsePrefix(text)!).sort(comparePrefixes);
const problem = (check: () => void): string => {
  try {
    check();
    return "passes";
  } catch (error) {
    return (error as Error).name;
  }
};

describe("width", () => {
  const row = feed({ sets: "is_proxy", widest: { v4: 14, v6: 29 } });
  const rows: readonly [name: string, text: string, verdict: string][] = [
    ["an address", "45.66.100.1", "passes"],
    ["as wide as it may be", "45.64.0.0/14", "passes"],
    ["one bit wider", "45.64.0.0/13", "FeedError"],
    ["IPv6 as wide as it may be", "2a0b:f4c0::/29", "passes"],
    ["IPv6, one bit wider", "2a0b:f4c0::/28", "FeedError"],
  ];
  test.each(rows)("%s", (_name, text, verdict) => {
    expect(problem(() => requireNarrow(row, prefixes("45.66.100.9", text)))).toBe(verdict);
  });
  const kinds: readonly [name: string, sets: Feed["sets"], text: string, verdict: string][] = [
    ["abusers: a /11", "is_abuser", "45.64.0.0/11", "passes"],
    ["abusers: a /10", "is_abuser", "45.64.0.0/10", "FeedError"],
    ["proxies: a /12", "is_proxy", "45.64.0.0/12", "passes"],
    ["proxies: a /11", "is_proxy", "45.64.0.0/11", "FeedError"],
    ["proxies: an IPv6 /19", "is_proxy", "2a0b::/19", "FeedError"],
    ["exits: a /23", "is_tor_exit", "45.66.0.0/23", "FeedError"],
    ["places of no flag: a /8", "relay", "45.0.0.0/8", "passes"],
    ["a special-use network as wide as that", "is_abuser", "10.0.0.0/8", "passes"],
  ];
  test.each(kinds)("whatever the row says, %s", (_name, sets, text, verdict) => {
    const lax = feed({ sets, widest: { v4: 8, v6: 16 } });
    expect(problem(() => requireNarrow(lax, prefixes(text)))).toBe(verdict);
  });
  test("a network that the parser skipped as too wide", () => {
    const skipped = [
      { line: 1, reason: "is not an address" },
      { line: 7, reason: "is too wide: a /0; the widest allowed is /8" },
    ];
    expect(() => requireNarrow(row, [], skipped)).toThrow(
      "line 7: is too wide: a /0; the widest allowed is /8",
    );
    expect(problem(() => requireNarrow(row, [], skipped.slice(0, 1)))).toBe("passes");
  });
});

describe("entries without effect", () => {
  test("special-use networks in a list that sets flags", () => {
    const list = prefixes("10.0.0.0/8", "45.66.100.1", "192.0.0.0/16", "192.0.2.7", "fe80::/64");
    expect(unflaggableNetworks(feed({ sets: "is_abuser" }), list).map(neverFlagged)).toEqual([
      "10.0.0.0/8 is private: never flagged",
      "192.0.2.7/32 is documentation: never flagged",
      "fe80::/64 is link-local: never flagged",
    ]);
    expect(unflaggableNetworks(feed({ sets: "relay" }), list)).toEqual([]);
    expect(unflaggableNetworks(feed({ sets: "guard" }), list)).toEqual([]);
  });
  test("suffixes and special-use names in a list of disposable domains", () => {
    const list = ["edu.pl", "throwaway.com", "a.test", "b.nosuchtld"];
    expect(unflaggableDomains(feed({ sets: "disposable" }), list).map(neverDisposable)).toEqual([
      "edu.pl is a public suffix: never flagged",
      "a.test has a special-use or unknown suffix: never flagged",
      "b.nosuchtld has a special-use or unknown suffix: never flagged",
    ]);
    expect(unflaggableDomains(feed({ sets: "free" }), list)).toEqual([]);
  });
});

describe("what a parser would have to hold", () => {
  const few = feed({ entries: { least: 1, most: 10 } });
  const bytes = (text: string) => new TextEncoder().encode(text);
  const lines = (count: number) => bytes("192.0.2.1\n".repeat(count - 1));
  const records = (count: number) => bytes(`[${'{"host":"192.0.2.1"},'.repeat(count)}0]`);

  test("lines: as many as the feed's entries, and 10,000 comments", () => {
    requireParsable(few, "ip-lines", lines(10_010));
    expect(() => requireParsable(few, "ip-lines", lines(10_011))).toThrow(
      new FeedError("has 10011 lines, but at most 10010 are parsed: at most 10 entries are expected"),
    );
  });
  test("JSON: 64 values for each of the feed's entries", () => {
    requireParsable(few, "monosans-json", records(319));
    expect(() => requireParsable(few, "monosans-json", records(320))).toThrow(
      new FeedError("has 642 JSON values, but at most 640 are parsed: at most 10 entries are expected"),
    );
  });
  test("every format that is one JSON document is known as one", () => {
    const documents = FORMATS.filter((format) => EXTENSIONS[format] === "json" && !/lines/.test(format));
    for (const format of documents)
      expect(() => requireParsable(few, format, records(320)), format).toThrow("JSON values");
  });
});
