// release-tables.ts: a release for people: its feeds and segments as tables, its gaps, the attributions it needs.

import type { Table } from "@inkling/bulk";
import {
  dataAges,
  FEED_SETS,
  type FeedReport,
  feedAgeSeconds,
  oldestAge,
  type Release,
  SEGMENT_OF,
} from "@inkling/engine";
import { formatAge, formatBytes, formatCount, roomyTable, type Style, table } from "./terminal.ts";

/** What an operator must know of a release before trusting it; empty when there is nothing. */
export function dataGaps(manifest: Release, style: Style): string[] {
  const missing = manifest.missing.map(
    (answer) => `${style.yellow("missing")}  ${answer}: none of its main feeds could be loaded`,
  );
  const partial = manifest.partial.map(({ answer, why }) => `${style.yellow("partial")}  ${answer}: ${why}`);
  return [...missing, ...partial];
}

interface AttributedFeed {
  readonly state: string;
  readonly sets: string;
  readonly attribution?: string | null | undefined;
}

/** The texts that licences require where data of these tables is shown, each once; that of places first. */
export function attributions(feeds: readonly AttributedFeed[], tables?: readonly Table[]): string[] {
  const sets = tables?.flatMap((table) => [
    ...(table === "network" ? FEED_SETS.network.other : FEED_SETS[SEGMENT_OF[table]].deciding),
    ...(table === "email" ? [] : FEED_SETS.network.deciding),
  ]);
  const texts = feeds
    .toSorted((a, b) => Number(b.sets === "geolocation") - Number(a.sets === "geolocation"))
    .filter((feed) => feed.state === "loaded" && (sets === undefined || sets.includes(feed.sets)))
    .flatMap(({ attribution }) => attribution ?? []);
  return [...new Set(texts)];
}

/** The state of a feed, as tables show it. */
export function stateWord({ state, pending, stale }: FeedReport): string {
  if (pending !== undefined) return "waits";
  return stale === true ? "stale" : state;
}

/** "3 days", "-" where no time is known; of a mirror's file without a date in it, that of the file. */
export function feedAge(feed: FeedReport | undefined, now: Date): string {
  const seconds = feed && feedAgeSeconds(feed, now.getTime());
  if (seconds === undefined) return "-";
  const isOfFile = feed?.source === "mirror" && feed.published_at === undefined;
  return `${isOfFile ? "file of " : ""}${formatAge(seconds * 1000)}`;
}

interface FeedsOf {
  readonly feeds: readonly FeedReport[];
}

/** "geolocation 171 days, is_proxy 3 hours": of each answer; "" when no age is known. */
export function dataAge({ feeds }: FeedsOf, now: Date): string {
  const ages = dataAges(feeds, now.getTime());
  return ages.map(({ answer, seconds }) => `${answer} ${formatAge(seconds * 1000)}`).join(", ");
}

/** "; oldest data: 278 days", to follow when a release was built; "" when no age is known. */
export function oldestData({ feeds }: FeedsOf, now: Date): string {
  const oldest = oldestAge(dataAges(feeds, now.getTime()));
  return oldest === undefined ? "" : `; oldest data: ${formatAge(oldest.seconds * 1000)}`;
}

/**
 * "geolocation (dbip-city-lite, stale after 60 days)": answers whose data is older than its feed should be.
 * @param staleHours the feed's limit; undefined for a feed that this version does not have
 */
export function overdueData(
  feeds: readonly FeedReport[],
  staleHours: (feed: string) => number | undefined,
  now: Date,
): string[] {
  return dataAges(feeds, now.getTime()).flatMap(({ answer, feed, seconds }) => {
    const limitMs = (staleHours(feed) ?? Number.POSITIVE_INFINITY) * 3_600_000;
    return seconds * 1000 > limitMs ? `${answer} (${feed}, stale after ${formatAge(limitMs)})` : [];
  });
}

interface Conflict {
  readonly domain: string;
  readonly verdict: string;
  readonly reason: string;
}

const CONFLICTS_SHOWN = 5;

/** How many domains lists disagree on, and those that a wrong verdict harms most: it would turn people away. */
export function conflictsText(conflicts: readonly Conflict[], width: number | undefined): string {
  if (conflicts.length === 0) return "";
  const isDisposable = ({ verdict }: Conflict) => verdict === "disposable";
  const refused = conflicts.filter(isDisposable);
  const shown = [...refused, ...conflicts.filter((one) => !isDisposable(one))].slice(0, CONFLICTS_SHOWN);
  const rows = shown.map(({ domain, verdict, reason }) => [domain, verdict, reason]);
  const more = conflicts.length - shown.length;
  const list = roomyTable([["LISTS DISAGREE ON", "VERDICT", "REASON"], ...rows], [], 2, width);
  if (more === 0) return list;
  const counts = `${formatCount(refused.length)} disposable, ${formatCount(conflicts.length - refused.length)} not`;
  return `${list}\nand ${formatCount(more)} more (in all ${counts}): \`npx @inkling/cli data status --json\` lists them.`;
}

/** Feeds as a table for people. @param width of their terminal, if there is one */
export function feedTable(feeds: readonly FeedReport[], now: Date, width: number | undefined): string {
  const rows = feeds.map((feed) => {
    return [
      feed.id,
      feed.sets,
      stateWord(feed),
      formatCount(feed.entries),
      feed.source,
      feedAge(feed, now),
      feed.error ?? "",
    ];
  });
  const head = ["FEED", "SETS", "STATE", "ENTRIES", "SOURCE", "AGE", "PROBLEM"];
  return roomyTable([head, ...rows], [3], 6, width);
}

/** Segments of a release as a table for people. */
export function segmentTable(manifest: Release): string {
  const rows = Object.entries(manifest.segments).flatMap(([kind, report]) =>
    report === undefined ? [] : [[kind, formatBytes(report.bytes), report.sha256.slice(0, 12)]],
  );
  return table([["SEGMENT", "SIZE", "SHA-256"], ...rows], [1]);
}
