// evidence.ts: the source of a place, and which of its members were filled in, and how.
//
// in   a place as its source describes it, the same completed
// out  a mask of what was filled in; entries of evidence for each mask
// cost a comparison of members for each different answer; entries are made once for each mask (a few dozen)

import { keysOf } from "@inkling/contract";
import { SPAN_NONE, SPAN_OF_ANSWER } from "@inkling/engine";
import type { Place, Subdivision } from "../place/place.ts";
import type { EvidenceText } from "../policy/evidence.ts";

/** Ids of the feeds that places and registered countries come from. */
export interface GeoFeeds {
  /** By `PlaceSource.feedOf`. */
  readonly places: readonly string[];
  readonly registered?: string;
}

/** What can be filled in: the members, how, and what of a place they are. A bit of the mask each, in this order. */
const FILLED: readonly (readonly [
  member: string,
  how: keyof typeof HOW,
  of: keyof Place | keyof Subdivision,
])[] = [
  ["continent.code", "country", "continentCode"],
  ["continent.name", "country", "continentName"],
  ["country.name", "country", "countryName"],
  ["location.accuracy_radius", "estimate", "accuracyRadius"],
  ["location.time_zone", "coordinates", "timeZone"],
  ["registered_country.iso_code", "registry", "registeredCountryCode"],
  ["registered_country.name", "country", "registeredCountryName"],
  ["subdivisions.iso_code", "subdivision", "isoCode"],
  ["subdivisions.name", "subdivision", "name"],
  ["country.iso_code", "registry", "countryCode"],
  ["location.latitude", "database", "latitude"],
  ["location.longitude", "database", "longitude"],
  ["subdivisions", "database", "subdivisions"],
];

function isFilled(of: (typeof FILLED)[number][2], before: Place, after: Place): boolean {
  if (of === "subdivisions") return before.subdivisions.length < after.subdivisions.length;
  if (of !== "isoCode" && of !== "name") return before[of] !== after[of];
  return before.subdivisions.some((subdivision, i) => subdivision[of] !== after.subdivisions[i]?.[of]);
}

/** How members are filled in: an entry each. */
export const HOW = {
  registry: { label: "registry", why: "the registry's record of who holds the network" },
  database: {
    label: "derived",
    why: "that database's place of the name, or the middle of the country or region",
  },
  country: { label: "derived", why: "from the ISO 3166-1 code of the country" },
  subdivision: { label: "derived", why: "from the other of the two, by ISO 3166-2" },
  coordinates: { label: "derived", why: "from the country and the coordinates" },
  estimate: { label: "estimated", why: "the source states none: measured for such places of the country" },
} as const;

/** Feed of entries that rest on our own tables. */
export const OURS = "inkling";

/** Which members `after` has that `before` has not, as bits. */
export function filledMask(before: Place, after: Place): number {
  let mask = 0;
  for (let i = 0; i < FILLED.length; i++) if (isFilled(FILLED[i]![2], before, after)) mask |= 1 << i;
  return mask;
}

/** Where a place comes from; nothing when only the registry has the network. */
export interface PlaceOrigin {
  /** The feed that states it. */
  readonly feed?: string | undefined;
  readonly isAnycast?: boolean | undefined;
  /** The database that fills in what an operator does not state. */
  readonly database?: string | undefined;
}

const ANYCAST = { label: "anycast", why: "the address is in many places at once: no location" } as const;

export function geoEntries(mask: number, origin: PlaceOrigin, registry: string | undefined): EvidenceText[] {
  const entries: EvidenceText[] = [];
  if (origin.feed !== undefined) {
    const what = origin.isAnycast ? ANYCAST : { label: "location" };
    entries.push({ feed: origin.feed, ...what, effect: "sets", span: SPAN_OF_ANSWER });
  }
  for (const how of keysOf(HOW)) {
    const members = FILLED.flatMap(([member, by], i) =>
      by === how && (mask & (1 << i)) !== 0 ? member : [],
    );
    if (members.length === 0) continue;
    const feed = { registry, database: origin.database }[how as string] ?? OURS;
    entries.push({ feed, ...HOW[how], effect: "fills", members, span: SPAN_NONE });
  }
  return entries;
}
