// accuracy.ts: an accuracy radius for places whose source states none, measured for similar places.
//
// in   a place as its source describes it
// out  whole kilometres within which two of three such places lie; undefined without coordinates, without any
//      named place, and where not even the largest step would hold two of three
// src  data/accuracy-radius.csv, made by scripts/accuracy-radius.ts; method and figures: docs/accuracy.md
// cost 0.3 µs a place of DB-IP City, a sixth of completing it

import { knownCoordinates } from "./coordinates.ts";
import { findCountry, knownCountry } from "./countries.ts";
import { dataTable, once } from "./data-table.ts";
import type { Place } from "./place.ts";
import { cleanName } from "./place-names.ts";

/** Kilometres that a radius is rounded up to: MaxMind's steps. */
export const RADIUS_STEPS = [1, 5, 10, 20, 50, 100, 200, 500, 1000] as const;

/** The smallest part of the world that a place names; a postal code names more than a region. */
export type Level = (typeof LEVELS)[number];
export const LEVELS = ["city", "region", "country"] as const;

/** The table's name of a continent, whose code alone may also be a country's (AF, AS, NA, SA). */
const continentArea = (code: string) => `continent ${code}`;
export const WORLD = "world";

/** The next step up; undefined beyond the last. */
export function radiusStep(km: number): number | undefined {
  return RADIUS_STEPS.find((step) => km <= step);
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
  const rows = table()[level];
  const country = knownCountry(place.countryCode, place.countryName).code;
  if (country !== undefined && rows.has(country)) return rows.get(country);
  const area = areasOf(country, place.continentCode).find((one) => rows.has(one));
  return area === undefined ? undefined : rows.get(area);
}

/** Of each area, by level; undefined where the radius is more than the last step. */
const table = once((): Readonly<Record<Level, ReadonlyMap<string, number | undefined>>> => {
  const rows = dataTable("accuracy-radius.csv");
  const ofLevel = (level: Level) =>
    new Map(
      rows
        .filter((row) => row[1] === level)
        .map(([area, , radius]) => [area!, radius === "" ? undefined : Number(radius)]),
    );
  return { city: ofLevel("city"), region: ofLevel("region"), country: ofLevel("country") };
});
