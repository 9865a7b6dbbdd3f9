// place-source.ts: the records of a geolocation database -> places, whatever the publisher's shape.
//
// in   decoded MMDB records: flat (ip-location-db) or nested (MaxMind, DB-IP); whole files through GeoSource and CountrySource
// out  Place; what is empty, unknown, out of range or of the wrong type is absent, never made up
// err  none from readPlace and readCountry (what was ignored is counted); open: MmdbError
// src  dev.maxmind.com/geoip/docs/databases/city-and-country, github.com/sapics/ip-location-db (mmdb format)
// cost 0.2 µs a record (zod: the same), half a million records; by hand because a wrong member is left out
//      and counted while the rest of its record stays. Places are not kept but read again, for 0.9 µs each: 703,356 of
//      them took 300 MB, and each collection of garbage 0.15 s
//
// Coordinates 0,0 are absent: nobody lives in the Gulf of Guinea, and DB-IP's 703,356 records of June 2026
// hold none, while other makers write 0,0 for "unknown". A single 0 stays: Stratford lies on the meridian.

import { type IdVisitor, MmdbRecords } from "../mmdb/records.ts";
import type { Place, Subdivision } from "./place.ts";

/** Member -> how many times it was of the wrong type or out of range, and left out for that. */
export type Ignored = Map<string, number>;

/** Longer than any name of a place (DB-IP's longest has 80 characters): a name beyond is damage. */
const MAX_TEXT = 200;
const CONTINENTS = new Set(["AF", "AN", "AS", "EU", "NA", "OC", "SA"]);

type Fields = Readonly<Record<string, unknown>>;
type Draft = { -readonly [Key in keyof Place]: Place[Key] };

/**
 * Reads one record: nested when `city`, `country` and the like are maps, flat when they are strings.
 * @param ignored counts what was left out; a record that is no map at all counts as "record"
 */
export function readPlace(record: unknown, ignored: Ignored = new Map()): Place {
  const fields = asMap(record, "record", ignored);
  if (fields === undefined) return { subdivisions: [] };
  return isFlat(fields) ? readFlat(fields, ignored) : readNested(fields, ignored);
}

/** The `country_code` of a flat record: upper case, two letters, not ZZ. */
export function readCountry(record: unknown, ignored: Ignored = new Map()): string | undefined {
  const fields = asMap(record, "record", ignored);
  return fields && countryCode(fields.country_code, "country_code", ignored);
}

/** The places of a database, read again each time that one is asked for. */
class PlaceRecords {
  readonly length: number;
  private readonly records: MmdbRecords;
  /** By place id: where its record is. */
  private readonly offsets: Uint32Array;

  constructor(records: MmdbRecords, offsets: Uint32Array) {
    this.length = offsets.length;
    this.records = records;
    this.offsets = offsets;
  }

  at(id: number): Place | undefined {
    const offset = this.offsets[id];
    return offset === undefined ? undefined : readPlace(this.records.decode(offset));
  }
}

/** A geolocation database: its places, and which network has which. */
export class GeoSource {
  /** By place id. */
  readonly places: PlaceRecords;
  readonly ignored: Ignored;
  private readonly records: MmdbRecords;

  private constructor(records: MmdbRecords, places: PlaceRecords, ignored: Ignored) {
    this.records = records;
    this.places = places;
    this.ignored = ignored;
  }

  /**
   * Reads everything once.
   * @param files one file, or an IPv4 and an IPv6 one
   * @throws MmdbError as {@link MmdbRecords.open}
   */
  static open(files: readonly Uint8Array[]): GeoSource {
    const offsets: number[] = [];
    const ignored: Ignored = new Map();
    const records = MmdbRecords.open(files, (record, at) => {
      readPlace(record, ignored);
      return offsets.push(at) - 1;
    });
    return new GeoSource(records, new PlaceRecords(records, Uint32Array.from(offsets)), ignored);
  }

  get networks(): MmdbRecords["networks"] {
    return this.records.networks;
  }

  get publishedAt(): Date | undefined {
    return this.records.publishedAt;
  }

  walk(family: 4 | 6, visit: IdVisitor): void {
    this.records.walk(family, visit);
  }
}

/** A database of countries alone; networks without a valid code are left out. */
export class CountrySource {
  /** By id: each code once. */
  readonly countries: readonly string[];
  readonly ignored: Ignored;
  private readonly records: MmdbRecords;

  private constructor(records: MmdbRecords, countries: readonly string[], ignored: Ignored) {
    this.records = records;
    this.countries = countries;
    this.ignored = ignored;
  }

  /** @throws MmdbError as {@link MmdbRecords.open} */
  static open(files: readonly Uint8Array[]): CountrySource {
    const ids = new Map<string, number>();
    const ignored: Ignored = new Map();
    const records = MmdbRecords.open(files, (record) => {
      const country = readCountry(record, ignored);
      if (country === undefined) return -1;
      const id = ids.get(country) ?? ids.size;
      ids.set(country, id);
      return id;
    });
    return new CountrySource(records, [...ids.keys()], ignored);
  }

  get networks(): MmdbRecords["networks"] {
    return this.records.networks;
  }

  get publishedAt(): Date | undefined {
    return this.records.publishedAt;
  }

  walk(family: 4 | 6, visit: IdVisitor): void {
    this.records.walk(family, visit);
  }
}

function isFlat(fields: Fields): boolean {
  return typeof fields.country_code === "string" || typeof fields.city === "string";
}

