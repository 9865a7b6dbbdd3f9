// try-copies.ts: the copies of one feed, tried in their order until one passes the gates.
//
// in   Load: the feed, its state, whether its source may be requested now
// out  Tried: the copy that passed, and those refused before it with reasons
// err  what node:fs throws when the data folder cannot be written

import type { Release } from "@inkling/engine";
import { type Feed, FeedError } from "../catalog/feed.ts";
import { type FeedCopy, isCopy, type NoCopy } from "../fetch/copy.ts";
import { type FeedState, writeFeedState } from "../fetch/feed-state.ts";
import type { KeptCopies } from "../fetch/kept-copies.ts";
import { mirrorName } from "../fetch/mirror-url.ts";
import { attemptsAt, planRequest, type Source } from "../fetch/next-state.ts";
import type { Hold } from "../fetch/schedule.ts";
import { candidates, isRemote, lackingCredentials, type SourceOptions } from "../fetch/source.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import type { Age } from "../policy/age.ts";
import { HeldBack, requireGood } from "../validate/copy-gates.ts";
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
  const isAccepted = accept === true && state.pending !== undefined;
  if (!isRemote(feed, options) || isAccepted) return { ...load, source, hold: undefined };
  const isReady = lackingCredentials(feed, options).length === 0;
  const { hold, state: spent } = planRequest(state, source, { onlyDue, isReady });
  if (spent !== state) writeFeedState(feed, dataDir, spent);
  return { ...load, source, state: spent, hold };
}

export async function tryEach(load: Load): Promise<Tried> {
  const { feed, options, trusted, state, kept, hold } = load;
  const refusals: Refusal[] = [];
  for await (const copy of candidates(feed, { ...options, isDue: hold === undefined }, kept)) {
    if (!isCopy(copy)) {
      refusals.push(copy);
      continue;
    }
    try {
      const read = readCopy(feed, copy, trusted);
      return { refusals, used: { read, ...requireGood(feed, copy, read, { ...options, state, kept }) } };
    } catch (error) {
      if (!(error instanceof FeedError) && !(error instanceof MmdbError)) throw error;
      const { source } = copy;
      refusals.push({ source, error: error.message, copy, isHeld: error instanceof HeldBack });
    }
  }
  return { refusals };
}

/** Whether the last good copy is missing or damaged and its source was skipped as not due. */
function hasLostCopy({ hold, options, state, source }: Load, { used }: Tried): boolean {
  if (hold === undefined || !options.onlyDue || state.copy === undefined) return false;
  if ((attemptsAt(state, source.mirror)?.failures ?? 0) > 0) return false;
  return used?.copy.keptFrom === undefined;
}
