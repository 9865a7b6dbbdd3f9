import { describe, expect, test } from "bun:test";
import { COUNTRY_CODES } from "@inkling/contract";
import { iso31661 } from "iso-3166";
import { estimateRadius } from "./accuracy.ts";
import { completePlace } from "./complete-place.ts";
import { countryCode, findCountry } from "./countries.ts";
import type { Place } from "./place.ts";

type Known = Partial<Place>;

describe("fields derived from a source's values", () => {
  const rows: [why: string, known: Known, added: Known][] = [
    [
      "continent and name from the country",
      { countryCode: "JP" },
      {
        continentCode: "AS",
        continentName: "Asia",
        countryName: "Japan",
        timeZone: "Asia/Tokyo",
      },
    ],
    [
      "Russia is in Europe",
      { countryCode: "RU" },
      { continentCode: "EU", continentName: "Europe", countryName: "Russia" },
    ],
    ["a continent's name from its code", { continentCode: "NA" }, { continentName: "North America" }],
    [
      "the registered country's name, and nothing else from it",
      { registeredCountryCode: "XK" },
      { registeredCountryName: "Kosovo" },
    ],
    [
      "the code of a subdivision, its time zone from coordinates",
      {
        cityName: "Tucson",
        countryCode: "US",
        countryName: "United States",
        continentCode: "NA",
        continentName: "North America",
        accuracyRadius: 7,
        latitude: 32.22,
        longitude: -110.97,
        subdivisions: [{ name: "Arizona" }],
      },
      { subdivisions: [{ name: "Arizona", isoCode: "AZ" }], timeZone: "America/Phoenix" },
    ],
    [
      "the name of a subdivision, and the code of one inside it",
      {
        countryCode: "GB",
        countryName: "United Kingdom",
        continentCode: "EU",
        continentName: "Europe",
        timeZone: "Europe/London",
        subdivisions: [{ isoCode: "ENG" }, { name: "Kent" }],
      },
      {
        subdivisions: [
          { isoCode: "ENG", name: "England" },
          { name: "Kent", isoCode: "KEN" },
        ],
      },
    ],
    [
      "no time zone from the middle of a country with several",
      {
        countryCode: "US",
        countryName: "United States",
        continentCode: "NA",
        continentName: "North America",
        accuracyRadius: 7,
        latitude: 37.751,
        longitude: -97.822,
      },
      {},
    ],
    [
      "a country's only time zone, where the coordinates lie in a neighbour's coarse polygon",
      {
        countryCode: "VN",
        countryName: "Vietnam",
        continentCode: "AS",
        continentName: "Asia",
        cityName: "Hanoi",
        accuracyRadius: 7,
        latitude: 21.02,
        longitude: 105.84,
      },
      { timeZone: "Asia/Ho_Chi_Minh" },
    ],
    [
      "no time zone of another country",
      {
        countryCode: "US",
        countryName: "United States",
        continentCode: "NA",
        continentName: "North America",
        cityName: "Nowhere",
        accuracyRadius: 7,
        latitude: 48.2,
        longitude: 16.37,
      },
      {},
    ],
    ["no time zone at sea", { cityName: "Atlantis", accuracyRadius: 7, latitude: 30, longitude: -40 }, {}],
    [
      "a time zone without a country",
      { cityName: "Wien", accuracyRadius: 7, latitude: 48.2, longitude: 16.37 },
      { timeZone: "Europe/Vienna" },
    ],
    [
      "nothing from an unknown country",
      { countryCode: "ZZ", registeredCountryCode: "EU", subdivisions: [{ name: "X" }] },
      {},
    ],
    [
      "no code for a name that has none",
      {
        countryCode: "PR",
        countryName: "Puerto Rico",
        continentCode: "NA",
        continentName: "North America",
        timeZone: "America/Puerto_Rico",
        subdivisions: [{ name: "San Juan" }],
      },
      {},
    ],
    ["nothing from nothing", {}, {}],
  ];
  test.each(rows)("%s", (_why, known, added) => {
    const place: Place = { subdivisions: [], ...known };
    expect(completePlace(place)).toEqual({ ...place, ...added });
  });

  test("the source's values are never changed, right or wrong", () => {
    const place: Place = {
      cityName: "Wien",
      continentCode: "AF",
      continentName: "Afrika",
      countryCode: "AT",
      countryName: "Oesterreich ", // encodePlace cleans it later
      accuracyRadius: 7,
      latitude: 1,
      longitude: 2,
      timeZone: "Europe/Berlin",
      registeredCountryCode: "CZ",
      registeredCountryName: "Czech Republic",
      subdivisions: [{ isoCode: "Q", name: "Vienna" }],
    };
    expect(completePlace(place)).toEqual(place);
  });

  test("an accuracy radius where the source states none", () => {
    const place: Place = {
      cityName: "Wien",
      countryCode: "AT",
      latitude: 48.2,
      longitude: 16.37,
      subdivisions: [],
    };
    expect(completePlace(place).accuracyRadius).toBe(estimateRadius(place)!);
    expect(completePlace({ ...place, accuracyRadius: 7 }).accuracyRadius).toBe(7);
  });

  test("the input place is not modified", () => {
    const place: Place = Object.freeze({
      countryCode: "AT",
      subdivisions: Object.freeze([Object.freeze({ name: "Vienna" })]),
    });
    expect(completePlace(place).subdivisions).toEqual([{ name: "Vienna", isoCode: "9" }]);
  });
});

test.each([
  ["Taiwan", "Taipei", [{ isoCode: "TPE", name: "Taipei" }]],
  ["Taiwan", "Taoyuan", [{ isoCode: "TAO", name: "Taoyuan" }]],
  ["Taipei", "Banqiao District", [{ isoCode: "NWT", name: "New Taipei" }]],
  ["Taipei", undefined, [{ isoCode: "NWT", name: "New Taipei" }]],
  ["Taiwan", "a village", [{ name: "Taiwan" }]],
  ["Taiwan", undefined, [{ name: "Taiwan" }]],
])("Taiwan's former subdivisions: %s with the city %s", (name, cityName, subdivisions) => {
  expect(completePlace({ countryCode: "TW", cityName, subdivisions: [{ name }] }).subdivisions).toEqual(
    subdivisions,
  );
});

const LETTERS = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i));

test("a country code is one that ISO 3166-1 has assigned, or XK; UK stands for GB", () => {
  const pairs = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
  const accepted = pairs.filter((pair) => countryCode(pair) !== undefined);
  expect(accepted).toEqual([...iso31661.map(({ alpha2 }) => alpha2), "UK", "XK"].sort());
  for (const code of accepted) {
    const standard = code === "UK" ? "GB" : code;
    expect([code, countryCode(code), countryCode(code.toLowerCase())]).toEqual([code, standard, standard]);
    expect([code, findCountry(standard)?.code]).toEqual([code, standard]);
  }
  for (const none of ["", "ZZ", "XX", "EU", "AP", "A1", "YU", "AC"])
    expect(countryCode(none)).toBeUndefined();
});

test("the country codes of the contract are those of ISO 3166-1, and XK", () => {
  expect(COUNTRY_CODES).toEqual([...iso31661.map(({ alpha2 }) => alpha2), "XK"].sort());
  expect(COUNTRY_CODES.filter((code) => findCountry(code) === undefined)).toEqual([]);
});