function readFlat(fields: Fields, ignored: Ignored): Place {
  const place: Draft = {
    subdivisions: [
      ...subdivision(undefined, text(fields.state1, "state1", ignored)),
      ...subdivision(undefined, text(fields.state2, "state2", ignored)),
    ],
  };
  put(place, "cityName", text(fields.city, "city", ignored));
  put(place, "countryCode", countryCode(fields.country_code, "country_code", ignored));
  put(place, "postalCode", text(fields.postcode, "postcode", ignored));
  put(place, "timeZone", text(fields.timezone, "timezone", ignored));
  putCoordinates(place, fields, "", ignored);
  return place;
}

function readNested(fields: Fields, ignored: Ignored): Place {
  const place: Draft = { subdivisions: subdivisions(fields.subdivisions, ignored) };
  put(place, "cityName", englishName(fields.city, "city", ignored));

  const continent = asMap(fields.continent, "continent", ignored);
  const continentCode = text(continent?.code, "continent.code", ignored);
  if (continentCode !== undefined && !CONTINENTS.has(continentCode)) ignore(ignored, "continent.code");
  else put(place, "continentCode", continentCode);
  put(place, "continentName", englishName(continent, "continent", ignored));

  const country = readCountryMap(fields.country, "country", ignored);
  put(place, "countryCode", country.code);
  put(place, "countryName", country.name);
  const registered = readCountryMap(fields.registered_country, "registered_country", ignored);
  put(place, "registeredCountryCode", registered.code);
  put(place, "registeredCountryName", registered.name);

  const location = asMap(fields.location, "location", ignored);
  if (location !== undefined) {
    put(place, "accuracyRadius", wholeKilometres(location.accuracy_radius, ignored));
    put(place, "timeZone", text(location.time_zone, "location.time_zone", ignored));
    putCoordinates(place, location, "location.", ignored);
  }
  const postal = asMap(fields.postal, "postal", ignored);
  put(place, "postalCode", text(postal?.code, "postal.code", ignored));
  return place;
}

/** Code and English name; a name without a code stays, a name of ZZ goes. */
function readCountryMap(value: unknown, member: string, ignored: Ignored): { code?: string; name?: string } {
  const map = asMap(value, member, ignored);
  if (map === undefined || map.iso_code === "ZZ") return {};
  const read: { code?: string; name?: string } = {};
  put(read, "code", countryCode(map.iso_code, `${member}.iso_code`, ignored));
  put(read, "name", englishName(map, member, ignored));
  return read;
}

function subdivisions(value: unknown, ignored: Ignored): Subdivision[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    ignore(ignored, "subdivisions");
    return [];
  }
  return value.flatMap((item) => {
    const map = asMap(item, "subdivisions[]", ignored);
    const code = text(map?.iso_code, "subdivisions[].iso_code", ignored);
    const valid = code === undefined || /^[A-Z0-9]{1,3}$/.test(code);
    if (!valid) ignore(ignored, "subdivisions[].iso_code");
    return subdivision(valid ? code : undefined, englishName(map, "subdivisions[]", ignored));
  });
}

/** None when nothing is known about it. */
function subdivision(isoCode: string | undefined, name: string | undefined): Subdivision[] {
  if (isoCode === undefined && name === undefined) return [];
  const read: { isoCode?: string; name?: string } = {};
  put(read, "isoCode", isoCode);
  put(read, "name", name);
  return [read];
}

/** Both or neither: half a position is none. */
function putCoordinates(place: Draft, fields: Fields, prefix: string, ignored: Ignored): void {
  const latitude = degrees(fields.latitude, 90, `${prefix}latitude`, ignored);
  const longitude = degrees(fields.longitude, 180, `${prefix}longitude`, ignored);
  if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) return;
  place.latitude = latitude;
  place.longitude = longitude;
}

function degrees(value: unknown, most: number, member: string, ignored: Ignored): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Math.abs(value) <= most) return value + 0; // -0 is 0
  ignore(ignored, member);
  return undefined;
}

function wholeKilometres(value: unknown, ignored: Ignored): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 20_040) return value;
  ignore(ignored, "location.accuracy_radius"); // half the way round the Earth is 20,037.5 km
  return undefined;
}

function countryCode(value: unknown, member: string, ignored: Ignored): string | undefined {
  const code = text(value, member, ignored);
  if (code === undefined || code === "ZZ") return undefined;
  if (/^[A-Z]{2}$/.test(code)) return code;
  ignore(ignored, member);
  return undefined;
}

/** `names.en` of a map. */
function englishName(value: unknown, member: string, ignored: Ignored): string | undefined {
  const map = asMap(value, member, ignored);
  const names = asMap(map?.names, `${member}.names`, ignored);
  return text(names?.en, `${member}.names.en`, ignored);
}

/** Text that is not empty; empty text is how flat records say "unknown". */
function text(value: unknown, member: string, ignored: Ignored): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string" && value.length <= MAX_TEXT && value.trim() !== "") return value;
  ignore(ignored, member);
  return undefined;
}

function asMap(value: unknown, member: string, ignored: Ignored): Fields | undefined {
  if (value === undefined) return undefined;
  if (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  ) {
    return value as Fields;
  }
  ignore(ignored, member);
  return undefined;
}

function put<T, Key extends keyof T>(into: T, key: Key, value: T[Key] | undefined): void {
  if (value !== undefined) into[key] = value;
}

function ignore(ignored: Ignored, member: string): void {
  ignored.set(member, (ignored.get(member) ?? 0) + 1);
}
