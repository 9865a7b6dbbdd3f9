// Tests operators' places laid over a database. Each test looks up addresses in the finished segment.

import { describe, expect, test } from "bun:test";
import { IpSegment, parseIp, parsePrefix } from "@inkling/engine";
import { parseGeofeed } from "../parse/geofeed.ts";
import { parseNetworks } from "../parse/index.ts";
import { comparePrefixes } from "../parse/network-list.ts";
import type { Place } from "../place/place.ts";
import { geoTable } from "../segments/geo-table.ts";
import { writeSegment } from "../segments/segment-writer.ts";
import { type OperatorFeed, placesOfServers } from "./operator-places.ts";
import { preferPlaces } from "./place-preference.ts";
import type { PlaceSource, RegisteredCountries } from "./place-source.ts";

const place = (
  countryCode: string,
  cityName: string,
  at: readonly [number, number],
  region?: string,
): Place => ({
  countryCode,
  cityName,
  latitude: at[0],
  longitude: at[1],
  subdivisions: region === undefined ? [] : [{ name: region }],
});

/** Builds a database of networks in address order. */
function database(rows: readonly (readonly [network: string, place: Place])[]): PlaceSource {
  return { places: rows.map(([, of]) => of), walk: walkOf(rows.map(([network]) => network)) };
}

function walkOf(networks: readonly string[]): PlaceSource["walk"] {
  return (family, visit) =>
    networks.forEach((network, id) => {
      const { address, bits } = parsePrefix(network)!;
      const [w0, w1, w2, w3] = address.words as unknown as [number, number, number, number];
      if (address.family === family) visit(w0, w1, w2, w3, bits, id);
    });
}

const DATABASE = database([
  ["1.0.0.0/16", place("US", "Columbus", [39.96, -83], "Ohio")],
  ["1.1.0.0/24", place("US", "Columbus", [32.46, -84.99], "Georgia")],
  ["1.2.0.0/16", place("US", "Washington D.C.", [38.91, -77.04], "District of Columbia")],
  ["1.3.0.0/24", place("US", "Washington", [38.71, -78.16], "Virginia")],
  ["1.4.0.0/16", place("DE", "Frankfurt am Main", [50.11, 8.68], "Hesse")],
  ["1.5.0.0/24", place("DE", "Frankfurt (Oder)", [52.34, 14.55], "Brandenburg")],
  ["1.6.0.0/16", place("GB", "London", [51.51, -0.13], "England")],
  ["1.7.0.0/17", place("GB", "Manchester", [53.48, -2.24], "England")],
  ["1.7.128.0/17", place("GB", "Newport", [50.7, -1.29], "England")],
  ["1.8.0.0/17", place("GB", "Newport", [51.58, -3], "Wales")],
  ["2001:db8::/32", place("US", "Columbus", [39.96, -83], "Ohio")],
]);

const REGISTERED: RegisteredCountries = {
  countries: ["AU", "US"],
  walk: (family, visit) => {
    if (family === 4) walkOf(["1.0.0.0/9", "1.128.0.0/9"])(4, visit);
  },
};

const geofeed = (id: string, text: string): OperatorFeed => {
  const { networks, stated } = parseGeofeed(new TextEncoder().encode(text));
  return { id, networks, stated };
};
const anycast = (id: string, ...networks: readonly string[]): OperatorFeed => ({
  id,
  networks: networks.map((network) => parsePrefix(network)!).sort(comparePrefixes),
  stated: "anycast",
});

function segmentOf(
  feeds: readonly OperatorFeed[],
  source: PlaceSource = DATABASE,
  registered: RegisteredCountries | undefined = REGISTERED,
): IpSegment {
  const steps = {
    feeds: { places: ["first", "second"], registered: "registry" },
    progress: () => {},
    collectGarbage: () => {},
  };
  const { sections } = geoTable(source, registered, steps, feeds);
  const segment = IpSegment.open(Uint8Array.from(writeSegment("geo", sections, {})), "geo");
  segment.verify();
  return segment;
}

const answerOf = (segment: IpSegment, address: string) =>
  JSON.parse(new TextDecoder().decode(segment.lookup(parseIp(address)!)));

/** Formats an answer like "US OH Columbus 39.96,-83", with "-" for unknown parts. */
function shown(segment: IpSegment, address: string): string {
  const { country, subdivisions, city, location } = answerOf(segment, address);
  const [of] = subdivisions;
  const at = location.latitude === undefined ? "-" : `${location.latitude},${location.longitude}`;
  return `${country.iso_code ?? "-"} ${of?.iso_code ?? "-"} ${city.name ?? "-"} ${at}`;
}

