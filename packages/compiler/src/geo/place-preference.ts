// place-preference.ts: several sources of geolocation -> one: each network has the place of the first source that has one.
//
// in   sources in order of preference
// out  a PlaceSource whose ids go through the places of all; feedOf names the source of each
// cost a covering of the address space for each family (8 bytes a range for IPv4, 20 for IPv6) beyond the sources
//
// A record with only a registered country is no place: the next source decides.

import { cover, type Networks, overlay, type RangeColumns } from "@inkling/engine";
import type { Place } from "../place/place.ts";
import type { PlaceList, PlaceSource } from "./place-list.ts";

/** @param sources the preferred one first; one alone is given back as it is */
export function preferPlaces(sources: readonly PlaceSource[]): PlaceSource {
  const [only, ...others] = sources;
  if (only === undefined) return { places: [], walk: () => {} };
  if (others.length === 0) return only;
  const offsets: number[] = [];
  let length = 0;
  for (const { places } of sources) {
    offsets.push(length);
    length += places.length;
  }
  const feedOf = (id: number) => offsets.findLastIndex((offset) => id >= offset);
  const at = (id: number) => sources[feedOf(id)]?.places.at(id - offsets[feedOf(id)]!);
  const knowing = sources.map(({ places }) => knownIds(places));
  return {
    places: { length, at },
    feedOf,
    walk: () => {
      throw new Error("a source made of several is covered, not walked");
    },
    cover: (family) => coverAll(sources, knowing, offsets, family),
  };
}

/** Starting with the least preferred, each source is laid over the previous ones where it has a place. */
function coverAll(
  sources: readonly PlaceSource[],
  knowing: readonly Uint8Array[],
  offsets: readonly number[],
  family: 4 | 6,
): RangeColumns {
  let under: RangeColumns | undefined;
  for (let k = sources.length - 1; k >= 0; k--) {
    const source = sources[k]!;
    const networks = known(source, knowing[k]!, offsets[k]!, family);
    const expected = source.networks?.[family];
    under =
      under === undefined
        ? cover(family, networks, expected)
        : overlay(under, networks, (over, below) => over || below, expected);
  }
  return under!;
}

/** Numbers from 1, of all sources together; networks without a place are left out. */
function known(source: PlaceSource, knowing: Uint8Array, offset: number, family: 4 | 6): Networks {
  return (add) =>
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      if (knowing[id] === 1) add(w0, w1, w2, w3, bits, offset + id + 1);
    });
}

/** By id, 1 where a place is known: computed once per place, not per network. */
function knownIds(places: PlaceList): Uint8Array {
  return Uint8Array.from({ length: places.length }, (_, id) => (isKnown(places.at(id)!) ? 1 : 0));
}

function isKnown({ countryCode, cityName, latitude }: Place): boolean {
  return countryCode !== undefined || cityName !== undefined || latitude !== undefined;
}
