// parts.ts: which feeds each segment is made of, by the engine's FEED_SETS.

import { type Answer, FEED_SETS, type SegmentKind } from "@inkling/engine";
import { ANONYMOUS_FLAGS } from "../parse/anonymous-ip.ts";
import { isDomainFormat } from "../parse/index.ts";
import { isAnycast } from "../policy/guards.ts";
import type { LoadedFeed } from "./load.ts";

export function isLoaded({ report }: LoadedFeed): boolean {
  return report.state === "loaded";
}

/**
 * `relay` is claimed of networks and of domains: the format decides which segment it belongs to. Geofeeds and anycast
 * networks have places, whatever else they set.
 */
export function belongsTo(kind: SegmentKind, { feed }: LoadedFeed): boolean {
  const { deciding, other } = FEED_SETS[kind];
  if (kind === "geo" && (feed.format === "geofeed-csv" || isAnycast(feed.label))) return true;
  if (feed.sets === "relay") return (kind === "email") === isDomainFormat(feed.format) && kind !== "geo";
  return deciding.includes(feed.sets) || other.includes(feed.sets);
}

/** Whether the feed decides one of these answers. */
export function decides({ feed }: LoadedFeed, sets: readonly string[]): boolean {
  return sets.includes(feed.sets) && feed.supplement !== true;
}

/** Whether the answer may be wrong without the feed: geofeeds only correct places, all others can set the flag. */
export function canSet(answer: Answer, { feed }: LoadedFeed): boolean {
  if (answer === "geolocation") return feed.sets === answer && feed.supplement !== true;
  if (feed.sets === answer) return true;
  return feed.format === "mmdb" && ANONYMOUS_FLAGS.has(feed.sets) && ANONYMOUS_FLAGS.has(answer);
}
