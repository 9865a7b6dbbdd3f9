// accuracy.ts: estimates an accuracy radius for places whose source states none, and how much of a place is more often
// right than wrong, from measurements of similar places.
//
// The radius is undefined if the place has no coordinates or no named part, or if even the largest step would contain
// fewer than two of three addresses. Source: data/accuracy-radius.csv, created by scripts/accuracy-radius.ts; method
// and figures: packages/compiler/accuracy-radius.md. Cost: one string and one map lookup per place.
//
// The number of addresses that share the coordinates matters most, because a database puts all addresses about which it
// has little information at one place. In the United States, if ten million addresses share a place, half of them are
// more than 900 km off. If ten thousand share it, half are more than 10 km off. The kind of network comes second. At
// places with a million addresses, two of three servers are within 10 km, and two of three subscribers are within
// 250 km.

import { dataTable, once } from "../parse/csv.ts";
import { findCountry, knownCountry } from "./countries.ts";
import { DENSITIES, type Density, knownCoordinates, type Place } from "./place.ts";
import { cleanName } from "./place-names.ts";

/**
 * The steps, in kilometres, to which a radius is rounded. From 3 km on, neighbouring steps differ by at most a third,
 * so that a rounded radius still contains about two of three places.
 */
export const RADIUS_STEPS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 100, 120, 150, 200, 250, 300],
  ...[400, 500, 600, 700, 800, 1000, 1200, 1500, 2000, 2500, 3000],
] as const;

/** @param addresses the number of IPv4 addresses at a place's coordinates */
export function densityOf(addresses: number): Density {
  return DENSITIES.findLast((least) => least !== "operator" && addresses >= Number(least)) ?? "0";
}

/** The smallest area that a place has. A postal code stands for a smaller area than a region. */
export type Level = (typeof LEVELS)[number];
export const LEVELS = ["city", "region", "country"] as const;

/** The database that was measured. Only their publishers know how accurate other databases are. */
export const MEASURED_DATABASE = "dbip-city-lite";

/** Returns the table's name for a continent. A bare continent code may also be a country's code (AF, AS, NA, SA). */
const continentArea = (code: string) => `continent ${code}`;
export const WORLD = "world";

/** Returns the step whose ratio to the distance is closest to one, or undefined beyond the last step. */
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
 * Returns the areas whose figures may be used for a place, closest first: its country, its continent, the world.
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

/**
 * Radii by the values that determine them; 0 means no radius. A database of 700,000 places needs a few thousand
 * entries.
 */
const known = new Map<string, number>();

/** @param keys row keys, closest first */
export function radiusIn(keys: readonly string[]): number | undefined {
  const { radii } = table();
  const key = keys.find((one) => radii.has(one));
  return key === undefined ? undefined : radii.get(key);
}

/** Returns the smallest area of which the database's places are more often right than wrong. */
export function knownIn(keys: readonly string[]): Level {
  const { levels } = table();
  return levels.get(keys.find((one) => levels.has(one)) ?? "") ?? "country";
}

/**
 * Returns the table rows that may be used for a place, closest first: by density and kind, by density only, or for all
 * densities. Rows for regions and countries have no density.
 */
export function rowKeys(
  country: string | undefined,
  continent: string | undefined,
  level: Level,
  density: Density | undefined,
  kind?: string,
): string[] {
  const areas = areasOf(country, continent);
  const whole = areas.map((area) => rowKey(area, level, ""));
  // The world's rows for a kind say nothing of regions and countries, whose sizes differ.
  if (level !== "city") return kind === undefined ? whole : [rowKey(areas[0]!, level, "", kind), ...whole];
  if (density === undefined) return whole;
  if (density === "operator") return [rowKey(WORLD, level, density), ...whole];
  const [own, ...around] = areas.map((area) => rowKey(area, level, density));
  const ofKind =
    kind === undefined ? [] : [areas[0]!, WORLD].map((area) => rowKey(area, level, density, kind));
  return [...ofKind, own!, whole[0]!, ...around, ...whole];
}

export const rowKey = (area: string, level: Level, density: Density | "", kind = ""): string =>
  `${area}\t${level}\t${density}\t${kind}`;

interface Table {
  /** Radii by area, level, density and kind. Undefined if the radius is larger than the last step. */
  readonly radii: ReadonlyMap<string, number | undefined>;
  readonly levels: ReadonlyMap<string, Level>;
}

const table = once((): Table => {
  const radii = new Map<string, number | undefined>();
  const levels = new Map<string, Level>();
  for (const [area, level, density, kind, radius, known, sample] of dataTable("accuracy-radius.csv")) {
    const key = rowKey(area!, level as Level, density as Density | "", kind);
    if (sample !== "0") radii.set(key, radius === "" ? undefined : Number(radius));
    if (known !== "") levels.set(key, known as Level);
  }
  return { radii, levels };
});
