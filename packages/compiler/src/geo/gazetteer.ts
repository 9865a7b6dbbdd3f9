// gazetteer.ts: looks up places in a geolocation database: cities by name, and the middles of countries and regions.
//
// Cost: decodes every place once, which takes 1 s for DB-IP City; 17 bytes per place. Finding a middle takes up to 10
// ms (largest country).

import type { RangeColumns } from "@inkling/engine";
import { densityOf, RADIUS_STEPS } from "../place/accuracy.ts";
import { completeSubdivisions } from "../place/complete-place.ts";
import { countryCode } from "../place/countries.ts";
import { type Coordinates, DENSITIES, type Density, distanceKm, knownCoordinates } from "../place/place.ts";
import { nameKeys, nameWords } from "../place/place-names.ts";
import { areRelated, findSubdivisionCode } from "../place/subdivisions.ts";
import type { PlaceList, PlaceSource } from "./place-source.ts";

/** A city to look up. */
export interface CityName {
  readonly country: string;
  readonly city: string;
}

interface Middle extends Coordinates {
  readonly accuracyRadius: number;
}

type Ids = Uint32Array | readonly number[];

/** Shortens names such as "Washington D.C.", which is looked up as "Washington". */
const withoutDistrictLetters = (name: string) => name.replace(/,? D\.? ?[CF]\.?$/u, "");

const wholeKey = (name: string) => nameWords(withoutDistrictLetters(name)).join("");
const firstWord = (name: string) => `${nameWords(name)[0]} `;

export class Gazetteer {
  private readonly places: PlaceList;
  private readonly weights: Float64Array;
  private readonly countries: string[] = [""];
  /** Countries by place id, as indices into `countries`. */
  private readonly countryIds: Uint16Array;
  private readonly latitudes: Float32Array;
  private readonly longitudes: Float32Array;
  /** Indices into DENSITIES, by place id. */
  private readonly densities: Uint8Array;
  /**
   * The subdivision codes of places. Each distinct list of codes is stored once; `codeListIds` has the index of the
   * list for each place id.
   */
  private readonly codeLists: (readonly string[])[] = [[]];
  private readonly codeListIds: Uint32Array;
  /** Ids of places with coordinates, sorted by country. The ids of country c end just before countryEnds[c]. */
  private readonly located: Uint32Array;
  private readonly countryEnds: Uint32Array;
  /** Place ids by country, and then by name or first word, for the names that will be looked up. */
  private readonly byName = new Map<string, Map<string, number[]>>();
  private readonly regions = new Map<string, ReadonlyMap<string, readonly number[]>>();
  private readonly middles = new Map<string, Middle | undefined>();

  /** @param weights number of IPv4 addresses by place id ({@link weigh}) */
  constructor(places: PlaceList, weights: Float64Array, names: Iterable<CityName>) {
    this.places = places;
    this.weights = weights;
    this.countryIds = new Uint16Array(places.length);
    this.latitudes = new Float32Array(places.length).fill(Number.NaN);
    this.longitudes = new Float32Array(places.length);
    this.codeListIds = new Uint32Array(places.length);
    for (const { country, city } of names) {
      const lists = this.byName.get(country) ?? new Map<string, number[]>();
      this.byName.set(country, lists);
      for (const key of [wholeKey(city), ...nameKeys(city).loose, firstWord(city)]) lists.set(key, []);
    }
    /** For each country and database name: the lists in `byName` to which places with this name belong. */
    const found = new Map<string, Map<string, readonly number[][]>>();
    const listsFor = (country: string, name: string): readonly number[][] => {
      const ofCountry = found.get(country) ?? new Map<string, readonly number[][]>();
      found.set(country, ofCountry);
      const known = ofCountry.get(name);
      if (known !== undefined) return known;
      const lists = this.byName.get(country);
      const fitting = [wholeKey(name), firstWord(name)].flatMap((key) => {
        const list = lists?.get(key);
        return list === undefined ? [] : [list];
      });
      ofCountry.set(name, fitting);
      return fitting;
    };
    const ids = new Map<string, number>();
    const codeLists = new Map<string, number>([["", 0]]);
    for (let id = 0; id < places.length; id++) {
      const place = places.at(id)!;
      const country = countryCode(place.countryCode);
      const at = knownCoordinates(place);
      if (country === undefined) continue;
      if (!ids.has(country)) ids.set(country, this.countries.push(country) - 1);
      this.countryIds[id] = ids.get(country)!;
      const codes = completeSubdivisions(place, country).flatMap(({ isoCode }) => isoCode ?? []);
      const codesKey = codes.join();
      if (!codeLists.has(codesKey)) codeLists.set(codesKey, this.codeLists.push(codes) - 1);
      this.codeListIds[id] = codeLists.get(codesKey)!;
      if (at === undefined) continue;
      this.latitudes[id] = at.latitude;
      this.longitudes[id] = at.longitude;
      if (place.cityName === undefined || !this.byName.has(country)) continue;
      for (const list of listsFor(country, place.cityName)) list.push(id);
    }
    this.densities = this.findDensities();
    this.countryEnds = new Uint32Array(this.countries.length + 1);
    this.located = this.sortByCountry();
  }

