// feeds.ts: the feed table. The default feeds come first, then the guards, then the feeds that operators must turn on.
//
// To add a feed, add a row to its table and a sample to fixtures/feeds (feeds.test.ts checks both), then run `npm run
// generate`.
//
// Source: docs/feeds.md has the source of each fact. `entries` ranges from about a third to ten times the number of
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
  "geoip2-city",
  "geolite2-city",
  "dbip-city-lite",
  "ipinfo-lite",
];

export const FEEDS: readonly Feed[] = [...NETWORK_FEEDS, ...DOMAIN_FEEDS, ...GUARD_FEEDS, ...OPT_IN_FEEDS];