describe("the place of a network with a line in a geofeed", () => {
  test.each([
    ["a city of the database", "US,US-GA,Columbus", "US GA Columbus 32.46,-84.99"],
    ["of several regions, the one with most addresses", "US,,Columbus", "US OH Columbus 39.96,-83"],
    ["its spelling is the database's", "GB,,LONDON", "GB ENG London 51.51,-0.13"],
    ["no city in another region than stated", "GB,GB-WLS,Manchester", "GB WLS Manchester 51.58,-3"],
    ["the same name in the region stated", "GB,GB-WLS,Newport", "GB WLS Newport 51.58,-3"],
    ["a region that the database does not have", "GB,GB-LND,London", "GB ENG London 51.51,-0.13"],
    ["Washington", "US,,Washington", "US DC Washington D.C. 38.91,-77.04"],
    ["the beginning of a name", "DE,,Frankfurt", "DE HE Frankfurt am Main 50.11,8.68"],
    ["not a region for a city", "GB,,Wales", "GB WLS - 51.58,-3"],
    ["an unknown city: the middle of the country", "DE,,Nirgendheim", "DE - Nirgendheim 50.11,8.68"],
    ["an unknown country of the database", "FR,FR-IDF,Paris", "FR IDF Paris -"],
    ["a region that does not exist", "US,US-ZZ,Columbus", "US OH Columbus 39.96,-83"],
    ["the country contradicts the database", "DE,,", "DE - - 50.11,8.68"],
    ["the region contradicts it", "GB,GB-WLS,", "GB WLS - 51.58,-3"],
    ["the country agrees", "GB,,", "GB ENG Manchester 53.48,-2.24"],
    ["the region agrees", "GB,GB-ENG,", "GB ENG Manchester 53.48,-2.24"],
    ["not to be located", ",,", "GB ENG Manchester 53.48,-2.24"],
    ["no country at all", "ZZ,,Nowhere", "GB ENG Manchester 53.48,-2.24"],
  ])("%s: %s", (_name, fields, want) => {
    const segment = segmentOf([geofeed("cloud", `1.7.0.0/24,${fields},\n`)]);
    expect(shown(segment, "1.7.0.9")).toBe(want);
    expect(shown(segment, "1.7.1.0")).toBe("GB ENG Manchester 53.48,-2.24");
    expect(shown(segment, "1.6.255.255")).toBe("GB ENG London 51.51,-0.13");
  });

  test("the narrowest network counts, and the first feed", () => {
    const one = geofeed(
      "one",
      "1.0.0.0/16,DE,,,\n1.0.8.0/24,GB,,London,\n1.0.8.64/26,,,,\n1.0.8.65/32,US,,Columbus,\n",
    );
    const two = geofeed("two", "1.0.8.0/21,US,,Washington,\n1.1.0.0/16,GB,,London,\n");
    for (const segment of [segmentOf([one, two]), segmentOf([one, two, anycast("cdn", "1.0.0.0/9")])]) {
      expect(shown(segment, "1.0.7.255")).toBe("DE - - 50.11,8.68");
      expect(shown(segment, "1.0.8.0")).toBe("GB ENG London 51.51,-0.13");
      expect(shown(segment, "1.0.8.64")).toBe("US OH Columbus 39.96,-83");
      expect(shown(segment, "1.0.8.65")).toBe("US OH Columbus 39.96,-83");
      expect(shown(segment, "1.0.9.0")).toBe("DE - - 50.11,8.68");
      expect(shown(segment, "1.1.0.1")).toBe("GB ENG London 51.51,-0.13");
    }
  });

  test("IPv6, and a database of several sources", () => {
    const feed = geofeed(
      "cloud",
      "2001:db8:8000::/33,DE,,Frankfurt,\n2001:db8:8001::/48,GB,,,\n1.7.0.0/24,DE,,,\n",
    );
    const first = database([["1.7.0.0/25", place("FR", "Paris", [48.86, 2.35])]]);
    for (const source of [DATABASE, preferPlaces([first, DATABASE])]) {
      const segment = segmentOf([feed], source);
      expect(shown(segment, "2001:db8::1")).toBe("US OH Columbus 39.96,-83");
      expect(shown(segment, "2001:db8:8000::1")).toBe("DE HE Frankfurt am Main 50.11,8.68");
      expect(shown(segment, "2001:db8:8001::1")).toStartWith("GB - - 51.5");
      expect(shown(segment, "1.7.0.1")).toBe("DE - - 50.11,8.68");
      expect(shown(segment, "1.7.0.200")).toBe("DE - - 50.11,8.68");
    }
  });
});

