// release.ts: the manifest where compiler and server meet: which segments, made from what, and how old that is.
//
// in   the JSON of releases/<time>-<id>.json
// out  Release
// err  zod's, listing every member at fault
//
// The id is made from content alone (segments and feeds, not times). A build uses the segments of the release before
// while their inputs are the same, so that the same inputs give the same id; an email segment that is made elsewhere from
// them has other keys (domain-hash.ts).

import { keysOf, REPUTATION_FLAGS } from "@inkling/contract";
import { z } from "zod";
import type { SegmentKind } from "./segment.ts";

/** What a feed can decide: the reputation flags, disposable domains, and geolocation. */
export const ANSWERS = ["geolocation", ...REPUTATION_FLAGS, "disposable"] as const;
export type Answer = (typeof ANSWERS)[number];

/**
 * What feeds set (`sets` of their reports), by the segment that it goes into: what decides its answers, and what only
 * adds to or corrects them.
 */
export const FEED_SETS: Readonly<
  Record<SegmentKind, { readonly deciding: readonly string[]; readonly other: readonly string[] }>
> = {
  geo: { deciding: ["geolocation", "registered_country"], other: ["network", "anycast"] },
  reputation: {
    deciding: REPUTATION_FLAGS,
    other: ["hosting", "relay", "guard", "network"],
  },
  email: { deciding: ["disposable"], other: ["free", "relay", "popular", "shared", "copied"] },
  network: { deciding: ["network"], other: ["hosting", "relay", "guard", "kind"] },
};

