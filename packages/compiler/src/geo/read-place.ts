// read-place.ts: reads one record of a geolocation database as a place, in any publisher's format.
//
// Source: dev.maxmind.com/geoip/docs/databases/city-and-country, github.com/sapics/ip-location-db (mmdb format). Cost:
// 0.2 µs per record (zod takes as long, but refuses a whole record for one wrong field).
//
// Coordinates 0,0 count as unknown. None of DB-IP's 703,356 records lies in the Gulf of Guinea, and other publishers
// write 0,0 for "unknown". If only one coordinate is 0, it is kept, because places such as Stratford lie on the prime
// meridian.

import { CONTINENT_CODES } from "@inkling/contract";
import type { Place, Subdivision } from "../place/place.ts";
import { withoutDistrict } from "../place/place-names.ts";

/** DB-IP's longest name has 80 characters, so longer text is a sign of damage. */
const MAX_TEXT = 200;
/** Maximum radius in kilometres. Half the circumference of the Earth is 20,037.5 km. */
const MAX_RADIUS = 20_040;
/**
 * Maximum number of subdivisions. MaxMind has two levels. Thousands of names would make an answer too large for a
 * record.
 */
const MAX_SUBDIVISIONS = 16;
const CONTINENTS: ReadonlySet<string> = new Set(CONTINENT_CODES);

/**
 * Reads one record. The record is flat if `country_code` or `city` is a string, and nested otherwise. A field that has
 * the wrong type or is out of range is left out.
 */
export function readPlace(record: unknown): Place {
  const fields = new Fields(record);
  const { country_code, city } = fields.values;
  return typeof country_code === "string" || typeof city === "string" ? readFlat(fields) : readNested(fields);
}

/** Reads the `country_code` of a flat record: two upper-case letters, not ZZ. */
export function readCountry(record: unknown): string | undefined {
  return new Fields(record).country("country_code");
}

function readFlat(fields: Fields): Place {
  const countryCode = fields.country("country_code");
  return {
    cityName: withoutDistrict(fields.text("city"), countryCode),
    countryCode,
    postalCode: fields.text("postcode"),
    timeZone: fields.text("timezone"),
    ...fields.coordinates(),
    subdivisions: [fields.text("state1"), fields.text("state2")].flatMap((name) => subdivision({ name })),
  };
}

function readNested(fields: Fields): Place {
  const continent = fields.map("continent");
  const country = readCountryMap(fields.map("country"));
  const registered = readCountryMap(fields.map("registered_country"));
  const location = fields.map("location");
  return {
    cityName: withoutDistrict(fields.map("city").english(), country.code),
    continentCode: continent.text("code", (code) => CONTINENTS.has(code)),
    continentName: continent.english(),
    countryCode: country.code,
    countryName: country.name,
    accuracyRadius: location.number("accuracy_radius", isRadius),
    timeZone: location.text("time_zone"),
    ...location.coordinates(),
    postalCode: fields.map("postal").text("code"),
    registeredCountryCode: registered.code,
    registeredCountryName: registered.name,
    subdivisions: readSubdivisions(fields),
  };
}

const isRadius = (km: number) => Number.isInteger(km) && km > 0 && km <= MAX_RADIUS;

/** Reads the code and English name. A name without a code is kept, but a name whose code is ZZ is dropped. */
function readCountryMap(country: Fields): { code?: string | undefined; name?: string | undefined } {
  if (country.values.iso_code === "ZZ") return {};
  return { code: country.country("iso_code"), name: country.english() };
}

function readSubdivisions({ values: { subdivisions } }: Fields): Subdivision[] {
  if (!Array.isArray(subdivisions) || subdivisions.length > MAX_SUBDIVISIONS) return [];
  return subdivisions.flatMap((item) => {
    const map = new Fields(item);
    const isoCode = map.text("iso_code", (code) => /^[A-Z0-9]{1,3}$/.test(code));
    return subdivision({ isoCode, name: map.english() });
  });
}

/** Returns an empty list if nothing is known about the subdivision. */
function subdivision(read: Subdivision): Subdivision[] {
  return read.isoCode === undefined && read.name === undefined ? [] : [read];
}

type Values = Readonly<Record<string, unknown>>;
const EMPTY: Values = {};

/** The fields of one map in a record. A field that cannot be used becomes undefined. */
class Fields {
  readonly values: Values;

  /** @param value anything; has no fields if it is not a map */
  constructor(value: unknown) {
    this.values = isMap(value) ? value : EMPTY;
  }

  map(name: string): Fields {
    return new Fields(this.values[name]);
  }

  /** Reads non-empty text. In flat records, empty text means "unknown". */
  text(name: string, isValid: (text: string) => boolean = () => true): string | undefined {
    const value = this.values[name];
    const isText = typeof value === "string" && value.length <= MAX_TEXT && value.trim() !== "";
    return isText && isValid(value) ? value : undefined;
  }

  /** Reads the map's `names.en`. */
  english(): string | undefined {
    return this.map("names").text("en");
  }

  country(name: string): string | undefined {
    const code = this.text(name, (text) => /^[A-Z]{2}$/.test(text));
    return code === "ZZ" ? undefined : code;
  }

  number(name: string, isValid: (value: number) => boolean): number | undefined {
    const value = this.values[name];
    return typeof value === "number" && isValid(value) ? value + 0 : undefined; // + 0 turns -0 into 0
  }

  /** Reads both coordinates or neither. */
  coordinates(): Pick<Place, "latitude" | "longitude"> {
    const latitude = this.number("latitude", (value) => Math.abs(value) <= 90);
    const longitude = this.number("longitude", (value) => Math.abs(value) <= 180);
    if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) return {};
    return { latitude, longitude };
  }
}

function isMap(value: unknown): value is Values {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}
