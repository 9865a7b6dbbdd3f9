// events.ts: defines the input and output of the compiler process.
//
// The exit status is 0 if the build is done. It is 3 if the build is done, but a feed is in one of the lists in
// TROUBLES. It is 1 if the build failed. If a release was published before the failure, a "note" event contains it.

import { feedReport, release } from "@inkling/engine";
import { z } from "zod";
import type { Feed } from "../catalog/feed.ts";
import { ownFeeds } from "../catalog/own-feed.ts";
import type { FetchTimes } from "../fetch/fetch.ts";

/** Why a build failed if nobody reads its events any more. */
export const ABANDONED = "the server or command that started the build ended during the build";

export const buildRequest = z.object({
  dataDir: z.string(),
  /**
   * Folder or base URL that contains one file per feed. If set, new copies come only from here and from the files of
   * own feeds.
   */
  mirror: z.string().optional(),
  /**
   * Whether to request files from publishers. If not, only the mirror, last good copies, seeds and Inkling's own lists
   * are used.
   */
  fetch: z.boolean(),
  /** Whether to check only the feeds that are due. All other feeds keep their copies. */
  onlyDue: z.boolean().default(false),
  /**
   * Whether to keep the geo segment of the newest release, and to request none of the feeds that only that segment
   * needs. Their downloads and the segment take far longer than the lists of proxies and abusers.
   */
  keepGeo: z.boolean().optional(),
  /** Feeds that arrived at this time or later, with the build before this one, keep their copies. */
  since: z.iso.datetime().optional(),
  /**
   * Held copies that this build uses, by the name that `copyName` gives them. {@link ACCEPT_RELEASE} accepts all held
   * copies, and a release that fails its check.
   */
  accept: z.array(z.string()).readonly().default([]),
  /**
   * The operator's own feeds from inkling.toml. Feeds that were added on the command line are stored in the data
   * folder.
   */
  ownFeeds: ownFeeds.optional(),
  /** DNS servers and excluded domains for feeds that DNS publishes. Without servers, the system's are used. */
  dnsServers: z.array(z.string()).readonly().optional(),
  dnsExclude: z.array(z.string()).readonly().optional(),
  /** Credentials for publishers that require an account, by their names in the feed table. */
  credentials: z.record(z.string(), z.string()).default({}),
});
export type BuildRequest = z.infer<typeof buildRequest>;
/** The request as sent. Fields with a default may be left out. */
export type BuildOrder = z.input<typeof buildRequest>;

/**
 * Why the source of a feed could not be reached, and any other problems. The `error` in the feed's report combines
 * both.
 */
const trouble = z.object({ why: z.string(), rest: z.string() });
export type Trouble = z.infer<typeof trouble>;

/** The lists of feeds without a good new copy. Each feed is in the first list that applies. */
export const TROUBLES = ["held", "expired", "failed", "unreached", "missing"] as const;

export const buildEvent = z.discriminatedUnion("type", [
  /** A step of the build. `total` is absent while it is unknown. Sent about ten times a second at most. */
  z.object({ type: z.literal("progress"), step: z.string(), done: z.number(), total: z.number().optional() }),
  /** `lacksFile` is true if nothing is wrong with the feed, except that the mirror has no file for it. */
  z.object({
    type: z.literal("feed"),
    feed: feedReport,
    trouble: trouble.optional(),
    lacksFile: z.literal(true).optional(),
  }),
  /** A domain that lists disagree on, with its verdict. */
  z.object({
    type: z.literal("conflict"),
    domain: z.string(),
    verdict: z.enum(["disposable", "not disposable"]),
    reason: z.string(),
  }),
  /** `published` is the name of a published release, which remains however the rest of the build ends. */
  z.object({ type: z.literal("note"), text: z.string(), published: z.string().optional() }),
  z.object({
    type: z.literal("done"),
    /**
     * Whether this build published a release, or moved `current` to the newest release. Otherwise, the new release has
     * the same content as the newest release.
     */
    published: z.boolean(),
    name: z.string(),
    release,
    /** Feeds with a held copy, whether or not an older copy is in use. */
    held: z.array(z.string()).readonly(),
    /** Feeds whose newest copy is too old. */
    expired: z.array(z.string()).readonly(),
    /** Feeds whose source sent no copy, or whose kept copy is damaged. */
    failed: z.array(z.string()).readonly(),
    /** Feeds whose publisher or mirror could not be reached. */
    unreached: z.array(z.string()).readonly(),
    /** Feeds without a usable copy: not in the mirror, or never fetched. */
    missing: z.array(z.string()).readonly(),
    /** The release that remains in use because the operator pinned it, regardless of what this build published. */
    pinned: z.string().optional(),
    /** When the next feed is due. Absent if no feed has a remote source. */
    nextDue: z.iso.datetime().optional(),
    seconds: z.number(),
    peakBytes: z.number(),
  }),
  z.object({
    type: z.literal("failed"),
    message: z.string(),
    hint: z.string(),
    /** A code for programs. `busy`: another build is running in the data folder, so this build did nothing. */
    code: z.literal("busy").optional(),
  }),
]);
export type BuildEvent = z.infer<typeof buildEvent>;
export type FeedEvent = Extract<BuildEvent, { type: "feed" }>;

/** What a build needs from its environment. */
export interface BuildEffects {
  readonly now: () => Date;
  readonly emit: (event: BuildEvent) => void;
  /** Returns a random number from 0 to 1, like Math.random. It spreads requests. */
  readonly chance: () => number;
  /** For tests: a different feed table and different time limits. */
  readonly feeds?: readonly Feed[];
  readonly times?: FetchTimes;
  /**
   * For tests: returns the next 32-bit word of the email segment's hash keys, which otherwise follow from its names.
   */
  readonly drawWord?: () => number;
  /** Milliseconds that the first release of a build waits for feeds. */
  readonly patienceMs?: number;
}
