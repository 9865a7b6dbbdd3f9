// try-copies.ts: the copies of one feed, tried in their order until one passes the gates.
//
// in   Load: the feed, its state, whether its source may be requested now
// out  Tried: the copy that passed, and those refused before it with reasons
// err  what node:fs throws when the data folder cannot be written

import type { Release } from "@inkling/engine";
import { type Feed, FeedError } from "../catalog/feed.ts";
import { type FeedCopy, isCopy, isNew, type NoCopy } from "../fetch/copy.ts";
import { type FeedState, writeFeedState } from "../fetch/feed-state.ts";
import type { KeptCopies } from "../fetch/kept-copies.ts";
import { mirrorName } from "../fetch/mirror-url.ts";
import { attemptsAt, type Source, spendRequest } from "../fetch/next-state.ts";
import { findHold, type Hold } from "../fetch/schedule.ts";
import { candidates, isRemote, lackingCredentials, type SourceOptions } from "../fetch/source.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import { type Age, ageOf } from "../policy/age.ts";
import { requireLikeLast } from "../validate/compare-copies.ts";
import { HeldBack, requireEntries, requirePast } from "../validate/gates.ts";
import { type Readable, readCopy } from "../validate/read-copy.ts";

export interface LoadOptions extends SourceOptions {
  /** Whether only due feeds are requested. */
  readonly onlyDue: boolean;
  /** From 0 to 1, as Math.random. */
  readonly chance: () => number;
  /** Digest of the code that builds: a copy that it could not make a segment of is not tried again. */
  readonly code?: string;
}

/** What is fixed before any copy is tried. */
export interface Load {
  readonly feed: Feed;
  readonly options: LoadOptions;
  /** The previous release, if this version of the code made it: its copies are read only when needed. */
  readonly trusted: Release | undefined;
  readonly source: Source;
  readonly state: FeedState;
  readonly kept: KeptCopies;
  /** Why its source is not requested now. */
  readonly hold: Hold | undefined;
}

/** A candidate that is not used, and why. */
export interface Refusal extends NoCopy {
  /** The copy, when there was one and a gate refused it. */
  readonly copy?: FeedCopy;
  /** Whether only the comparison with the last good copy refused it. */
  readonly isHeld?: boolean;
}

export interface Used {
  readonly copy: FeedCopy;
  readonly read: Readable;
  readonly age: Age;
}

/** The refused candidates in order, and the one in use. */
export interface Tried {
  readonly refusals: readonly Refusal[];
  readonly used?: Used;
}

/** Tries the candidates; when the last good copy was lost, its source is requested early. */
export async function tryCopies(
  request: Omit<Load, "source" | "hold">,
): Promise<{ load: Load; tried: Tried }> {
  const load = prepare(request);
  const tried = await tryEach(load);
  if (!hasLostCopy(load, tried)) return { load, tried };
  const again = prepare({ ...load, options: { ...load.options, onlyDue: false } });
  return { load: again, tried: await tryEach(again) };
}

/** Decides whether the source is requested; stores a request that counts against its budget. */
function prepare(load: Omit<Load, "source" | "hold">): Load {
  const { feed, options, state } = load;
  const { dataDir, mirror, now, chance, onlyDue, accept } = options;
  const source = { feed, mirror: mirror && mirrorName(mirror), now, chance };
  const attempts = attemptsAt(state, source.mirror);
  const isAccepted = accept === true && state.pending !== undefined;
  const mayAsk = isRemote(feed, options) && !isAccepted;
  const hold = mayAsk && attempts !== undefined ? findHold(feed, attempts, now, onlyDue) : undefined;
  const isAsking = mayAsk && hold === undefined && lackingCredentials(feed, options).length === 0;
  const spent = isAsking ? spendRequest(state, source) : state;
  if (spent !== state) writeFeedState(feed, dataDir, spent);
  return { ...load, source, state: spent, hold };
}

export async function tryEach(load: Load): Promise<Tried> {
  const { feed, options, trusted, kept, hold } = load;
  const refusals: Refusal[] = [];
  for await (const copy of candidates(feed, { ...options, isDue: hold === undefined }, kept)) {
    if (!isCopy(copy)) {
      refusals.push(copy);
      continue;
    }
    try {
      return { refusals, used: requireGood(load, copy, readCopy(feed, copy, trusted)) };
    } catch (error) {
      if (!(error instanceof FeedError) && !(error instanceof MmdbError)) throw error;
      const { source } = copy;
      refusals.push({ source, error: error.message, copy, isHeld: error instanceof HeldBack });
    }
  }
  return { refusals };
}

/** @throws FeedError when a gate refuses the copy */
function requireGood({ feed, options, state, kept }: Load, copy: FeedCopy, read: Readable): Used {
  const { now, accept } = options;
  const publishedAt = read.publishedAt ?? copy.publishedAt;
  const used = {
    copy: { ...copy, ...(publishedAt && { publishedAt }) },
    read,
    age: ageOfCopy(feed, copy, publishedAt, now),
  };
  const isAccepted = copy.accepted === true || accept === true;
  const isKnownSmall = state.copy?.entries !== undefined && state.copy.entries < feed.entries.least;
  requireEntries(feed, read.entries, isAccepted || isKnownSmall);
  if (!isNew(copy)) return used;
  const { refused } = state;
  if (refused?.sha256 === copy.sha256 && refused.code === options.code) throw new FeedError(refused.why);
  requirePast(publishedAt, now);
  const lastGood = kept.find("copy");
  // An expired last good copy is not compared with.
  const last =
    lastGood && ageOfCopy(feed, lastGood, lastGood.publishedAt, now) !== "dropped" ? lastGood : undefined;
  if (last !== undefined && used.age === "dropped") throw new FeedError(whyExpired(feed, used.copy));
  if (last !== undefined && !isAccepted)
    requireLikeLast(feed, used.copy, read, { ...last, entries: state.copy?.entries }, now);
  return used;
}

/** What the operator can do about it: `rsync -a` and `cp -p` keep the time that a file had elsewhere. */
function whyExpired(feed: Feed, { source, fetchedAt, publishedAt }: FeedCopy): string {
  const days = Math.round(feed.age.dropHours / 24);
  const dates = [
    publishedAt && `was made on ${publishedAt.toISOString()}`,
    fetchedAt &&
      `${source === "mirror" ? "has the file time" : "was confirmed at"} ${fetchedAt.toISOString()}`,
  ];
  return `${dates.filter(Boolean).join(" and ")}, more than ${days} days ago: the last good copy is not replaced by an expired one`;
}

function ageOfCopy(feed: Feed, copy: FeedCopy, publishedAt: Date | undefined, now: Date): Age {
  return ageOf(feed, { confirmedAt: copy.fetchedAt, publishedAt }, now);
}

/** Whether the last good copy is missing or damaged and its source was skipped as not due. */
function hasLostCopy({ hold, options, state, source }: Load, { used }: Tried): boolean {
  if (hold === undefined || !options.onlyDue || state.copy === undefined) return false;
  if ((attemptsAt(state, source.mirror)?.failures ?? 0) > 0) return false;
  return used?.copy.keptFrom === undefined;
}
