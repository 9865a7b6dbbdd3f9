// release.ts: defines the release manifest, which is the interface between compiler and server. It lists the segments,
// and the feeds that they were built from, with their ages.
//
// in   the JSON in releases/<time>-<id>.json
// out  a Release
// err  a zod error that lists every invalid field
//
// The id is derived only from content: segments and feeds, not times. A build reuses a segment of the previous release
// if its inputs have not changed, and a new build writes the same bytes. So the same inputs give the same id, also on
// another machine.

import { keysOf, REPUTATION_FLAGS, setsOfLabel } from "@inkling/contract";
import { z } from "zod";
import type { SegmentKind } from "./segment.ts";

/** The answers that feeds can decide: geolocation, the reputation flags and disposable domains. */
export const ANSWERS = ["geolocation", ...REPUTATION_FLAGS, "disposable"] as const;
export type Answer = (typeof ANSWERS)[number];

const HOSTING = setsOfLabel("hosting");
const RELAY = setsOfLabel("relay");

/**
 * The values of `sets` in feed reports, by the segment that the feed goes into. `deciding` feeds decide the segment's
 * answers, and `other` feeds only add to them or correct them.
 */
export const FEED_SETS: Readonly<
  Record<SegmentKind, { readonly deciding: readonly string[]; readonly other: readonly string[] }>
> = {
  geo: { deciding: ["geolocation", "registered_country"], other: ["network", "anycast"] },
  reputation: {
    deciding: REPUTATION_FLAGS,
    other: [HOSTING, RELAY, "guard", "network", "kind"],
  },
  email: { deciding: ["disposable"], other: ["free", "relay", "popular", "shared", "copied", "mail_host"] },
  network: { deciding: ["network"], other: [HOSTING, RELAY, "gateway", "guard", "kind"] },
};

