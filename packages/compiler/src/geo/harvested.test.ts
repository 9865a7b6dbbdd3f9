// Tests the gates for harvested geofeeds: honest publishers pass, liars do not, and the evidence shows the trust.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Prefix, parsePrefix } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import type { AsnNetworks } from "../parse/asn.ts";
import { parseGeofeed } from "../parse/geofeed.ts";
import { loadFeed } from "../pipeline/load.ts";
import { type Grounds, plausible } from "./harvested.ts";
import { registeredFromList } from "./place-source.ts";

const temp = mkdtempSync(join(tmpdir(), "inkling-harvested-"));
afterAll(() => rmSync(temp, { recursive: true }));

const HEAD = "prefix,country,region,city,postal_code,rir,inetnum,url,fetched_at,confidence,flags";
const line = (network: string, country: string, publisher: string, flags = "") =>
  `${network},${country},,,,RIPE,${network},https://${publisher}/feed.csv,2026-08-03,0.9,${flags}`;
/** Returns lines for 1.0.0.0/24 and the networks after it, one for each country. */
const lines = (publisher: string, countries: readonly string[], second: number) =>
  countries.map((country, i) => line(`1.${second}.${i}.0/24`, country, publisher));
const read = (...rows: readonly string[]) =>
  parseGeofeed(new TextEncoder().encode([HEAD, ...rows].join("\n"))).stated;

/** 1.0.0.0/10 is registered in Germany, and each of its /16s belongs to a system with that number. */
const announced = (...seconds: readonly number[]): AsnNetworks => ({
  systems: seconds.map((asn) => ({ asn })),
  networks: { 4: seconds.length, 6: 0 },
  publishedAt: undefined,
  walk: (family, visit) => {
    if (family === 6) return;
    for (const [id, second] of seconds.entries()) visit((1 << 24) | (second << 16), 0, 0, 0, 16, id);
  },
});
const GROUNDS: Grounds = {
  registered: registeredFromList([{ prefix: parsePrefix("1.0.0.0/10") as Prefix, country: "DE" }]),
  asns: announced(0, 1, 2, 3),
};
const COUNTRIES = Array.from(
  { length: 70 },
  (_, i) => `${String.fromCharCode(65 + (i % 26))}${"ABC"[i % 3]}`,
);
const german = (count: number) => Array<string>(count).fill("DE");

describe("publishers", () => {
  test.each([
    ["an honest one", lines("a.example", german(4), 0), []],
    ["half is confirmed", lines("a.example", ["DE", "DE", "FR", "AT"], 0), []],
    [
      "hardly anything is confirmed",
      lines("a.example", ["DE", "FR", "AT", "CH"], 0),
      ["a.example/feed.csv the country of only 25% of its addresses is confirmed"],
    ],
    [
      "half the world",
      lines("a.example", [...COUNTRIES, ...german(90)], 0),
      ["a.example/feed.csv states 71 countries"],
    ],
    [
      "networks that nobody announces",
      [...lines("a.example", german(1), 0), ...lines("a.example", german(4), 9)],
      ["a.example/feed.csv only 20% of its addresses are announced"],
    ],
    [
      "a wide lie among many small networks",
      [...lines("a.example", german(9), 0), line("1.1.0.0/16", "FR", "a.example")],
      ["a.example/feed.csv the country of only 3% of its addresses is confirmed"],
    ],
    [
      "only the liar is left out",
      [...lines("a.example", german(4), 0), ...lines("b.example", ["FR", "FR"], 1)],
      ["b.example/feed.csv the country of only 0% of its addresses is confirmed"],
    ],
  ])("%s", (_why, rows, want) => {
    const stated = read(...rows);
    const made = plausible(stated, GROUNDS);
    expect(made.refused.map(({ publisher, why }) => `${publisher} ${why}`)).toEqual(want);
    const kept = want.length === 0 ? stated.networks.length : made.publishers === 2 ? 4 : 0;
    expect(made.stated.networks.length).toBe(kept);
    expect(made.stated.placeOf.length).toBe(kept);
  });

  test("the evidence says who states a place, and how much others confirm", () => {
    const { stated } = plausible(read(...lines("a.example", ["DE", "DE", "FR"], 0)), GROUNDS);
    const place = stated.places[stated.placeOf[0]!]!;
    expect(place.trust).toBe(
      "a.example/feed.csv: registry or database confirm the country of 66% of its addresses",
    );
  });

  test("lines that the harvester doubts do not count, nor does a column of that name in an operator's own feed", () => {
    expect(read(line("1.0.0.0/24", "DE", "a.example", "overlap")).networks).toEqual([]);
    const own = parseGeofeed(
      new TextEncoder().encode("prefix,country,region,city,postal\n1.0.0.0/24,DE,,,,x\n"),
    );
    expect(own.stated.places).toEqual([{ country: "DE" }]);
  });
});

describe("a publisher of the harvested file", () => {
  const body = (rows: readonly string[]) => gzipSync([HEAD, ...rows].join("\n"));
  const row = FEEDS.find(({ id }) => id === "geofeed-harvester")!;
  const load = async (response: () => Response) => {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => (url.endsWith("/latest") ? Response.redirect("/file.csv.gz") : response()),
    });
    const feed: Feed = {
      ...row,
      urls: () => [`http://127.0.0.1:${server.port}/latest`],
      entries: { least: 3, most: 1_000 },
    };
    const dataDir = mkdtempSync(join(temp, "data-"));
    const options = {
      dataDir,
      mirror: undefined,
      fetch: true,
      now: new Date(),
      onlyDue: false,
      chance: () => 0,
    };
    try {
      return await loadFeed(feed, options, undefined);
    } finally {
      await server.stop(true);
    }
  };
  const good = lines("a.example", german(5), 0);

  test("compressed, after a redirect: its places", async () => {
    const loaded = await load(() => new Response(body(good)));
    expect(loaded.report).toMatchObject({ state: "loaded", source: "fetched", entries: 5 });
    expect(loaded.content?.().stated?.places[0]?.publisher).toBe("a.example/feed.csv");
  });

  test.each([
    ["a page instead of the file", () => new Response("<html>not found</html>")],
    ["cut short", () => new Response(body(good).subarray(0, 60))],
    ["almost empty", () => new Response(body(good.slice(0, 2)))],
    ["another format", () => new Response(gzipSync("a;b;c\n1;2;3\n".repeat(50)))],
    ["a network that is too wide", () => new Response(body([...good, line("1.0.0.0/7", "DE", "a.example")]))],
    ["gone", () => new Response("", { status: 404 })],
  ])("%s: not loaded", async (_why, response) => {
    const { report } = await load(response);
    expect(report.state).not.toBe("loaded");
  });
});
