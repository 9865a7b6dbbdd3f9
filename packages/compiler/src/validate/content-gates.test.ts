// Tests what a copy may contain, with each gate at its limit.

import { describe, expect, test } from "bun:test";
import { parsePrefix } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { comparePrefixes, neverFlagged } from "../parse/network-list.ts";
import { neverDisposable, requireNarrow, unflaggableDomains, unflaggableNetworks } from "./read-copy.ts";

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