/** Returns the answers that a segment contains. */
export function answersIn(kind: SegmentKind): Answer[] {
  return ANSWERS.filter((answer) => FEED_SETS[kind].deciding.includes(answer));
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const time = z.iso.datetime();

/** A size in the address space: IPv4 in addresses, IPv6 in /64 networks. */
const space = z.object({ v4: z.number().nonnegative(), v6: z.number().nonnegative() });
export type Space = Readonly<z.infer<typeof space>>;

export const feedReport = z.object({
  id: z.string(),
  /** The answer or data to which the feed contributes, as in the feed table. */
  sets: z.string(),
  /** What the feed lists; absent for geolocation feeds, and in older releases. */
  names: z.enum(["networks", "domains"]).optional(),
  /** Where this copy came from; "none" if there was no copy at all. */
  source: z.enum(["mirror", "fetched", "last-good", "seed", "own", "none"]),
  /** "expired" means that the newest copy is too old to be used. Earlier versions also had the state "refused". */
  state: z.preprocess(
    (state) => (state === "refused" ? "missing" : state),
    z.enum(["loaded", "missing", "expired"]),
  ),
  /** Number of networks, domains or records taken from the feed. */
  entries: z.number().int().nonnegative(),
  /** The address space that its networks cover; absent for feeds without networks, and in older releases. */
  space: space.optional(),
  sha256: sha256.optional(),
  bytes: z.number().int().nonnegative().optional(),
  /** When this copy was fetched or copied, and when the publisher created it, if known. */
  fetched_at: time.optional(),
  published_at: time.optional(),
  licence: z.string(),
  attribution: z.string().optional(),
  /** The URL that has replaced the source's URL for good, when the copy was fetched. */
  moved_to: z.string().optional(),
  /** Why the newest copy is held or missing. An older copy may still be in use. */
  error: z.string().optional(),
  /** True if the copy is older than copies of this feed should be, but is still used. */
  stale: z.boolean().optional(),
  /** When the source was last checked, and when the next check is due. */
  checked_at: time.optional(),
  next_check_at: time.optional(),
  /** Number of consecutive attempts that yielded no usable copy. */
  failures: z.number().int().nonnegative().optional(),
  /** A newer copy that looks wrong, so that it is used only if the operator accepts it. */
  held: z.object({ sha256, why: z.string() }).optional(),
  /** Entries in the copy in use that were ignored because they are unreadable or may never be flagged. */
  skipped: z.object({ entries: z.number().int().positive(), first: z.string() }).optional(),
});
export type FeedReport = z.infer<typeof feedReport>;

const segmentReport = z.object({
  sha256,
  bytes: z.number().int().positive(),
  /** Digest of all inputs, including the code. If it is unchanged, the segment needs no new build. */
  inputs: sha256,
});
export type SegmentReport = z.infer<typeof segmentReport>;

/** The address space that the policy flags, and the space that guards protect from a flag. */
const flaggedSpace = z.object({
  flagged: space,
  /** Address space that is guarded against this flag, and the part of it that lists would otherwise flag. */
  guarded: space,
  overruled: space,
});
export type FlaggedSpace = Readonly<z.infer<typeof flaggedSpace>>;

export const release = z.object({
  format: z.literal(1),
  id: z.string().regex(/^[0-9a-f]{12}$/),
  created_at: time,
  /** Digest of the code that built the release. After an upgrade, copies are read again. */
  code: sha256,
  /** A segment is absent if no loaded feed contributes to it. */
  segments: z.object({
    geo: segmentReport.optional(),
    reputation: segmentReport.optional(),
    email: segmentReport.optional(),
    /** Absent in older releases. */
    network: segmentReport.optional(),
  }),
  feeds: z.array(feedReport),
  /** Keyed by flag; absent without a reputation segment, and in older releases. */
  flagged: z.record(z.string(), flaggedSpace).optional(),
  /** Number of domains that are disposable or `listed`; absent without an email segment, and in older releases. */
  disposable: z.number().int().nonnegative().optional(),
  /**
   * Answers that no loaded feed provides; feeds that only supplement other feeds do not count. In these answers, "no"
   * means unknown.
   */
  missing: z.array(z.enum(ANSWERS)),
  /** Other answers that lack one of their feeds. `why` tells the operator which feed. */
  partial: z.array(z.object({ answer: z.enum(ANSWERS), why: z.string() })),
});
export type Release = z.infer<typeof release>;

/** A build that failed as a whole. */
export const failedBuild = z.object({ at: time, why: z.string() });
export type FailedBuild = Readonly<z.infer<typeof failedBuild>>;

/**
 * The state of all feeds after the last build, even if that build created no release. A release never changes, so it
 * cannot record when its feeds were last checked.
 */
export const feedsReport = z.object({
  format: z.literal(1),
  at: time,
  /** The newest release; absent if no build has published one. */
  release: z.string().optional(),
  feeds: z.array(feedReport),
  /** The latest build, if it failed. All other fields then describe the state before the failure. */
  failed: failedBuild.optional(),
});
export type FeedsReport = z.infer<typeof feedsReport>;

/** Returns the feeds that a release was built from, each updated from a later report, if there is one. */
export function feedsNow(manifest: Release, report: FeedsReport | undefined): readonly FeedReport[] {
  if (report === undefined || report.at < manifest.created_at) return manifest.feeds;
  const latest = new Map(report.feeds.map((feed) => [feed.id, feed]));
  return manifest.feeds.map((feed) => {
    const now = latest.get(feed.id);
    if (now === undefined) return feed;
    if (now.state === feed.state && now.sha256 === feed.sha256) return now;
    const { error, stale, checked_at, next_check_at, failures, held } = now;
    return { ...feed, error, stale, checked_at, next_check_at, failures, held };
  });
}

/**
 * Returns the text that a release's id is derived from. The id is the first {@link RELEASE_ID_DIGITS} hex digits of the
 * text's SHA-256. The text contains everything that determines answers, but no times and no sources of copies. So a
 * publisher that is unreachable for an hour does not cause a new release. The text covers the network segment only
 * indirectly, through the code and the feeds. Versions without network segments drop that field from a manifest, and
 * still compute the same id.
 */
export function releaseContent({
  format,
  code,
  segments,
  feeds,
  missing,
  partial,
}: Omit<Release, "id">): string {
  const loaded = feeds.filter((feed) => feed.state === "loaded");
  return JSON.stringify([
    format,
    code,
    Object.entries(segments)
      .filter(([kind]) => kind !== "network")
      .map(([kind, report]) => [kind, report?.sha256, report?.bytes, report?.inputs])
      .sort(),
    loaded.map(({ id, sha256 }) => [id, sha256]).sort(),
    [...missing].sort(),
    partial.map(({ answer, why }) => [answer, why]).sort(),
  ]);
}
export const RELEASE_ID_DIGITS = 12;

/**
 * Returns the answers that have no segment in the manifest and are not marked as missing. A manifest with such answers
 * is damaged.
 */
export function unfoundedAnswers({ segments, missing }: Pick<Release, "segments" | "missing">): Answer[] {
  const kinds = keysOf(FEED_SETS).filter((kind) => segments[kind] === undefined);
  return kinds.flatMap(answersIn).filter((answer) => !missing.includes(answer));
}

/** Returns the name of a release, as used in `releases/<name>.json` and in the `current` file. */
export function releaseName(manifest: Release): string {
  return `${manifest.created_at.replace(/[-:.]/g, "")}-${manifest.id}`;
}

/**
 * Returns the seconds since a copy was published, or since it was fetched if its publication date is unknown; undefined
 * if neither time is known.
 * @param now epoch ms
 */
export function feedAgeSeconds(
  feed: { readonly published_at?: string | undefined; readonly fetched_at?: string | undefined },
  now: number,
): number | undefined {
  const date = feed.published_at ?? feed.fetched_at;
  return date === undefined ? undefined : Math.max(0, Math.round((now - Date.parse(date)) / 1000));
}

/**
 * A feed counts towards an answer's age only if it has at least this share of the answer's entries. A tiny list must
 * not determine the age.
 */
const RELEVANT_SHARE = 0.01;

export interface DataAge {
  readonly answer: Answer;
  /** The id of the oldest relevant feed. */
  readonly feed: string;
  readonly seconds: number;
}

/**
 * Returns, for each answer that has data, the age of the oldest feed with a relevant share of the answer's entries.
 * Answers without a known age are omitted.
 * @param now epoch ms
 */
export function dataAges(
  feeds: readonly Pick<FeedReport, "id" | "sets" | "state" | "entries" | "published_at" | "fetched_at">[],
  now: number,
): DataAge[] {
  return ANSWERS.flatMap((answer) => {
    const loaded = feeds.filter(({ sets, state }) => sets === answer && state === "loaded");
    const least = RELEVANT_SHARE * loaded.reduce((sum, { entries }) => sum + entries, 0);
    const ages = loaded
      .filter(({ entries }) => entries >= least)
      .flatMap((feed): DataAge | [] => {
        const seconds = feedAgeSeconds(feed, now);
        return seconds === undefined ? [] : { answer, feed: feed.id, seconds };
      });
    return ages.sort((a, b) => b.seconds - a.seconds).slice(0, 1);
  });
}

/** Returns the age of the oldest data; undefined if no age is known. */
export function oldestAge(ages: readonly DataAge[]): DataAge | undefined {
  return ages.toSorted((a, b) => b.seconds - a.seconds)[0];
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Formats an age in full days, such as "171d", or below two days in full hours, such as "47h". */
export function ageText(seconds: number): string {
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)}h` : `${Math.floor(seconds / DAY)}d`;
}

/** Returns the state of a feed as JSON, with its age. */
export function feedStatusOf(feed: FeedReport, now: number) {
  const { id, sets, state, source, entries, licence } = feed;
  return {
    id,
    sets,
    state,
    source,
    entries,
    sha256: feed.sha256 ?? null,
    age_seconds: feedAgeSeconds(feed, now) ?? null,
    fetched_at: feed.fetched_at ?? null,
    published_at: feed.published_at ?? null,
    licence,
    attribution: feed.attribution ?? null,
    error: feed.error ?? null,
    stale: feed.stale === true,
    checked_at: feed.checked_at ?? null,
    next_check_at: feed.next_check_at ?? null,
    failures: feed.failures ?? 0,
    held: feed.held ?? null,
    skipped: feed.skipped ?? null,
  };
}
