// Compares MaxMind's own source data with our answers: record -> place -> completion -> JSON.
// geo-segment.data.test.ts tests the whole way from the MMDB file to the answer for an address.
//
// The oracle maps the publisher's JSON to the contract's format by itself and looks nothing up. It shares no
// code with the reader or the encoder.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readPlace } from "../../packages/compiler/src/geo/read-place.ts";
import { completePlace } from "../../packages/compiler/src/place/complete-place.ts";
import { encodePlace } from "../../packages/compiler/src/place/encode-place.ts";
import { VECTORS } from "../harness/data-folders.ts";

interface Named {
  readonly code?: string;
  readonly iso_code?: string;
  readonly names?: { readonly en?: string };
}
interface Source {
  readonly city?: Named;
  readonly continent?: Named;
  readonly country?: Named;
  readonly location?: Record<string, unknown>;
  readonly postal?: { readonly code?: string };
  readonly registered_country?: Named;
  readonly subdivisions?: readonly Named[];
}

/** Returns MaxMind's record in our contract's format. */
function inOurShape(record: Source): object {
  return {
    city: leaves({ name: record.city?.names?.en }),
    continent: leaves({ code: record.continent?.code, name: record.continent?.names?.en }),
    country: leaves({ iso_code: record.country?.iso_code, name: record.country?.names?.en }),
    location: leaves({
      accuracy_radius: record.location?.accuracy_radius,
      latitude: record.location?.latitude,
      longitude: record.location?.longitude,
      time_zone: record.location?.time_zone,
    }),
    postal: leaves({ code: record.postal?.code }),
    registered_country: leaves({
      iso_code: record.registered_country?.iso_code,
      name: record.registered_country?.names?.en,
    }),
    subdivisions: (record.subdivisions ?? []).map((s) => leaves({ iso_code: s.iso_code, name: s.names?.en })),
  };
}

function leaves(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** Paths of all leaves with their values: "country.iso_code" -> "GB". */
function flat(value: unknown, path = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, path === "" ? key : `${path}.${key}`));
}

/** Returns the record with only the fields that DB-IP has. */
function silenced(record: Source): Source {
  return {
    ...(record.city && { city: record.city }),
    ...(record.country?.iso_code && { country: { iso_code: record.country.iso_code } }),
    ...(record.location && { location: leaves({ ...record.location, time_zone: undefined }) }),
    ...(record.postal && { postal: record.postal }),
    ...(record.registered_country?.iso_code && {
      registered_country: { iso_code: record.registered_country.iso_code },
    }),
    ...(record.subdivisions && {
      subdivisions: record.subdivisions.map(({ names }): Named => (names ? { names } : {})),
    }),
  };
}

/** All differences between MaxMind's values and completed values: the leaf, MaxMind's value, our value. */
const DIFFERENCES = new Set([
  // Names that have changed since, or that only MaxMind uses.
  ...["country.name", "registered_country.name"].flatMap((path) => [
    `${path}: Czech Republic / Czechia`,
    `${path}: Hashemite Kingdom of Jordan / Jordan`,
    `${path}: People's Republic of China / China`,
    `${path}: Turkey / Türkiye`,
  ]),
  // A code from before 2017, and a time zone from before 2014.
  "subdivisions.0.iso_code: 22 / JL",
  "location.time_zone: Asia/Harbin / Asia/Shanghai",
  // A record for the centre of the United States. MaxMind's other such records have no time zone.
  "location.time_zone: America/Chicago / undefined",
]);

for (const name of ["GeoLite2-City-Test", "GeoIP2-City-Test"]) {
  const file = join(VECTORS, `maxmind-db/source-data/${name}.json`);
  describe(`${name}, record by record`, () => {
    const list: Record<string, Source>[] = JSON.parse(readFileSync(file, "utf8"));
    const records = list.flatMap((entry) => Object.entries(entry));

    test("without completion the answer has MaxMind's values", () => {
      for (const [network, record] of records) {
        const want = inOurShape(record);
        const answer = encodePlace(readPlace(record));
        expect(answer === "" ? [network] : [network, JSON.parse(answer)]).toEqual(
          flat(want).length === 0 ? [network] : [network, want],
        );
      }
      expect(records.length).toBeGreaterThan(200);
    });

    test("completion neither changes nor adds a value", () => {
      for (const [network, record] of records) {
        const plain = encodePlace(readPlace(record));
        expect([network, encodePlace(completePlace(readPlace(record)))]).toEqual([network, plain]);
      }
    });

    test("completion restores the values removed from the record", () => {
      const different = new Set<string>();
      let putBack = 0;
      for (const [, record] of records) {
        if (record.country?.iso_code === undefined) continue; // a continent implies nothing else
        const stated = new Map(flat(inOurShape(record)));
        const kept = new Map(flat(inOurShape(silenced(record))));
        const answer = new Map(flat(JSON.parse(encodePlace(completePlace(readPlace(silenced(record)))))));
        for (const path of new Set([...stated.keys(), ...answer.keys()])) {
          if (kept.has(path)) continue;
          if (stated.get(path) === answer.get(path)) putBack++;
          else different.add(`${path}: ${stated.get(path)} / ${answer.get(path)}`);
        }
      }
      expect([...different].filter((one) => !DIFFERENCES.has(one))).toEqual([]);
      expect(putBack).toBeGreaterThan(1_000);
    });
  });
}
