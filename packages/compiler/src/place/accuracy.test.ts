import { describe, expect, test } from "bun:test";
import { dataTable } from "../parse/csv.ts";
import {
  areasOf,
  densityOf,
  estimateRadius,
  knownIn,
  LEVELS,
  type Level,
  levelOf,
  RADIUS_STEPS,
  radiusStep,
  rowKey,
  rowKeys,
  WORLD,
} from "./accuracy.ts";
import { findContinentName, findCountry } from "./countries.ts";
import { DENSITIES, type Density, distanceKm, type Place } from "./place.ts";

/** The kinds of network/kinds.ts. */
const KINDS = ["hosting", "isp", "mobile", "education", "government", "business", "unknown"];
const HERE = { latitude: 48.2, longitude: 16.37 };
const place = (known: Partial<Place>): Place => ({ subdivisions: [], ...known });
const table = new Map(
  dataTable("accuracy-radius.csv").map(([area, level, density, kind, radius]) => [
    [area, level, density, kind].filter(Boolean).join(" "),
    radius,
  ]),
);
/** Returns the radius that the table has for an area. */
const stated = (key: string) => (table.get(key) === "" ? undefined : Number(table.get(key)));

describe("the table", () => {
  const rows = dataTable("accuracy-radius.csv");

  test("states a step for each area and level, or that it is more than the last", () => {
    const wrong = rows.filter(
      ([, , , , radius]) => radius !== "" && !RADIUS_STEPS.some((step) => `${step}` === radius),
    );
    expect(wrong).toEqual([]);
    const measured = rows.filter(([, level, , , , , sample]) => level === "city" && sample !== "0");
    expect(measured.filter(([, , , , radius]) => radius === "")).toEqual([]);
  });

  test("rests on at least 300 addresses in each row with a radius, and on a million in all", () => {
    expect(rows.filter(([, , , , radius, , sample]) => radius !== "" && !(Number(sample) >= 300))).toEqual(
      [],
    );
    const world = rows.filter(([area, , , kind]) => area === WORLD && kind === "");
    const samples = world.map(([, , , , , , sample]) => Number(sample));
    expect(samples.reduce((a, b) => a + b)).toBeGreaterThan(1_000_000);
  });

  test("names countries, continents and the world, each once at a level that it knows", () => {
    expect(table.size).toBe(rows.length);
    for (const [area = "", level, density, kind] of rows) {
      expect(["", ...DENSITIES]).toContain(density as Density);
      expect(["", ...KINDS]).toContain(kind!);
      if (kind !== "") expect(area === WORLD || area.length === 2).toBe(true);
      if (kind !== "" || density !== "") expect(density !== "").toBe(level === "city");
      expect(LEVELS).toContain(level as (typeof LEVELS)[number]);
      const continent = /^continent (..)$/.exec(area)?.[1];
      const isKnown =
        area === WORLD || (continent ? findContinentName(continent) : findCountry(area)) !== undefined;
      expect([area, isKnown]).toEqual([area, true]);
    }
    expect(rows.filter(([, level]) => level === "city").length).toBeGreaterThan(100);
  });

  test("states, for each row of cities without an operator, what is known", () => {
    for (const [area, level, density, kind, , known] of rows) {
      const isJudged = level === "city" && density !== "operator";
      expect([area, level, density, kind, LEVELS.includes(known as Level)]).toEqual([
        ...[area, level, density, kind],
        isJudged,
      ]);
    }
  });

  test("has a world row for each level", () => {
    for (const level of LEVELS) expect(table.has(`${WORLD} ${level}`)).toBe(true);
  });
});

describe("the level of a place", () => {
  const rows: [why: string, known: Partial<Place>, level: string | undefined][] = [
    ["a city", { cityName: "Wien", countryCode: "AT", subdivisions: [{ name: "Vienna" }] }, "city"],
    ["a postal code", { postalCode: "1010", countryCode: "AT" }, "city"],
    ["a region", { countryCode: "AT", subdivisions: [{ isoCode: "9" }] }, "region"],
    ["a country", { countryCode: "AT" }, "country"],
    ["an empty name", { cityName: "-", countryCode: "AT" }, "country"],
    ["no country", { countryCode: "ZZ" }, undefined],
    ["a continent only", { continentCode: "EU" }, undefined],
    ["nothing", {}, undefined],
  ];
  test.each(rows)("%s", (_why, known, level) => expect(levelOf(place(known))).toBe(level as never));
});

