// Tests every format in the mirror, and in the samples of feeds that are off by default.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix } from "@inkling/engine";
import { MIRROR, VECTORS } from "../../../../test/harness/data-folders.ts";
import type { Format } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { isNetworkFormat, parseDomains, parseNetworks } from "./index.ts";

/** Counted in August 2026's mirror by independent means: `sort -u | wc -l`, and a script for the JSON files. */
const IN_MIRROR: Readonly<Record<string, readonly [entries: number, skipped: number]>> = {
  "tor-bulk-exits": [1_363, 0],
  "tor-onionoo": [1_363 + 914, 0],
  "x4bnet-vpn-v4": [10_862, 0],
  "x4bnet-vpn-v6": [498, 0],
  "monosans-proxies": [571, 0],
  "icloud-private-relay": [13_745, 0],
  "aws-geofeed": [10_661, 0],
  "google-cloud-geofeed": [1_001, 0],
  "microsoft-geofeed": [31_494, 0],
  "starlink-geofeed": [3_502, 0],
  "verizon-geofeed": [52_169, 0],
  "tmobile-geofeed": [2_904, 0],
  "ipsum-3": [14_217, 0],
  "spamhaus-drop-v4": [1_698, 0], // 62.60.226.0/24 is listed twice
  "feodo-recommended": [1, 0],
  "disposable-email-domains": [8_335, 0],
  fakefilter: [4_552, 0],
  "disposable-domains": [74_688, 0],
  "cloudflare-top-100k": [100_000, 1],
  "tranco-10k": [10_000, 0],
  "free-mail": [4_478, 1], // "housefancom"
  "relay-mail": [31, 0],
};

describe("the offline mirror", () => {
  const files = new Map(readdirSync(MIRROR).map((name) => [name.slice(0, name.indexOf(".")), name]));
  // The mirror may have files of future feeds, and may lack some.
  const present = Object.entries(IN_MIRROR).filter(([id]) => files.has(id));
  test("has files of feeds", () => expect(present.length).toBeGreaterThan(0));
  test.each(present)("%s", (id, [entries, skipped]) => {
    const feed = FEEDS.find((row) => row.id === id)!;
    const body = readFileSync(join(MIRROR, files.get(id)!));
    const parsed = isNetworkFormat(feed.format)
      ? parseNetworks(feed.format, body)
      : parseDomains(feed.format, body);
    expect("networks" in parsed ? parsed.networks.length : parsed.domains.size).toBe(entries);
    expect(parsed.skippedCount).toBe(skipped);
    expect(entries).toBeGreaterThanOrEqual(feed.entries.least);
    expect(entries).toBeLessThanOrEqual(feed.entries.most);
  });
});

/** Counted by `grep -v '^#' | sort -u | wc -l`. The copies are from January 2024. */
const OPT_IN_SAMPLES: readonly (readonly [file: string, feed: string, entries: number])[] = [
  ["blocklist_de.ipset", "blocklist-de", 23_723],
  ["ciarmy.ipset", "cins-army", 15_000],
  ["greensnow.ipset", "greensnow", 7_282],
  ["et_compromised.ipset", "et-compromised", 581],
  ["firehol_level2.netset", "firehol-level2", 18_107],
  ["firehol_level1.netset", "firehol-level1", 1_946], // without 224.0.0.0/3
];

describe("samples of feeds that are off by default", () => {
  test.each(OPT_IN_SAMPLES)("%s", (file, id, entries) => {
    const feed = FEEDS.find((row) => row.id === id)!;
    const { networks } = parseNetworks(feed.format, readFileSync(join(VECTORS, "opt-in", file)));
    expect(networks.length).toBe(entries);
    expect(entries).toBeGreaterThanOrEqual(feed.entries.least);
    expect(entries).toBeLessThanOrEqual(feed.entries.most);
    for (const { address, bits } of networks)
      expect(bits).toBeGreaterThanOrEqual(address.family === 4 ? feed.widest!.v4 : feed.widest!.v6);
  });
  test("the documented forms of AbuseIPDB and IP2Proxy", () => {
    const read = (file: string, format: Format) =>
      parseNetworks(format, readFileSync(join(VECTORS, "opt-in", file))).networks.map(formatPrefix);
    expect(read("abuseipdb-blacklist.constructed.json", "abuseipdb-json")).toEqual([
      "203.0.113.7/32",
      "2001:db8::7/128",
    ]);
    expect(read("ip2proxy-px1.constructed.csv", "ip-range-csv")).toEqual(["1.0.4.1/32", "203.0.113.0/24"]);
  });
});
