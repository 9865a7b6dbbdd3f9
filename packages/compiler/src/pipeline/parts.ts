// parts.ts: tells which feeds each segment is built from, according to the engine's FEED_SETS.

import { type Answer, FEED_SETS, type SegmentKind } from "@inkling/engine";
import { ANONYMOUS_FLAGS } from "../parse/anonymous-ip.ts";
import { isDomainFormat } from "../parse/index.ts";
import { isAnycast } from "../policy/guards.ts";
import type { LoadedFeed } from "./load.ts";

export function isLoaded({ report }: LoadedFeed): boolean {
  return report.state === "loaded";
}

/**
 * Returns whether a feed belongs to a segment. The `sets` of both network and domain feeds can be `relay`, so the
 * format decides. Geofeeds and anycast networks contribute places, and doubtful entries contribute services, whatever
 * else the feed contributes.
 */
export function belongsTo(kind: SegmentKind, { feed }: LoadedFeed): boolean {
  const { deciding, other } = FEED_SETS[kind];
  if (kind === "network" && feed.doubtful !== undefined) return true;
  if (kind === "geo" && (feed.format === "geofeed-csv" || isAnycast(feed.label))) return true;
  if (feed.sets === "relay") return (kind === "email") === isDomainFormat(feed.format) && kind !== "geo";
  return deciding.includes(feed.sets) || other.includes(feed.sets);
}

/** Returns whether the feed can provide one of these answers, rather than only supplement other feeds. */
export function decides({ feed }: LoadedFeed, sets: readonly string[]): boolean {
  return sets.includes(feed.sets) && feed.supplement !== true;
}

/**
 * Returns whether the answer may be wrong without the feed. Geofeeds only correct places, but every feed for a flag can
 * set that flag.
 */
export function canSet(answer: Answer, { feed }: LoadedFeed): boolean {
  if (answer === "geolocation") return feed.sets === answer && feed.supplement !== true;
  if (feed.sets === answer) return true;
  return feed.format === "mmdb" && ANONYMOUS_FLAGS.has(feed.sets) && ANONYMOUS_FLAGS.has(answer);
}
