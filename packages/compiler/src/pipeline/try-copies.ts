// try-copies.ts: tries the copies of one feed in order until one passes the gates.

import { HAS_SEEDS } from "@inkling/data/program";
import { FEED_SETS, type Release } from "@inkling/engine";
import { type Feed, FeedError } from "../catalog/feed.ts";
import { type Candidate, type FeedCopy, isCopy, type NoCopy } from "../fetch/copy.ts";
import { type FeedState, writeFeedState } from "../fetch/feed-state.ts";
import type { KeptCopies } from "../fetch/kept-copies.ts";
import { mirrorName } from "../fetch/mirror-url.ts";
import { type FeedAttempt, planRequest } from "../fetch/next-state.ts";
import type { Hold } from "../fetch/schedule.ts";
import { isRemote, lackingCredentials, type SourceOptions } from "../fetch/source.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import { type Age, requireGood } from "../validate/copy-gates.ts";
import { type Readable, readCopy } from "../validate/read-copy.ts";

export interface LoadOptions extends SourceOptions {
  /** Whether to request only feeds that are due. */
  readonly onlyDue: boolean;
  /** See `BuildRequest`. */
  readonly keepGeo?: boolean | undefined;
  /** Feeds that arrived at this time or later are not requested again. */
  readonly since?: string | undefined;
  /** Returns a random number from 0 to 1, like Math.random. */
  readonly chance: () => number;
}

/** Everything that is fixed before the first copy is tried. */
export interface Load {
  readonly feed: Feed;
  readonly options: LoadOptions;
  /** The previous release, if this version of the code built it. The release's copies are read only if needed. */
  readonly trusted: Release | undefined;
  readonly source: FeedAttempt;
  readonly state: FeedState;
  readonly kept: KeptCopies;
  /** Why the source is not requested now. */
  readonly hold: Hold | undefined;
}

/** A candidate that is not used, and the reason. */
export interface Refusal extends NoCopy {
  /** The copy, if there was one. */
  readonly copy?: FeedCopy;
}

export interface Used {
  readonly copy: FeedCopy;
  readonly read: Readable;
  readonly age: Age;
}

/** The refused candidates in order, and the copy in use. */
export interface Tried {
  readonly refusals: readonly Refusal[];
  readonly used?: Used;
}

const GEO_SETS: readonly string[] = [...FEED_SETS.geo.deciding, ...FEED_SETS.geo.other];

/** Decides whether to request the source. If the request counts against a budget, it is recorded first. */
export function prepareLoad(load: Omit<Load, "source" | "hold">): Load {
  const { feed, options, state } = load;
  const { dataDir, mirror, now, chance, onlyDue, keepGeo, since, accept } = options;
  const source = { feed, mirror: mirror && mirrorName(mirror), now, chance };
  const isAccepted = accept === true && state.held !== undefined;
  if (!isRemote(feed, options) || isAccepted) return { ...load, source, hold: undefined };
  if (keepGeo && GEO_SETS.includes(feed.sets)) return { ...load, source, hold: { why: "not due" } };
  const isReady = lackingCredentials(feed, options).length === 0;
  const { hold, state: spent } = planRequest(state, source, { onlyDue, since, isReady });
  if (spent !== state) writeFeedState(feed, dataDir, spent);
  return { ...load, source, state: spent, hold };
}

/** Tries these copies in order. */
export async function tryCopies(load: Load, copies: AsyncIterable<Candidate>): Promise<Tried> {
  const { feed, options, trusted, state, kept } = load;
  const refusals: Refusal[] = [];
  let older: Used | undefined;
  for await (const copy of copies) {
    if (!isCopy(copy)) {
      refusals.push(copy);
      continue;
    }
    let read: Readable | undefined;
    try {
      read = readCopy(feed, copy, trusted);
      const used = { read, ...requireGood(feed, copy, read, { ...options, state, kept }) };
      if (!isOlderThanSeed(feed, used.copy, options.now)) return { refusals, used };
      older ??= used;
    } catch (error) {
      if (!(error instanceof FeedError) && !(error instanceof MmdbError)) throw error;
      const { source, origin } = copy;
      // A file that cannot be read may be another server's page. It is fetched again, because its date says nothing
      // about the feed.
      const isReadable = read !== undefined || origin === undefined;
      const held = isReadable ? copy : { ...copy, origin: { url: origin.url } };
      refusals.push({ source, error: error.message, copy: held });
    }
  }
  return { refusals, ...(older && { used: older }) };
}

/**
 * Returns whether the seed is newer than a copy from a mirror or an earlier build. What a publisher sends is as new as
 * the request, because the publisher may have withdrawn what the seed contains.
 */
function isOlderThanSeed({ seed }: Feed, copy: FeedCopy, now: Date): boolean {
  const { source, keptFrom, accepted, publishedAt, fetchedAt } = copy;
  const createdAt = keptFrom === "fetched" ? fetchedAt : (publishedAt ?? fetchedAt);
  if (seed === undefined || accepted || !HAS_SEEDS || createdAt === undefined) return false;
  const seedAt = new Date(seed.published);
  return (source === "mirror" || source === "last-good") && createdAt < seedAt && seedAt <= now;
}
