import { describe, expect, test } from "bun:test";
import { encodePlace } from "./encode-place.ts";
import type { Place } from "./place.ts";

const ALL: Place = {
  cityName: "Boxford",
  continentCode: "EU",
  continentName: "Europe",
  countryCode: "GB",
  countryName: "United Kingdom",
  accuracyRadius: 100,
  latitude: 51.75,
  longitude: -1.25,
  timeZone: "Europe/London",
  postalCode: "OX1",
  registeredCountryCode: "FR",
  registeredCountryName: "France",
  subdivisions: [
    { isoCode: "ENG", name: "England" },
    { isoCode: "WBK", name: "West Berkshire" },
  ],
};

test("everything known, in the order of the contract", () => {
  expect(encodePlace(ALL)).toBe(
    '{"city":{"name":"Boxford"},"continent":{"code":"EU","name":"Europe"},' +
      '"country":{"iso_code":"GB","name":"United Kingdom"},' +
      '"location":{"accuracy_radius":100,"latitude":51.75,"longitude":-1.25,"time_zone":"Europe/London"},' +
      '"postal":{"code":"OX1"},"registered_country":{"iso_code":"FR","name":"France"},' +
      '"subdivisions":[{"iso_code":"ENG","name":"England"},{"iso_code":"WBK","name":"West Berkshire"}]}',
  );
});

test("nothing known is no answer", () => {
  expect(encodePlace({ subdivisions: [] })).toBe("");
  expect(
    encodePlace({ cityName: "-", countryCode: "ZZ", countryName: "Unknown", subdivisions: [{ name: "" }] }),
  ).toBe("");
});

const EMPTY = {
  city: {},
  continent: {},
  country: {},
  location: {},
  postal: {},
  registered_country: {},
  subdivisions: [],
};

describe("partly known: the other fields are present and empty", () => {
  const rows: [why: string, place: Partial<Place>, part: object][] = [
    ["a city", { cityName: "Oslo" }, { city: { name: "Oslo" } }],
    [
      "a registered country only",
      { registeredCountryCode: "xk" },
      { registered_country: { iso_code: "XK", name: "Kosovo" } },
    ],
    [
      "a country of no known code keeps the name the source gives",
      { countryName: "Atlantis" },
      { country: { name: "Atlantis" } },
    ],
    ["quotes and backslashes", { cityName: 'a"b\\c' }, { city: { name: 'a"b\\c' } }],
    ["angle brackets stay text", { cityName: "</script>x" }, { city: { name: "</script>x" } }],
    ["controls and marks cleaned", { cityName: " Ko\u0308ln\u0000 " }, { city: { name: "Köln" } }],
    [
      "a name only",
      { subdivisions: [{ name: "X" }, {}, { isoCode: "Y" }] },
      { subdivisions: [{ name: "X" }, { iso_code: "Y" }] },
    ],
    [
      "both coordinates at 0 are unknown",
      { cityName: "A", latitude: 0, longitude: 0 },
      { city: { name: "A" } },
    ],
    [
      "one coordinate at 0 is known",
      { latitude: 51.4779, longitude: 0 },
      { location: { latitude: 51.4779, longitude: 0 } },
    ],
    ["minus zero", { latitude: -0, longitude: 9.5 }, { location: { latitude: 0, longitude: 9.5 } }],
    ["half a coordinate", { cityName: "A", latitude: 3 }, { city: { name: "A" } }],
    ["out of bounds", { cityName: "A", latitude: 91, longitude: 3 }, { city: { name: "A" } }],
    ["not a number", { cityName: "A", latitude: Number.NaN, longitude: 3 }, { city: { name: "A" } }],
    [
      "six decimals",
      { latitude: 37.37160110473633, longitude: -122.00000049 },
      { location: { latitude: 37.371601, longitude: -122 } },
    ],
    ["a radius of 0 is unknown", { cityName: "A", accuracyRadius: 0 }, { city: { name: "A" } }],
    ["whole kilometres", { accuracyRadius: 4.6 }, { location: { accuracy_radius: 5 } }],
    ["at least one", { accuracyRadius: 0.2 }, { location: { accuracy_radius: 1 } }],
    [
      "no radius without bounds",
      { cityName: "A", accuracyRadius: Number.POSITIVE_INFINITY },
      { city: { name: "A" } },
    ],
    [
      "a continent that is none",
      { continentCode: "EUR", continentName: "Europe" },
      { continent: { name: "Europe" } },
    ],
  ];
  test.each(rows)("%s", (_why, place, part) => {
    const text = encodePlace({ subdivisions: [], ...place });
    expect(JSON.parse(text)).toEqual({ ...EMPTY, ...part });
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(EMPTY));
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });
});
