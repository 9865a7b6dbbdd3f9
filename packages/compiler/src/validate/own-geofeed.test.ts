// Tests which lines of an own geofeed are skipped, and that publishers' geofeeds keep such lines.

import { describe, expect, test } from "bun:test";
import { formatPrefix } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import { feedTable } from "../catalog/feed-table.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { changes } from "./copy-gates.ts";
import { readContent } from "./read-copy.ts";

const OWN = feedTable([{ id: "mine", format: "geofeed", claims: "place", file: "/x.csv" }]).at(-1)!;
const PUBLISHER = FEEDS.find(({ id }) => id === "aws-geofeed")!;

function read(feed: Feed, ...lines: readonly string[]) {
  const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
  const files = [bytes];
  const about = { sha256: "", bytes: bytes.length, licence: "" };
  return readContent(feed, { source: "mirror", format: "geofeed-csv", files, ...about });
}

const networksOf = (feed: Feed, line: string) => {
  const { content, skipped } = read(feed, "# comment", line);
  return { networks: content.stated!.networks.map(formatPrefix), first: skipped?.first };
};

describe("a line of a geofeed", () => {
  test.each([
    ["91.9.0.0/24,XX,,Paris,", "line 2: the country XX is not in ISO 3166-1"],
    ["91.9.0.0/24,FR,DE-BY,Munich,", "line 2: the region DE-BY is not in the country FR"],
    // A code of a state in the field of the country is itself the code of a country.
    ["91.9.0.0/24,CA,US-CA,San Francisco,", "line 2: the region US-CA is not in the country CA"],
    ["91.9.0.0/24,GE,US-GA,Atlanta,", "line 2: the region US-GA is not in the country GE"],
    ["91.9.0.0/24,GP,FR-972,,", "line 2: the region FR-972 is not in the country GP"],
    ["91.9.0.0/24,GP,FR-971,,", undefined],
    ["91.9.0.0/24,GP,FR-GP,,", undefined],
    ["91.9.0.0/24,GF,FR-973,,", undefined],
    ["91.9.0.0/24,RE,FR-974,,", undefined],
    ["91.9.0.0/24,AX,FI-01,,", undefined],
    ["91.9.0.0/24,SJ,NO-21,,", undefined],
    ["91.9.0.0/24,BQ,NL-BQ1,,", undefined],
    ["91.9.0.0/24,PR,US-PR,San Juan,", undefined],
    ["91.9.0.0/24,HK,CN-HK,,", undefined],
    ["91.9.0.0/24,UM,US-UM-79,,", undefined],
    ["91.9.0.0/24,UK,GB-ENG,London,", undefined],
    ["91.9.0.0/24,,,,", undefined],
    ["91.9.0.0/24,FR,Bavaria,,", undefined],
  ])("%s: %s, if it is the operator's own", (line, first) => {
    const networks = first === undefined ? ["91.9.0.0/24"] : [];
    expect(networksOf(OWN, line)).toEqual({ networks, first });
    expect(networksOf(PUBLISHER, line)).toEqual({ networks: ["91.9.0.0/24"], first: undefined });
  });

  test("a special-use network is used in no geofeed, and reported in the operator's own", () => {
    const line = "10.9.0.0/16,FR,,Paris,";
    const first = "line 2: 10.9.0.0/16 is private: never located";
    expect(networksOf(OWN, line)).toEqual({ networks: [], first });
    expect(networksOf(PUBLISHER, line)).toEqual({ networks: [], first: undefined });
  });
});

test("the first skipped line is the first in the file, not the first in address order", () => {
  const { entries, skipped } = read(OWN, "91.9.0.0/24,YY,,,", "9.9.9.0/24,XX,,,", "91.9.1.0/24,DE,,,");
  expect(entries).toBe(3);
  expect(skipped).toEqual({ entries: 2, first: "line 1: the country YY is not in ISO 3166-1" });
});

test("skipped lines do not count as changes", () => {
  const wrong = Array.from({ length: 200 }, (_, i) => `91.8.${i}.0/24,XX,,,`);
  const [next, last] = ["A", "B"].map((city) => {
    const { entries, content } = read(OWN, ...wrong, `91.9.0.0/24,DE,,${city},`);
    return { entries, ...content };
  });
  expect(changes(next!, last!)).toEqual({ added: 0, removed: 0 });
});
