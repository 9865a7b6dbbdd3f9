// time-zone.ts: finds the IANA time zone of a place.
//
// in   a country (may be unknown), and coordinates, if they stand for a place inside the country
// out  an IANA name such as Europe/Vienna, or undefined if the zone is unknown
// src  tz-lookup (npm, coarse polygons), data/time-zones.csv (the zones of each country)
// cost one map lookup, or one tz-lookup (36 ns)
//
// tz-lookup is coarse near borders: it puts 0.43 % of DB-IP's ranges into another country's zone. So a place in a
// country with a single zone always gets that zone. In other countries, the result must be one of the country's zones.

import tzLookup from "@photostructure/tz-lookup";
import type { Coordinates } from "./coordinates.ts";
import { dataTable, once } from "./data-table.ts";

const zonesByCountry = once(
  () => new Map(dataTable("time-zones.csv").map(([code, zones]) => [code!, zones!.split(" ")])),
);

/** @param coordinates undefined if they are unknown, or only represent the whole country */
export function findTimeZone(
  country: string | undefined,
  coordinates: Coordinates | undefined,
): string | undefined {
  const zones = country === undefined ? undefined : zonesByCountry().get(country);
  if (zones?.length === 1) return zones[0];
  if (coordinates === undefined) return undefined;
  const zone = tzLookup(coordinates.latitude, coordinates.longitude);
  if (zones !== undefined) return zones.includes(zone) ? zone : undefined;
  return zone.startsWith("Etc/") ? undefined : zone; // at sea, tz-lookup returns an offset instead of a region
}
