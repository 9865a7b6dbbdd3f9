// parts.ts: which feeds each segment is made of, by the engine's FEED_SETS.

import { FEED_SETS, type SegmentKind } from "@inkling/engine";
import type { LoadedFeed } from "./load.ts";

export function isLoaded({ report }: LoadedFeed): boolean {
  return report.state === "loaded";
}

/** `relay` is claimed of networks and of domains: the format decides which segment it belongs to. */
export function belongsTo(kind: SegmentKind, { feed }: LoadedFeed): boolean {
  const { deciding, other } = FEED_SETS[kind];
  if (feed.sets === "relay") return (kind === "email") === (feed.format !== "geofeed-csv") && kind !== "geo";
  return deciding.includes(feed.sets) || other.includes(feed.sets);
}

/** Whether the feed decides one of these answers. */
export function decides({ feed }: LoadedFeed, sets: readonly string[]): boolean {
  return sets.includes(feed.sets) && feed.supplement !== true;
}
