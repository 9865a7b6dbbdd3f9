// evidence.ts: records the source of a place, which of its fields were filled in, and how.
//
// Cost: one comparison of fields per distinct answer; entries are created once per mask (a few dozen).

import { keysOf } from "@inkling/contract";
import { SPAN_NONE, SPAN_OF_ANSWER } from "@inkling/engine";
import type { Place, Subdivision } from "../place/place.ts";
import type { EvidenceText } from "../policy/evidence.ts";

/** Ids of the feeds that state places and registered countries. */
export interface GeoFeeds {
  /** Feed ids in the order of `PlaceSource.feedOf`. */
  readonly places: readonly string[];
  readonly registered?: string;
}

/**
 * What can be filled in: the field's name in the answer, how it was filled in, and the field of Place or Subdivision.
 * Each row has one bit in the mask, in this order.
 */
const FILLED: readonly (readonly [
  field: string,
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

/** The ways to fill in fields. Each way has one evidence entry. */
export const HOW = {
  registry: { label: "registry", why: "the registry's record of who holds the network" },
  database: {
    label: "derived",
    why: "that database's position for the name, or the middle of the country or region",
  },
  country: { label: "derived", why: "from the ISO 3166-1 code of the country" },
  subdivision: { label: "derived", why: "from the code or name of the subdivision, by ISO 3166-2" },
  coordinates: { label: "derived", why: "from the country and the coordinates" },
  estimate: { label: "estimated", why: "the source states none: measured for similar places in the country" },
} as const;

/** The feed name in entries that are based on Inkling's own tables. */
export const OURS = "inkling";

/** Returns, as bits, the fields that `after` has and `before` lacks. */
export function filledMask(before: Place, after: Place): number {
  let mask = 0;
  for (let i = 0; i < FILLED.length; i++) if (isFilled(FILLED[i]![2], before, after)) mask |= 1 << i;
  return mask;
}

/** Where a place comes from. Empty if only the registry contains the network. */
export interface PlaceOrigin {
  /** The feed that states the place. */
  readonly feed?: string | undefined;
  readonly isAnycast?: boolean | undefined;
  /** How much others confirm what a harvested feed's publisher states. */
  readonly trust?: string | undefined;
  /** The feed states a city, but such cities are more often wrong than right. */
  readonly isCityUnknown?: boolean | undefined;
  /** The database that fills in fields that an operator does not state. */
  readonly database?: string | undefined;
}

const CITY_UNKNOWN = {
  label: "location",
  why: "its city is left out: cities of such networks are more often wrong than right",
} as const;
const ANYCAST = { label: "anycast", why: "the address is in many places: no location" } as const;

function whatOf({ isAnycast, isCityUnknown, trust }: PlaceOrigin): Pick<EvidenceText, "label" | "why"> {
  if (isAnycast) return ANYCAST;
  if (isCityUnknown) return CITY_UNKNOWN;
  return { label: "location", ...(trust !== undefined && { why: trust }) };
}

export function geoEntries(mask: number, origin: PlaceOrigin, registry: string | undefined): EvidenceText[] {
  const entries: EvidenceText[] = [];
  if (origin.feed !== undefined) {
    entries.push({ feed: origin.feed, ...whatOf(origin), effect: "sets", span: SPAN_OF_ANSWER });
  }
  for (const how of keysOf(HOW)) {
    const fields = FILLED.flatMap(([field, by], i) => (by === how && (mask & (1 << i)) !== 0 ? field : []));
    if (fields.length === 0) continue;
    const feed = { registry, database: origin.database }[how as string] ?? OURS;
    entries.push({ feed, ...HOW[how], effect: "fills", fields, span: SPAN_NONE });
  }
  return entries;
}
