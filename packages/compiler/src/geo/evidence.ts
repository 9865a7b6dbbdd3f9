// evidence.ts: where a place comes from, and which of its members were filled in, and how.
//
// in   a place as its source describes it, the same completed
// out  a mask of what was filled in; entries of evidence for each mask
// cost a comparison of members for each different answer; entries are made once for each mask (a few dozen)

import { SPAN_NONE, SPAN_OF_ANSWER } from "@inkling/engine";
import type { EvidenceText } from "../policy/evidence.ts";
import type { Place } from "./place.ts";

/** Who said what: ids of feeds. */
export interface GeoFeeds {
  /** By `PlaceSource.feedOf`. */
  readonly places: readonly string[];
  readonly registered?: string;
}

/** What can be filled in: the members, and how. A bit of the mask each, in this order. */
const FILLED: readonly {
  readonly member: string;
  readonly how: keyof typeof HOW;
  readonly isFilled: (before: Place, after: Place) => boolean;
}[] = [
  {
    member: "continent.code",
    how: "country",
    isFilled: (before, after) => before.continentCode !== after.continentCode,
  },
  {
    member: "continent.name",
    how: "country",
    isFilled: (before, after) => before.continentName !== after.continentName,
  },
  {
    member: "country.name",
    how: "country",
    isFilled: (before, after) => before.countryName !== after.countryName,
  },
  {
    member: "location.accuracy_radius",
    how: "estimate",
    isFilled: (before, after) => before.accuracyRadius !== after.accuracyRadius,
  },
  {
    member: "location.time_zone",
    how: "coordinates",
    isFilled: (before, after) => before.timeZone !== after.timeZone,
  },
  {
    member: "registered_country.iso_code",
    how: "registry",
    isFilled: (before, after) => before.registeredCountryCode !== after.registeredCountryCode,
  },
  {
    member: "registered_country.name",
    how: "country",
    isFilled: (before, after) => before.registeredCountryName !== after.registeredCountryName,
  },
  {
    member: "subdivisions.iso_code",
    how: "subdivision",
    isFilled: (before, after) =>
      before.subdivisions.some((s, i) => s.isoCode !== after.subdivisions[i]?.isoCode),
  },
  {
    member: "subdivisions.name",
    how: "subdivision",
    isFilled: (before, after) => before.subdivisions.some((s, i) => s.name !== after.subdivisions[i]?.name),
  },
];

/** How members are filled in: an entry each. */
export const HOW = {
  registry: { label: "registry", why: "the registry's record of who holds the network" },
  country: { label: "derived", why: "from the ISO 3166-1 code of the country" },
  subdivision: { label: "derived", why: "from the other of the two, by ISO 3166-2" },
  coordinates: { label: "derived", why: "from the country and the coordinates" },
  estimate: { label: "estimated", why: "the source states none: measured for such places of the country" },
} as const;

/** Feed of entries that rest on tables of our own. */
export const OURS = "inkling";

/** Which members `after` has that `before` has not, as bits. */
export function filledMask(before: Place, after: Place): number {
  let mask = 0;
  for (let i = 0; i < FILLED.length; i++) if (FILLED[i]!.isFilled(before, after)) mask |= 1 << i;
  return mask;
}

/** @param place number of the feed that the place comes from; undefined when only the registry knows the network */
export function geoEntries(mask: number, place: number | undefined, feeds: GeoFeeds): EvidenceText[] {
  const entries: EvidenceText[] = [];
  const source = place === undefined ? undefined : feeds.places[place];
  if (source !== undefined) {
    entries.push({ feed: source, label: "location", effect: "sets", span: SPAN_OF_ANSWER });
  }
  for (const how of Object.keys(HOW) as (keyof typeof HOW)[]) {
    const members = FILLED.filter((row, i) => row.how === how && (mask & (1 << i)) !== 0).map(
      (row) => row.member,
    );
    if (members.length === 0) continue;
    const feed = how === "registry" ? (feeds.registered ?? OURS) : OURS;
    entries.push({ feed, ...HOW[how], effect: "fills", members, span: SPAN_NONE });
  }
  return entries;
}
