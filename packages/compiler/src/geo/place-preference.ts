// place-preference.ts: combines sources of geolocation. Each network gets its place from the first source that has a
// place for it.
//
// Cost: the memory of the sources, and a covering of the address space for each family (8 bytes per range for IPv4, 20
// for IPv6).
//
// A record with only a registered country is not a place, so the next source decides. A source may be preferred only in
// some networks. In all other networks, the next source takes precedence over it.

import { cover, type Networks, overlay, type RangeColumns } from "@inkling/engine";
import type { Place } from "../place/place.ts";
import { type NetworkWalk, networksIn, type PlaceList, type PlaceSource } from "./place-source.ts";

/** Where each source is preferred, if not everywhere. */
type Preferred = ReadonlyMap<PlaceSource, NetworkWalk>;

/** @param sources the preferred source first; a single source is returned unchanged */
export function preferPlaces(sources: readonly PlaceSource[], preferred: Preferred = new Map()): PlaceSource {
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
    cover: (family) => coverAll(sources, preferred, knowing, offsets, family),
  };
}

/** Begins with the least preferred source. Each further source takes precedence wherever it has a place. */
function coverAll(
  sources: readonly PlaceSource[],
  preferred: Preferred,
  knowing: readonly Uint8Array[],
  offsets: readonly number[],
  family: 4 | 6,
): RangeColumns {
  let under: RangeColumns | undefined;
  for (let k = sources.length - 1; k >= 0; k--) {
    const source = sources[k]!;
    const networks = known(source, knowing[k]!, offsets[k]!, family);
    const expected = source.networks?.[family];
    const areas = preferred.get(source);
    if (under === undefined) under = cover(family, networks, expected);
    else if (areas === undefined) under = overlay(under, networks, (over, below) => over || below, expected);
    else under = overlayIn(areas, family, under, cover(family, networks, expected));
  }
  return under!;
}

/** Set in a place number if the place lies where its source is preferred. */
const PREFERRED = 2 ** 31;

function overlayIn(areas: NetworkWalk, family: 4 | 6, under: RangeColumns, over: RangeColumns): RangeColumns {
  const inAreas: Networks = (add) =>
    areas.walk(family, (w0, w1, w2, w3, bits) => add(w0, w1, w2, w3, bits, PREFERRED));
  const marked = overlay(over, inAreas, (mark, place) => (place === 0 ? 0 : place + mark));
  return overlay(under, networksIn(marked), (place, below) =>
    place >= PREFERRED ? place - PREFERRED : below || place,
  );
}

/** Returns networks with place numbers from 1 across all sources. Networks without a place are omitted. */
function known(source: PlaceSource, knowing: Uint8Array, offset: number, family: 4 | 6): Networks {
  return (add) =>
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      if (knowing[id] === 1) add(w0, w1, w2, w3, bits, offset + id + 1);
    });
}

/**
 * Returns 1 for each id whose place is known, and 0 for each other id. This runs once per place, not once per network.
 */
function knownIds(places: PlaceList): Uint8Array {
  return Uint8Array.from({ length: places.length }, (_, id) => (isKnown(places.at(id)!) ? 1 : 0));
}

function isKnown({ countryCode, cityName, latitude }: Place): boolean {
  return countryCode !== undefined || cityName !== undefined || latitude !== undefined;
}
