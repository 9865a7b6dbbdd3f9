// feeds.ts: the feed table: every feed that is on by default, guards, then those that are off until enabled.
//
// To add a feed: a row in its table, a sample in fixtures/feeds (feeds.test.ts checks both), then `npm run generate`.
// src  docs/feeds.md has the source of each fact; `entries` are about a third to ten times of what a feed held in August
//      2026 (its seed included), so that a nearly empty or unrelated file is refused

import { DOMAIN_FEEDS } from "./domain-feeds.ts";
import type { Feed } from "./feed.ts";
import { GUARD_FEEDS } from "./guard-feeds.ts";
import { NETWORK_FEEDS } from "./network-feeds.ts";
import { OPT_IN_FEEDS } from "./opt-in-feeds.ts";

export { AGE } from "./feed-limits.ts";
export { asksForAgreement, NO_LICENCE } from "./opt-in-feeds.ts";

/** Sources of geolocation: a network has the location of the first source that has one. Operators' own come first. */
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
