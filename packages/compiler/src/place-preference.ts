// place-preference.ts: several sources of geolocation -> one: for each network the first source that knows where it is.
//
// in   sources in order of preference
// out  a PlaceSource whose ids go through the places of all; feedOf names the source of each
// cost a covering of the address space for each family (8 bytes a range for IPv4, 20 for IPv6) beyond the sources
//
// A record that says no more than where a network is registered does not know where it is: the next source is asked.

import type { PlaceSource } from "./geo-table.ts";
import type { Place } from "./place.ts";
import { cover, type Networks, overlay, type RangeColumns } from "./range-columns.ts";

/** @param sources the preferred one first; one alone is given back as it is */
export function preferPlaces(sources: readonly PlaceSource[]): PlaceSource {
  const [only, ...others] = sources;
  if (only === undefined) return { places: [], walk: () => {} };
  if (others.length === 0) return only;
  const offsets: number[] = [];
  const places: Place[] = [];
  for (const source of sources) {
    offsets.push(places.length);
    for (const place of source.places) places.push(place);
  }
  return {
    places,
    feedOf: (id) => offsets.findLastIndex((offset) => id >= offset),
    walk: () => {
      throw new Error("a source made of several is covered, not walked");
    },
    cover: (family) => coverAll(family, sources, offsets),
  };
}

/** From the least preferred on, each is laid over those before it wherever it knows a place. */
function coverAll(family: 4 | 6, sources: readonly PlaceSource[], offsets: readonly number[]): RangeColumns {
  const laid = sources.map((source, k) => known(source, offsets[k]!, family)).reverse();
  const [least, ...better] = laid;
  return better.reduce(
    (under, networks) => overlay(under, networks, (over, below) => over || below),
    cover(family, least!),
  );
}

/** Numbers from 1, of all sources together; networks of which no place is known are left out. */
function known(source: PlaceSource, offset: number, family: 4 | 6): Networks {
  const { places } = source;
  return (add) =>
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      if (isKnown(places[id]!)) add(w0, w1, w2, w3, bits, offset + id + 1);
    });
}

function isKnown({ countryCode, cityName, latitude }: Place): boolean {
  return countryCode !== undefined || cityName !== undefined || latitude !== undefined;
}
