// place-source.ts: opens the sources that map networks to places or to countries: the files of a geolocation database
// or registry, and the registries' delegations.
//
// Cost: places are not kept but read on access, which takes 0.9 µs per place. Keeping 703,356 places took 300 MB, and
// added 0.15 s to each garbage collection.

import { type Networks, networksOf, type Prefix, prefixContains, type RangeColumns } from "@inkling/engine";
import { type IdVisitor, MmdbRecords } from "../mmdb/records.ts";
import { comparePrefixes } from "../parse/network-list.ts";
import type { Place } from "../place/place.ts";
import { readCountry, readPlace } from "./read-place.ts";

/** Networks in address order. Each has an id that refers to what is known about it. */
export interface NetworkWalk {
  walk(family: 4 | 6, visit: IdVisitor): void;
  /** Number of networks in each family, if known. */
  readonly networks?: { readonly 4: number; readonly 6: number };
}

/** Places by id: an array, or a list that decodes each place on access. */
export interface PlaceList {
  readonly length: number;
  at(id: number): Place | undefined;
}

export interface PlaceSource extends NetworkWalk {
  readonly places: PlaceList;
  /** Set for a source that combines several sources: returns the index of the source from which a place comes. */
  readonly feedOf?: (id: number) => number;
  /**
   * Set for a source that combines several sources, and used instead of walk: values are place ids plus 1, or 0 if no
   * place is known.
   */
  readonly cover?: (family: 4 | 6) => RangeColumns;
}

/** The country in which each network is registered. An id is an index into `countries`. */
export interface RegisteredCountries extends NetworkWalk {
  readonly countries: readonly string[];
}

/** Returns the networks of a database, and when the database was built. */
const walkOf = (records: MmdbRecords) => ({
  networks: records.networks,
  publishedAt: records.publishedAt,
  walk: (family: 4 | 6, visit: IdVisitor) => records.walk(family, visit),
});

/** An open geolocation database. */
export type GeoSource = ReturnType<typeof openPlaces>;

/**
 * Opens a geolocation database, and decodes each record once, to find the records and check them.
 * @param files one file, or an IPv4 file and an IPv6 file
 * @throws MmdbError like {@link MmdbRecords.open}
 */
export function openPlaces(files: readonly Uint8Array[]) {
  const found: number[] = [];
  const records = MmdbRecords.open(files, (_record, at) => found.push(at) - 1);
  const offsets = Uint32Array.from(found);
  const at = (id: number): Place | undefined =>
    id < offsets.length ? readPlace(records.decode(offsets[id]!)) : undefined;
  const places: PlaceList = { length: offsets.length, at };
  return { places, ...walkOf(records) };
}

/**
 * Opens a database that contains only countries. Networks without a valid country code are omitted.
 * @throws MmdbError like {@link MmdbRecords.open}
 */
export function openCountries(files: readonly Uint8Array[]) {
  const ids = new Map<string, number>();
  const records = MmdbRecords.open(files, (record) => {
    const country = readCountry(record);
    if (country === undefined) return -1;
    const id = ids.get(country) ?? ids.size;
    ids.set(country, id);
    return id;
  });
  return { countries: [...ids.keys()], ...walkOf(records) };
}

/** Reads registered countries from a list of networks. If a network contains another, the wider one wins. */
export function registeredFromList(
  rows: readonly { readonly prefix: Prefix; readonly country: string }[],
): RegisteredCountries {
  const countries = [...new Set(rows.map((row) => row.country))].sort();
  const indexOf = new Map(countries.map((country, index) => [country, index]));
  const sorted = rows.toSorted((a, b) => comparePrefixes(a.prefix, b.prefix));
  return {
    countries,
    walk(family, visit) {
      let before: Prefix | undefined;
      for (const { prefix, country } of sorted) {
        const { address, bits } = prefix;
        if (address.family !== family || (before && prefixContains(before, address))) continue;
        before = prefix;
        const w = address.words;
        visit(w[0]!, w[1]!, w[2]!, w[3]!, bits, indexOf.get(country)!);
      }
    },
  };
}

/** Returns the networks with their ids plus 1, because 0 means that nothing is known. */
export function numbered(source: NetworkWalk, family: 4 | 6): Networks {
  return (add) => source.walk(family, (w0, w1, w2, w3, bits, id) => add(w0, w1, w2, w3, bits, id + 1));
}

/** Returns the networks of a covering that have a value. */
export function networksIn(ranges: RangeColumns): Networks {
  return (add) => {
    for (const { words, bits, value } of networksOf(ranges))
      add(words[0]!, words[1]!, words[2]!, words[3]!, bits, value);
  };
}
