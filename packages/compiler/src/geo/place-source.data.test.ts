// Reads places from MaxMind's test databases.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { VECTORS } from "../../../../test/harness/data-folders.ts";
import type { Place } from "../place/place.ts";
import { openPlaces } from "./place-source.ts";

/** Converts MaxMind's JSON source of a record into a Place. This is an independent conversion without any checks. */
// biome-ignore lint/suspicious/noExplicitAny: the source is JSON of a known shape
function expected(json: any): Place {
  return known({
    cityName: json.city?.names?.en,
    continentCode: json.continent?.code,
    continentName: json.continent?.names?.en,
    countryCode: json.country?.iso_code,
    countryName: json.country?.names?.en,
    accuracyRadius: json.location?.accuracy_radius,
    latitude: json.location?.latitude,
    longitude: json.location?.longitude,
    timeZone: json.location?.time_zone,
    postalCode: json.postal?.code,
    registeredCountryCode: json.registered_country?.iso_code,
    registeredCountryName: json.registered_country?.names?.en,
    subdivisions: (json.subdivisions ?? [])
      // biome-ignore lint/suspicious/noExplicitAny: as above
      .map((item: any) => known({ isoCode: item.iso_code, name: item.names?.en })),
  }) as unknown as Place;
}

const maxmind = join(VECTORS, "maxmind-db");
describe("MaxMind's test databases", () => {
  for (const name of ["GeoLite2-City-Test", "GeoIP2-City-Test", "GeoIP2-Enterprise-Test"]) {
    test(`${name}: the places are those of its source`, () => {
      const source = openPlaces([readFileSync(join(maxmind, "test-data", `${name}.mmdb`))]);
      const json: Record<string, unknown>[] = JSON.parse(
        readFileSync(join(maxmind, "source-data", `${name}.json`), "utf8"),
      );
      const want = new Set(json.flatMap((row) => Object.values(row)).map((row) => canonical(expected(row))));
      expect(source.places.length).toBeGreaterThan(25);
      for (let id = 0; id < source.places.length; id++)
        expect([...want]).toContain(canonical(source.places.at(id)!));
    });
  }
});

function known(fields: object) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function canonical(place: Place): string {
  return JSON.stringify(Object.entries(known({ ...place })).sort(([a], [b]) => (a < b ? -1 : 1)));
}