describe("an estimate", () => {
  const uncounted = "VA"; // a country too small for a sample
  const rows: [why: string, known: Partial<Place>, radius: number | undefined][] = [
    ["a city of a country", { ...HERE, cityName: "Wien", countryCode: "AT" }, stated("AT city")],
    ["a region", { ...HERE, countryCode: "US", subdivisions: [{ name: "Ohio" }] }, stated("US region")],
    [
      "a region, for a kind of network",
      { ...HERE, countryCode: "US", subdivisions: [{ name: "Ohio" }], networkKind: "hosting" },
      stated("US region hosting"),
    ],
    ["the middle of a country", { ...HERE, countryCode: "DE" }, stated("DE country")],
    [
      "a country without a row: its continent",
      { ...HERE, cityName: "A", countryCode: uncounted },
      stated("continent EU city"),
    ],
    [
      "a continent without a row: the world",
      { ...HERE, cityName: "A", countryCode: "AQ" },
      stated("world city"),
    ],
    ["a city of no country: the world", { ...HERE, cityName: "A" }, stated("world city")],
    [
      "a city of no country on a continent",
      { ...HERE, cityName: "A", continentCode: "OC" },
      stated("continent OC city"),
    ],
    [
      "a city with so many addresses",
      { ...HERE, cityName: "A", countryCode: "US", density: "10000000" },
      stated("US city 10000000"),
    ],
    [
      "of a density without a row: the whole country",
      { ...HERE, cityName: "A", countryCode: "AM", density: "10000000" },
      stated("AM city"),
    ],
    [
      "of a country without any row: the density on its continent",
      { ...HERE, cityName: "A", countryCode: uncounted, density: "10000" },
      stated("continent EU city 10000"),
    ],
    [
      "a server at such coordinates",
      { ...HERE, cityName: "A", countryCode: "US", density: "100000", networkKind: "hosting" },
      stated("US city 100000 hosting"),
    ],
    [
      "of a kind without a row in the country: that of the kind in the world",
      { ...HERE, cityName: "A", countryCode: uncounted, density: "1000000", networkKind: "education" },
      stated("world city 1000000 education"),
    ],
    [
      "of a kind without a row anywhere: all kinds of the country",
      { ...HERE, cityName: "A", countryCode: "US", density: "1", networkKind: "business" },
      stated("US city 1"),
    ],
    [
      "as an operator states it, whatever the kind",
      { ...HERE, cityName: "A", countryCode: "US", density: "operator", networkKind: "hosting" },
      stated("world city operator"),
    ],
    [
      "as an operator states it",
      { ...HERE, cityName: "A", countryCode: "US", density: "operator" },
      stated("world city operator"),
    ],
    [
      "a density says nothing of a region",
      { ...HERE, countryCode: "DE", density: "1" },
      stated("DE country"),
    ],
    ["no coordinates: none", { cityName: "Wien", countryCode: "AT" }, undefined],
    ["coordinates that mean nothing: none", { latitude: 0, longitude: 0, cityName: "A" }, undefined],
    ["no place: none", HERE, undefined],
  ];
  test.each(rows)("%s", (_why, known, radius) => expect(estimateRadius(place(known))).toBe(radius as never));

  test("the areas of the rows above have or lack a row in the table", () => {
    expect(table.has(`${uncounted} city`)).toBe(false);
    expect(table.has("continent AN city")).toBe(false);
    expect(table.has("AM city 10000000")).toBe(false);
    expect(table.has(`${uncounted} city 10000`)).toBe(false);
    expect(table.has("world city 1 business")).toBe(false);
    for (const key of [
      "AM city",
      "US city 10000000",
      "US city 100000 hosting",
      "world city 1000000 education",
      "world city operator",
      "AT city",
      "US region",
      "US region hosting",
      "DE country",
      "continent EU city",
      "continent OC city",
    ]) {
      expect([key, stated(key)! > 0]).toEqual([key, true]);
    }
  });
});

describe("what is known of a place", () => {
  const rows: [why: string, keys: string[], known: Level][] = [
    ["a city with few addresses", rowKeys("US", undefined, "city", "1000", "isp"), "city"],
    ["a city that stands for the country", rowKeys("US", undefined, "city", "10000000", "isp"), "country"],
    ["the same city, for servers", rowKeys("DE", undefined, "city", "1000000", "hosting"), "city"],
    ["a region", rowKeys("US", undefined, "city", "1", "isp"), "region"],
    ["no row", ["nowhere"], "country"],
  ];
  test.each(rows)("%s", (_why, keys, known) => expect(knownIn(keys)).toBe(known));
});

test("areas go from close to far; Antarctica's code is no country's", () => {
  expect(areasOf("DE")).toEqual(["DE", "continent EU", "world"]);
  expect(areasOf("AQ")).toEqual(["AQ", "continent AN", "world"]);
  expect(areasOf(undefined)).toEqual(["world"]);
});

describe("steps", () => {
  const rows: [km: number, step: number | undefined][] = [
    [0, 1],
    [1, 1],
    [1.4, 1],
    [1.42, 2],
    [20, 20],
    [501, 500],
    [548, 600],
    [3000, 3000],
    [3000.1, undefined],
  ];
  test.each(rows)("%d km", (km, step) => expect(radiusStep(km)).toBe(step as never));
});

test("no step is more than a third above the one before, from 8 km on", () => {
  const far = RADIUS_STEPS.filter((km, i) => km > 8 && km / RADIUS_STEPS[i - 1]! > 1.34);
  expect(far).toEqual([]);
});

test("more addresses at the coordinates of a place: another density", () => {
  const counts = [0, 1, 999, 1_000, 99_999, 1e7, 2 ** 32];
  expect(counts.map(densityOf)).toEqual(["0", "1", "1", "1000", "10000", "10000000", "10000000"]);
  expect(rowKeys("DE", undefined, "city", "1")[0]).toBe(rowKey("DE", "city", "1"));
});

describe("distances", () => {
  const rows: [why: string, a: [number, number], b: [number, number], km: number][] = [
    ["none", [48.2, 16.37], [48.2, 16.37], 0],
    ["London to Paris", [51.5074, -0.1278], [48.8566, 2.3522], 344],
    ["across the date line", [-17.7, 179.9], [-17.7, -179.9], 21],
    ["a degree of latitude", [0, 0], [1, 0], 111],
    ["pole to pole", [90, 0], [-90, 77], 20_015],
    ["to the other side", [10, 20], [-10, -160], 20_015],
  ];
  test.each(rows)("%s", (_why, a, b, km) => {
    const [from, to] = [a, b].map(([latitude, longitude]) => ({ latitude, longitude }));
    expect(Math.round(distanceKm(from!, to!))).toBe(km);
    expect(distanceKm(to!, from!)).toBeCloseTo(distanceKm(from!, to!), 6);
  });
});
