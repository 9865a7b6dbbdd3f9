// release-tables.ts: describes a release to people: its feeds and segments as tables, its gaps, and the attributions
// that it requires.

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

export const missingText = (answer: string) => `${answer} is unknown: no feed that provides it is loaded`;

/** Describes an answer without data in the text of a command. */
export const missingLine = (answer: string, style: Style) =>
  `${style.yellow("missing")}  ${missingText(answer)}`;

/** Describes the answers for which a release has no data or only part of it. Empty if there are none. */
export function dataGaps(manifest: Release, style: Style): string[] {
  const missing = manifest.missing.map((answer) => missingLine(answer, style));
  const partial = manifest.partial.map(({ answer, why }) => `${style.yellow("partial")}  ${answer}: ${why}`);
  return [...missing, ...partial];
}

/**
 * Returns the texts that licences require for data from these tables, without duplicates. Attributions of geolocation
 * feeds come first.
 */
export function attributions(feeds: Release["feeds"], tables?: readonly Table[]): string[] {
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

/** Returns a feed's state, as tables show it. */
export function stateWord({
  state,
  held,
  stale,
}: Pick<FeedReport, "state" | "stale"> & { held?: unknown }): string {
  if (held) return "held";
  return stale === true ? "stale" : state;
}

/**
 * Returns the age of a feed's data, such as "3 days", or "-" if no time is known. For a file in a mirror that contains
 * no date, this is the age of the file.
 */
export function feedAge(feed: FeedReport | undefined, now: Date): string {
  const isOfFile = feed?.source === "mirror" && feed.published_at === undefined;
  return copyAge(feed && feedAgeSeconds(feed, now.getTime()), isOfFile);
}

export const copyAge = (seconds: number | null | undefined, isOfFile = false): string =>
  typeof seconds === "number" ? `${formatAge(seconds * 1000)}${isOfFile ? " (file)" : ""}` : "-";

/** Returns the age of each answer's data as "geolocation 171 days, is_proxy 3 hours". Empty if no age is known. */
export function dataAge(feeds: readonly FeedReport[], now: Date): string {
  const ages = dataAges(feeds, now.getTime());
  return ages.map(({ answer, seconds }) => `${answer} ${formatAge(seconds * 1000)}`).join(", ");
}

/**
 * Returns the age of the oldest data as "; oldest data: 278 days", to append to a build time. Empty if no age is known.
 */
export function oldestData(feeds: readonly FeedReport[], now: Date): string {
  const oldest = oldestAge(dataAges(feeds, now.getTime()));
  return oldest === undefined ? "" : `; oldest data: ${formatAge(oldest.seconds * 1000)}`;
}

/**
 * Answers whose data is older than the feed's limit: "geolocation (dbip-city-lite, stale after 60 days)".
 * @param staleHours returns the feed's limit, or undefined for a feed that this version does not have
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

/**
 * Describes on how many domains lists disagree, and shows some of them. Disposable domains come first, because a wrong
 * verdict on them does the most harm: it turns people away.
 */
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
  return `${list}\nand ${formatCount(more)} more (in all ${counts}): run \`inkling data status --json\` to list them.`;
}

/**
 * Formats feeds as a table for people.
 * @param localFiles the ids of feeds that are files on this machine; their reports state the source "mirror"
 * @param width the terminal's width, if there is a terminal
 */
export function feedTable(
  feeds: readonly FeedReport[],
  localFiles: readonly string[],
  now: Date,
  width: number | undefined,
): string {
  const rows = feeds.map((feed) => {
    return [
      feed.id,
      feed.sets,
      stateWord(feed),
      formatCount(feed.entries),
      feed.source === "mirror" && localFiles.includes(feed.id) ? "file" : feed.source,
      feedAge(feed, now),
      feed.error ?? "",
    ];
  });
  const head = ["FEED", "SETS", "STATE", "ENTRIES", "SOURCE", "AGE", "PROBLEM"];
  return roomyTable([head, ...rows], [3], 6, width);
}

/** Formats a release's segments as a table for people. */
export function segmentTable(manifest: Release): string {
  const rows = Object.entries(manifest.segments).flatMap(([kind, report]) =>
    report === undefined ? [] : [[kind, formatBytes(report.bytes), report.sha256.slice(0, 12)]],
  );
  return table([["SEGMENT", "SIZE", "SHA-256"], ...rows], [1]);
}