  /** Returns the ids of places that have a country and coordinates, sorted by country, and fills in `countryEnds`. */
  private sortByCountry(): Uint32Array {
    const { countryIds, countryEnds, latitudes } = this;
    const isLocated = (id: number) => countryIds[id] !== 0 && !Number.isNaN(latitudes[id]!);
    for (let id = 0; id < countryIds.length; id++) if (isLocated(id)) countryEnds[countryIds[id]! + 1]!++;
    for (let c = 1; c < countryEnds.length; c++) countryEnds[c]! += countryEnds[c - 1]!;
    const located = new Uint32Array(countryEnds.at(-1)!);
    for (let id = 0; id < countryIds.length; id++)
      if (isLocated(id)) located[countryEnds[countryIds[id]!]!++] = id;
    return located;
  }

  /**
   * Returns the density of each place. Adds up addresses by coordinates, because places of both families, and districts
   * of one city, share coordinates.
   */
  private findDensities(): Uint8Array {
    const key = (id: number) =>
      Math.round((this.latitudes[id]! + 90) * 1e4) * 4e6 + Math.round((this.longitudes[id]! + 180) * 1e4);
    const addresses = new Map<number, number>();
    this.weights.forEach((weight, id) => {
      if (weight > 0) addresses.set(key(id), (addresses.get(key(id)) ?? 0) + weight);
    });
    return Uint8Array.from(this.weights, (_, id) =>
      DENSITIES.indexOf(densityOf(addresses.get(key(id)) ?? 0)),
    );
  }

  densityOf(id: number): Density {
    return DENSITIES[this.densities[id]!]!;
  }

  /**
   * Returns a number below {@link classes} for the place's country and density, or undefined for a place without a
   * country.
   */
  classOf(id: number): number | undefined {
    const country = this.countryIds[id]!;
    return country === 0 ? undefined : country * DENSITIES.length + this.densities[id]!;
  }

  get classes(): number {
    return this.countries.length * DENSITIES.length;
  }

  countryOf(id: number): string | undefined {
    return this.countries[this.countryIds[id]!] || undefined;
  }

  /** Returns whether a place lies in a region, or the region lies in the subdivision of the place. */
  isWithin(id: number, country: string, region: string): boolean {
    return this.codesOf(id).some((code) => areRelated(country, code, region));
  }

  /**
   * Returns the place with this name that has the most addresses.
   * @param region ISO 3166-2, after the hyphen. If the database contains this region at all, places in other regions do
   *   not count
   */
  findCity({ country, city }: CityName, region: string | undefined): number | undefined {
    const fitting = (ids: readonly number[]) => this.inRegion(ids, country, region);
    for (const key of [wholeKey(city), ...nameKeys(city).loose]) {
      const groups = this.byRegion(fitting(this.byName.get(country)?.get(key) ?? []));
      if (groups.length > 0) return groups[0]!.best;
    }
    if (region === undefined && findSubdivisionCode(country, city) !== undefined) return undefined;
    // Finds Frankfurt am Main for Frankfurt, and Tel Aviv-Yafo for Tel Aviv, but only if hardly any other place name
    // begins with the same word.
    const words = nameWords(city);
    const alike = (this.byName.get(country)?.get(firstWord(city)) ?? []).filter((id) =>
      beginAlike(words, nameWords(this.places.at(id)!.cityName!)),
    );
    const groups = this.byRegion(fitting(alike));
    const total = groups.reduce((sum, group) => sum + group.total, 0);
    return groups.length > 0 && groups[0]!.total >= 0.9 * total ? groups[0]!.best : undefined;
  }

  private inRegion(ids: readonly number[], country: string, region: string | undefined): readonly number[] {
    if (region === undefined || ids.length === 0) return ids;
    const within = ids.filter((id) => this.isWithin(id, country, region));
    return within.length > 0 || this.placesIn(country, region).length > 0 ? within : ids;
  }