/** The answers that a segment has. */
export function answersIn(kind: SegmentKind): Answer[] {
  return ANSWERS.filter((answer) => FEED_SETS[kind].deciding.includes(answer));
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const time = z.iso.datetime();

/** A part of the address space: IPv4 in addresses, IPv6 in /64s. */
const space = z.object({ v4: z.number().nonnegative(), v6: z.number().nonnegative() });
export type Space = Readonly<z.infer<typeof space>>;

export const feedReport = z.object({
  id: z.string(),
  /** What it contributes to, as in the feed table. */
  sets: z.string(),
  /** What a list names; absent for places, and in older releases. */
  names: z.enum(["networks", "domains"]).optional(),
  /** Where this copy came from; "none" when there was no copy at all. */
  source: z.enum(["mirror", "fetched", "last-good", "seed", "own", "none"]),
  /** expired: the newest copy is too old to be used. */
  state: z.enum(["loaded", "missing", "refused", "expired"]),
  /** Networks, domains or records taken from it. */
  entries: z.number().int().nonnegative(),
  /** What its networks cover; absent for other feeds, and in older releases. */
  space: space.optional(),
  sha256: sha256.optional(),
  bytes: z.number().int().nonnegative().optional(),
  /** When this copy was fetched or copied, and when the publisher made it, if known. */
  fetched_at: time.optional(),
  published_at: time.optional(),
  licence: z.string(),
  attribution: z.string().optional(),
  /** Why the newest copy was refused or is missing; an older one may be in use all the same. */
  error: z.string().optional(),
  /** Older than the feed should be; used all the same. */
  stale: z.boolean().optional(),
  /** When its source was last checked, and when it is checked next. */
  checked_at: time.optional(),
  next_check_at: time.optional(),
  /** Attempts in a row that gave no copy that passed. */
  failures: z.number().int().nonnegative().optional(),
  /** A copy that needs the operator's acceptance, because it differs too much from the last good one. */
  pending: z.object({ sha256, why: z.string() }).optional(),
  /** Ignored entries of the copy in use: unreadable, or never flagged. */
  skipped: z.object({ entries: z.number().int().positive(), first: z.string() }).optional(),
});
export type FeedReport = z.infer<typeof feedReport>;

const segmentReport = z.object({
  sha256,
  bytes: z.number().int().positive(),
  /** Digest of all that it was made from, code included: equal inputs need no new build. */
  inputs: sha256,
});
export type SegmentReport = z.infer<typeof segmentReport>;

/** What the policy flags, and what guards kept it from flagging. */
const flaggedSpace = z.object({
  flagged: space,
  /** Guarded against this flag, and the part of that which lists name all the same. */
  guarded: space,
  overruled: space,
});
export type FlaggedSpace = Readonly<z.infer<typeof flaggedSpace>>;

export const release = z.object({
  format: z.literal(1),
  id: z.string().regex(/^[0-9a-f]{12}$/),
  created_at: time,
  /** Digest of the code that made it: copies are read again after a change of version. */
  code: sha256,
  /** A segment that no loaded feed contributes to is absent. */
  segments: z.object({
    geo: segmentReport.optional(),
    reputation: segmentReport.optional(),
    email: segmentReport.optional(),
    /** Absent in older releases. */
    network: segmentReport.optional(),
  }),
  feeds: z.array(feedReport),
  /** By flag; absent without a reputation segment, and in older releases. */
  flagged: z.record(z.string(), flaggedSpace).optional(),
  /** How many domains are disposable or `listed`; absent without an email segment, and in older releases. */
  disposable: z.number().int().nonnegative().optional(),
  /** Answers without any loaded feed but such as only add to others: "no" is unknown. */
  missing: z.array(z.enum(ANSWERS)),
  /** The other answers of which a feed is not loaded, and which, for the operator. */
  partial: z.array(z.object({ answer: z.enum(ANSWERS), why: z.string() })),
});
export type Release = z.infer<typeof release>;

/** A release that was built, and is not published before the operator accepts it. */
export const heldRelease = z.object({ id: release.shape.id, at: time, why: z.string() });
export type HeldRelease = Readonly<z.infer<typeof heldRelease>>;

/** A build that failed as a whole, and published nothing. */
export const failedBuild = z.object({ at: time, why: z.string() });
export type FailedBuild = Readonly<z.infer<typeof failedBuild>>;

/**
 * The state of feeds after the last build, whether or not it made a release: a release never changes, but when its
 * feeds were last checked does.
 */
export const feedsReport = z.object({
  format: z.literal(1),
  at: time,
  /** The newest release; absent while the first one waits. */
  release: z.string().optional(),
  feeds: z.array(feedReport),
  /** The release that waits for the operator. */
  held: heldRelease.optional(),
  /** The latest build, if it failed; the rest is of the build before. */
  failed: failedBuild.optional(),
});
export type FeedsReport = z.infer<typeof feedsReport>;

/** The feeds of a release with their present state: what it was made from, and what is known of each since. */
export function feedsNow(manifest: Release, report: FeedsReport | undefined): readonly FeedReport[] {
  if (report === undefined || report.at < manifest.created_at) return manifest.feeds;
  const latest = new Map(report.feeds.map((feed) => [feed.id, feed]));
  return manifest.feeds.map((feed) => {
    const now = latest.get(feed.id);
    if (now === undefined) return feed;
    if (now.state === feed.state && now.sha256 === feed.sha256) return now;
    const { error, stale, checked_at, next_check_at, failures, pending } = now;
    return { ...feed, error, stale, checked_at, next_check_at, failures, pending };
  });
}

/**
 * What a release's id is made of, as text: the id is the first {@link RELEASE_ID_DIGITS} hex digits of its SHA-256.
 * Everything that decides answers, without times and sources of copies: an hour without a publisher makes no new
 * release. The network segment is in it by what it is made of, code and feeds: versions that do not know it drop its
 * member, and compute the same id.
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

/** Answers that a manifest neither has a segment for nor calls missing: such a manifest is damaged. */
export function unfoundedAnswers({ segments, missing }: Pick<Release, "segments" | "missing">): Answer[] {
  const kinds = keysOf(FEED_SETS).filter((kind) => segments[kind] === undefined);
  return kinds.flatMap(answersIn).filter((answer) => !missing.includes(answer));
}

/** `releases/<name>.json` and the content of `current`. */
export function releaseName(manifest: Release): string {
  return `${manifest.created_at.replace(/[-:.]/g, "")}-${manifest.id}`;
}

/**
 * Seconds since a copy was published, or fetched when the publisher gives no date.
 * @param now epoch ms
 */
export function feedAgeSeconds(
  feed: { readonly published_at?: string | undefined; readonly fetched_at?: string | undefined },
  now: number,
): number | undefined {
  const made = feed.published_at ?? feed.fetched_at;
  return made === undefined ? undefined : Math.max(0, Math.round((now - Date.parse(made)) / 1000));
}

/** The share of an answer's entries from which on a feed counts for its age: a list of one address does not. */
const RELEVANT_SHARE = 0.01;

export interface DataAge {
  readonly answer: Answer;
  /** The feed that is so old. */
  readonly feed: string;
  readonly seconds: number;
}

/**
 * For each answer that has data, the age of the oldest feed that holds a relevant share of its entries, if known.
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

/** The oldest of all data; undefined if no age is known. */
export function oldestAge(ages: readonly DataAge[]): DataAge | undefined {
  return ages.toSorted((a, b) => b.seconds - a.seconds)[0];
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** "171d", and below two days "47h": whole ones that have passed. */
export function ageText(seconds: number): string {
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)}h` : `${Math.floor(seconds / DAY)}d`;
}