describe("the place of a VPN's server", () => {
  const servers = (...lines: readonly string[]): OperatorFeed => {
    const records = lines.map((line) => {
      const [ip, country, city] = line.split(" ");
      return { country, city, ips: [ip] };
    });
    const file = new TextEncoder().encode(JSON.stringify({ timestamp: 1_785_585_600, servers: records }));
    const stated = placesOfServers(parseNetworks("gluetun-json", file).stated!);
    return { id: "vpn-servers", networks: stated.networks, stated, isOfServers: true };
  };
  test.each([
    ["applies to its /24", ["1.7.0.9 UK Newport"], "1.7.0.200", "GB ENG Newport 50.7,-1.29"],
    ["the country by name", ["1.0.0.9 USA Washington"], "1.0.0.9", "US DC Washington D.C. 38.91,-77.04"],
    [
      "applies where it is, if a /24 has two",
      ["1.7.0.9 UK Newport", "1.7.0.5 UK London"],
      "1.7.0.9",
      "GB ENG Newport 50.7,-1.29",
    ],
    [
      "not around it, then",
      ["1.7.0.9 UK Newport", "1.7.0.5 UK London"],
      "1.7.0.6",
      "GB ENG Manchester 53.48,-2.24",
    ],
    [
      "only if the database has the country",
      ["1.7.0.9 USA Columbus"],
      "1.7.0.9",
      "GB ENG Manchester 53.48,-2.24",
    ],
    ["only if the database has the city", ["1.7.0.9 UK London2"], "1.7.0.9", "GB ENG Manchester 53.48,-2.24"],
    [
      "not if the operator calls it virtual",
      ["1.7.0.9 UK London-Virtual"],
      "1.7.0.9",
      "GB ENG Manchester 53.48,-2.24",
    ],
    [
      "IPv6: the server only",
      ["2001:db8::9 USA Washington"],
      "2001:db8::9",
      "US DC Washington D.C. 38.91,-77.04",
    ],
    ["not its neighbours", ["2001:db8::9 USA Washington"], "2001:db8::8", "US OH Columbus 39.96,-83"],
  ])("%s: %p", (_name, lines, address, want) => {
    expect(shown(segmentOf([servers(...lines)]), address)).toBe(want);
  });
  test("yields to the geofeed of the network's owner", () => {
    const feeds = [geofeed("cloud", "1.7.0.0/16,GB,,London,\n"), servers("1.7.0.9 UK Newport")];
    expect(shown(segmentOf(feeds), "1.7.0.9")).toBe("GB ENG London 51.51,-0.13");
  });
});

test("a postal code counts with its city", () => {
  const segment = segmentOf([geofeed("cloud", "1.7.0.0/24,US,,Columbus,43215\n1.7.1.0/24,US,,,43215\n")]);
  expect(answerOf(segment, "1.7.0.9").postal).toEqual({ code: "43215" });
  expect(answerOf(segment, "1.7.1.9").postal).toEqual({});
});

describe("anycast networks", () => {
  test("the country of registration, and no city, coordinates, radius or time zone", () => {
    const segment = segmentOf([anycast("cdn", "1.6.0.0/24", "1.9.0.0/24", "1.128.0.0/24")]);
    expect(shown(segment, "1.6.0.1")).toBe("AU - - -");
    expect(answerOf(segment, "1.128.0.1")).toMatchObject({
      country: { iso_code: "US" },
      city: {},
      subdivisions: [],
    });
    expect(answerOf(segment, "1.128.0.1").location).toEqual({});
    expect(shown(segment, "1.6.1.1")).toBe("GB ENG London 51.51,-0.13");
  });
  test("where a geofeed has a network, that counts", () => {
    const feeds = [geofeed("relay", "1.6.0.0/28,DE,,,\n"), anycast("cdn", "1.6.0.0/24")];
    expect(shown(segmentOf(feeds), "1.6.0.1")).toBe("DE - - 50.11,8.68");
    expect(shown(segmentOf(feeds), "1.6.0.16")).toBe("AU - - -");
  });
  test("without a registered country: no place, even if the database has a city", () => {
    const segment = segmentOf([anycast("cdn", "1.6.0.0/24")], DATABASE, { countries: [], walk: () => {} });
    expect(segment.lookup(parseIp("1.6.0.1")!)).toBeUndefined();
    expect(shown(segment, "1.6.1.1")).toBe("GB ENG London 51.51,-0.13");
  });
});

describe("evidence", () => {
  const evidenceOf = (segment: IpSegment, address: string) => {
    const record = new TextDecoder().decode(segment.evidence(parseIp(address)!));
    return [
      ...record.matchAll(
        /\{"feed":"([^"]*)","label":"([^"]*)"[^{]*?"effect":"([^"]*)"(?:[^{]*?"fields":\[([^\]]*)\])?/g,
      ),
    ].map(([, feed, label, effect, fields = ""]) =>
      `${feed} ${label} ${effect} ${fields}`.trim().replaceAll('"', ""),
    );
  };
  const segment = segmentOf([
    geofeed("cloud", "1.7.0.0/24,US,,Columbus,\n1.7.1.0/24,GB,,,\n"),
    anycast("cdn", "1.6.0.0/24"),
  ]);
  test("names the feed, and the database that fills in the rest", () => {
    expect(evidenceOf(segment, "1.7.0.1").slice(0, 3)).toEqual([
      "cloud location sets",
      "registry registry fills registered_country.iso_code",
      "first derived fills location.latitude,location.longitude,subdivisions",
    ]);
  });
  test("names the database alone where the feed only agrees", () => {
    const named = evidenceOf(segment, "1.7.1.1");
    expect(named[0]).toBe("first location sets");
    expect(named.join()).not.toContain("cloud");
  });
  test("of an anycast network names what knows it, and the registry", () => {
    expect(evidenceOf(segment, "1.6.0.1").slice(0, 2)).toEqual([
      "cdn anycast sets",
      "registry registry fills registered_country.iso_code,country.iso_code",
    ]);
  });
});
