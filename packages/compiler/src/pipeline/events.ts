// events.ts: input and output of the compiler's process.
//
// in   a BuildRequest on standard input, one JSON document: not argv, because it holds secrets
// out  BuildEvents on standard output; "done" or "failed" is the last one
// Exit status: 0 done, 3 done but a feed was refused, not reached or is missing, or the release waits, 1 failed and
// nothing was published.

import { feedReport, heldRelease, release } from "@inkling/engine";
import { z } from "zod";
import type { Feed } from "../catalog/feed.ts";
import { ownFeeds } from "../catalog/own-feed.ts";
import type { FetchTimes } from "../fetch/fetch.ts";

/** In `accept`: the release that waits. No feed has this id. */
export const ACCEPT_RELEASE = "release";

export const buildRequest = z.object({
  dataDir: z.string(),
  /** Folder or base URL with one file per feed. The only source of new copies when set. */
  mirror: z.string().optional(),
  /** Whether publishers are requested. If not: mirror, last good copies, seeds and our own lists only. */
  fetch: z.boolean(),
  /** Check only feeds that are due; the others keep their copies. */
  onlyDue: z.boolean().default(false),
  /** Feeds of which a larger change than usual is accepted, this once; {@link ACCEPT_RELEASE} is the release that waits. */
  accept: z.array(z.string()).readonly().default([]),
  /** The operator's own feeds of inkling.toml; the data folder has those that were added on the command line. */
  ownFeeds: ownFeeds.optional(),
  /** Credentials of publishers with accounts, by the names in the feed table. */
  credentials: z.record(z.string(), z.string()).default({}),
});
export type BuildRequest = z.infer<typeof buildRequest>;
/** As it is sent: what has a default may be left out. */
export type BuildOrder = z.input<typeof buildRequest>;

/** Why the source of a feed could not be reached, and its other problems; its report's `error` has all. */
const trouble = z.object({ why: z.string(), rest: z.string() });
export type Trouble = z.infer<typeof trouble>;

export const buildEvent = z.discriminatedUnion("type", [
  /** A step of the build; `total` is absent while unknown. Sent at most ten times a second. */
  z.object({ type: z.literal("progress"), step: z.string(), done: z.number(), total: z.number().optional() }),
  z.object({ type: z.literal("feed"), feed: feedReport, trouble: trouble.optional() }),
  /** A domain that lists disagree on, with its verdict. */
  z.object({
    type: z.literal("conflict"),
    domain: z.string(),
    verdict: z.enum(["disposable", "not disposable"]),
    reason: z.string(),
  }),
  /** With `published`: a release that was published meanwhile, whatever becomes of the rest of the build. */
  z.object({ type: z.literal("note"), text: z.string(), published: z.string().optional() }),
  z.object({
    type: z.literal("done"),
    /** false when the newest release had the same content already. */
    published: z.boolean(),
    name: z.string(),
    release,
    /** Feeds of which a copy was refused, whether or not an older one is in use. */
    refused: z.array(z.string()).readonly(),
    /** Feeds whose publisher, or mirror, could not be reached. */
    unreached: z.array(z.string()).readonly(),
    /** Other feeds without a copy that can be used: not in the mirror, expired, or never fetched. */
    missing: z.array(z.string()).readonly(),
    /** The release that remains in use because the operator pinned it, whatever was built. */
    pinned: z.string().optional(),
    /** The release that was built and is not published before the operator accepts it. */
    held: heldRelease.optional(),
    /** When the next feed is due; absent when none has a remote source. */
    nextDue: z.iso.datetime().optional(),
    seconds: z.number(),
    peakBytes: z.number(),
  }),
  z.object({
    type: z.literal("failed"),
    message: z.string(),
    hint: z.string(),
    /** For programs. busy: another build is at work in the data folder, so this one did nothing. */
    code: z.literal("busy").optional(),
  }),
]);
export type BuildEvent = z.infer<typeof buildEvent>;

/** What a build has of the world around it. */
export interface BuildEffects {
  readonly now: () => Date;
  readonly emit: (event: BuildEvent) => void;
  /** From 0 to 1, as Math.random: spreads requests. */
  readonly chance: () => number;
  /** For tests: another feed table, other time limits. */
  readonly feeds?: readonly Feed[];
  readonly times?: FetchTimes;
  /** How long the first release of a build waits for feeds. */
  readonly patienceMs?: number;
}