  /**
   * Returns, for each region, its number of addresses and the place that has the most addresses. The region with the
   * most addresses comes first.
   */
  private byRegion(ids: readonly number[]): readonly { readonly total: number; readonly best: number }[] {
    const regions = new Map<string, { total: number; best: number }>();
    for (const id of ids) {
      const region = this.places.at(id)!.subdivisions[0]?.name ?? "";
      const of = regions.get(region) ?? { total: 0, best: id };
      if (this.weights[id]! > this.weights[of.best]!) of.best = id;
      of.total += this.weights[id]!;
      regions.set(region, of);
    }
    return [...regions.values()].sort((a, b) => b.total - a.total);
  }

  /** Returns the middle of all addresses in a country, or in one of its regions. */
  middleOf(country: string, region?: string): Middle | undefined {
    const key = `${country}-${region}`;
    if (!this.middles.has(key)) this.middles.set(key, this.findMiddle(this.placesIn(country, region)));
    return this.middles.get(key);
  }

  private findMiddle(ids: Ids): Middle | undefined {
    if (ids.length === 0) return undefined;
    // Adding 1 gives places that only have IPv6 addresses a little weight.
    const weights = Float64Array.from(ids, (id) => this.weights[id]! + 1);
    const latitudes = Float32Array.from(ids, (id) => this.latitudes[id]!);
    const longitudes = Float32Array.from(ids, (id) => this.longitudes[id]!);
    const middle = {
      latitude: hundredths(quantile(latitudes, weights, 0.5)),
      longitude: hundredths(quantile(longitudes, weights, 0.5)),
    };
    const distances = Float64Array.from(ids, (_, i) =>
      distanceKm(middle, { latitude: latitudes[i]!, longitude: longitudes[i]! }),
    );
    const km = quantile(distances, weights, TWO_OF_THREE);
    return { ...middle, accuracyRadius: WIDE_STEPS.find((step) => km <= step) ?? WIDE_STEPS.at(-1)! };
  }

  /** Returns the ids of places with coordinates. */
  private placesIn(country: string, region?: string): Ids {
    if (region !== undefined) return this.regionsOf(country).get(region) ?? [];
    const countryId = this.countries.indexOf(country, 1);
    return this.located.subarray(this.countryEnds[countryId - 1] ?? 0, this.countryEnds[countryId] ?? 0);
  }

  private regionsOf(country: string): ReadonlyMap<string, readonly number[]> {
    const known = this.regions.get(country);
    if (known !== undefined) return known;
    const regions = new Map<string, number[]>();
    for (const id of this.placesIn(country)) {
      for (const code of this.codesOf(id)) {
        const ids = regions.get(code) ?? [];
        ids.push(id);
        regions.set(code, ids);
      }
    }
    this.regions.set(country, regions);
    return regions;
  }

  private codesOf(id: number): readonly string[] {
    return this.codeLists[this.codeListIds[id]!]!;
  }
}

function beginAlike(a: readonly string[], b: readonly string[]): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.every((word, i) => word === long[i]);
}

/** Rounds to about a kilometre, because the middle of many places is not more precise than that. */
const hundredths = (degrees: number) => Math.round(degrees * 100) / 100 + 0; // + 0 turns -0 into 0

const TWO_OF_THREE = 0.67;
/**
 * Steps for the radii of regions and countries. No radius is below the first step, and no country needs more than the
 * last.
 */
const WIDE_STEPS = [...RADIUS_STEPS.filter((km) => km >= 50), 5000];

/** Returns the value below which this share of the weight lies. */
function quantile(values: Float32Array | Float64Array, weights: Float64Array, share: number): number {
  const byValue = new Map<number, number>();
  values.forEach((value, i) => {
    byValue.set(value, (byValue.get(value) ?? 0) + weights[i]!);
  });
  const sorted = Float64Array.from(byValue.keys()).sort();
  let left = share * weights.reduce((sum, weight) => sum + weight, 0);
  const found = sorted.find((value) => {
    left -= byValue.get(value)!;
    return left <= 0;
  });
  return found ?? sorted.at(-1)!;
}

/** Returns the number of IPv4 addresses at each place. @param cover for a source that combines several sources */
export function weigh(source: PlaceSource, cover: RangeColumns | undefined): Float64Array {
  const weights = new Float64Array(source.places.length);
  if (cover === undefined) {
    source.walk(4, (_w0, _w1, _w2, _w3, bits, id) => {
      weights[id]! += 2 ** (32 - bits);
    });
    return weights;
  }
  const { starts, values, length } = cover;
  for (let i = 0; i < length; i++) {
    const end = i + 1 < length ? starts[i + 1]! : 2 ** 32;
    if (values[i] !== 0) weights[values[i]! - 1]! += end - starts[i]!;
  }
  return weights;
}
