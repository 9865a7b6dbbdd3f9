// accuracy.ts: an accuracy radius for places whose source states none, measured for similar places.
//
// in   a place as its source describes it, with its density and the kind of network that has it
// out  whole kilometres within which two of three such places lie; undefined without coordinates, without any
//      named place, and where not even the largest step would hold two of three
//
// What tells most is how many addresses share the coordinates: a database puts those of which it knows little to one
// place, in the United States half of ten million of them more than 900 km off, of ten thousand more than 10 km. Next is
// the kind of network: at places of a million addresses two of three servers are within 10 km, of subscribers within 250.
// src  data/accuracy-radius.csv, made by scripts/accuracy-radius.ts; method and figures: docs/accuracy-radius.md
// cost one string and a look into a map for each place

import { knownCoordinates } from "./coordinates.ts";
import { findCountry, knownCountry } from "./countries.ts";
import { dataTable, once } from "./data-table.ts";
import { DENSITIES, type Density, type Place } from "./place.ts";
import { cleanName } from "./place-names.ts";

/** Kilometres that a radius is rounded to: a third apart at most, so that it holds about two of three. */
export const RADIUS_STEPS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 100, 120, 150, 200, 250, 300],
  ...[400, 500, 600, 700, 800, 1000, 1200, 1500, 2000, 2500, 3000],
] as const;

/** @param addresses IPv4, at the coordinates of a place */
export function densityOf(addresses: number): Density {
  return DENSITIES.findLast((least) => least !== "operator" && addresses >= Number(least)) ?? "0";
}

/** The smallest part of the world that a place names; a postal code names more than a region. */
export type Level = (typeof LEVELS)[number];
export const LEVELS = ["city", "region", "country"] as const;

/** The table's name of a continent, whose code alone may also be a country's (AF, AS, NA, SA). */
const continentArea = (code: string) => `continent ${code}`;
export const WORLD = "world";

/** The step whose ratio to the distance is closest to one; undefined beyond the last. */
export function radiusStep(km: number): number | undefined {
  const up = RADIUS_STEPS.findIndex((step) => km <= step);
  const isBelow = up > 0 && km * km < RADIUS_STEPS[up]! * RADIUS_STEPS[up - 1]!;
  return RADIUS_STEPS[isBelow ? up - 1 : up];
}

export function levelOf(place: Place): Level | undefined {
  if (cleanName(place.cityName) !== undefined || cleanName(place.postalCode) !== undefined) return "city";
  if (place.subdivisions.length > 0) return "region";
  return knownCountry(place.countryCode, place.countryName).code === undefined ? undefined : "country";
}

/**
 * The areas whose figures may stand for a place, closest first: its country, its continent, the world.
 * @param country ISO 3166-1 alpha-2
 */
export function areasOf(country: string | undefined, continent?: string): string[] {
  if (country === undefined) return continent === undefined ? [WORLD] : [continentArea(continent), WORLD];
  const around = findCountry(country)?.continentCode ?? continent;
  return around === undefined ? [country, WORLD] : [country, continentArea(around), WORLD];
}

export function estimateRadius(place: Place): number | undefined {
  const level = levelOf(place);
  if (level === undefined || knownCoordinates(place) === undefined) return undefined;
  const country = knownCountry(place.countryCode, place.countryName).code;
  const { continentCode, density, networkKind } = place;
  const key = `${country} ${continentCode} ${level} ${density} ${networkKind}`;
  let radius = known.get(key);
  if (radius === undefined) {
    radius = radiusIn(rowKeys(country, continentCode, level, density, networkKind));
    known.set(key, radius ?? 0);
  }
  return radius || undefined;
}

/** By what decides it: 0 for none. A few thousand for a database of 700,000 places. */
const known = new Map<string, number>();

/** @param keys the closest first */
export function radiusIn(keys: readonly string[]): number | undefined {
  const rows = table();
  const key = keys.find((one) => rows.has(one));
  return key === undefined ? undefined : rows.get(key);
}

/** The rows of the table that may stand for a place, closest first: by density and kind, by density, or of all. */
export function rowKeys(
  country: string | undefined,
  continent: string | undefined,
  level: Level,
  density: Density | undefined,
  kind?: string,
): string[] {
  const areas = areasOf(country, continent);
  const whole = areas.map((area) => rowKey(area, level, ""));
  if (density === undefined || level !== "city") return whole;
  if (density === "operator") return [rowKey(WORLD, level, density), ...whole];
  const [own, ...around] = areas.map((area) => rowKey(area, level, density));
  const ofKind =
    kind === undefined ? [] : [areas[0]!, WORLD].map((area) => rowKey(area, level, density, kind));
  return [...ofKind, own!, whole[0]!, ...around, ...whole];
}

export const rowKey = (area: string, level: Level, density: Density | "", kind = ""): string =>
  `${area}\t${level}\t${density}\t${kind}`;

/** By area, level, density and kind; undefined if the radius is more than the last step. */
const table = once(
  (): ReadonlyMap<string, number | undefined> =>
    new Map(
      dataTable("accuracy-radius.csv").map(([area, level, density, kind, radius]) => [
        rowKey(area!, level as Level, density as Density | "", kind),
        radius === "" ? undefined : Number(radius),
      ]),
    ),
);
