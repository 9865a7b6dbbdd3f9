// parts.ts: which feeds each segment is made of.

import type { SegmentKind } from "@inkling/engine";
import type { Sets } from "../catalog/feed.ts";
import type { LoadedFeed } from "./load.ts";

/** What the feeds of a segment set: those that decide it, and those that only add to or correct it. */
export const PARTS: Readonly<
  Record<SegmentKind, { readonly deciding: readonly Sets[]; readonly other: readonly Sets[] }>
> = {
  geo: { deciding: ["geolocation", "registered_country"], other: [] },
  reputation: { deciding: ["is_abuser", "is_proxy", "is_tor_exit"], other: ["hosting", "relay", "guard"] },
  email: { deciding: ["disposable"], other: ["free", "relay"] },
};

export function isLoaded({ report }: LoadedFeed): boolean {
  return report.state === "loaded";
}

/** `relay` is claimed of networks and of domains: the format decides which segment it belongs to. */
export function belongsTo(kind: SegmentKind, { feed }: LoadedFeed): boolean {
  const { deciding, other } = PARTS[kind];
  if (feed.sets === "relay") return kind === (feed.format === "geofeed-csv" ? "reputation" : "email");
  return deciding.includes(feed.sets) || other.includes(feed.sets);
}

/** Whether the feed decides one of these answers. */
export function decides({ feed }: LoadedFeed, sets: readonly Sets[]): boolean {
  return sets.includes(feed.sets) && feed.supplement !== true;
}
