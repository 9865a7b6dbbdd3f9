// load.ts: loads one feed: reads the feed's newest copy that passes the gates, and reports the result.
//
// in   a row of the feed table, where copies come from, the previous release
// out  LoadedFeed; the feed's state on disk records the copy or the failure
// err  errors of node:fs if the data folder is not writable. None for a bad copy: the report names the copy and the
//      reason, and the next copy is tried
//
// readFeedState -> tryCopies -> outcomeOf -> nextFeedState -> writeFeedState. The state is read once, and written only
// if it has changed.
// For a feed with a budget, the state is also written before the request, so that the request counts even if the build
// is killed. A copy that passed is a candidate. After a release, `settle` stores the candidate as the last good copy.

import type { FeedReport, Release } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import { chosenFeeds, readFeedChoice } from "../catalog/feed-choice.ts";
import { feedTable } from "../catalog/feed-table.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { type FeedCopy, isNew } from "../fetch/copy.ts";
import { type FeedState, type KeptCopy, readFeedState, writeFeedState } from "../fetch/feed-state.ts";
import { describeCopy, KeptCopies } from "../fetch/kept-copies.ts";
import { nextFeedState, type Outcome, publishCandidate } from "../fetch/next-state.ts";
import { ageOf } from "../policy/age.ts";
import type { Content } from "../validate/read-copy.ts";
import type { BuildEffects, BuildRequest, Trouble } from "./events.ts";
import { isFault, problemText, reportOf } from "./feed-report.ts";
import { type Load, type LoadOptions, type Refusal, type Tried, tryCopies, tryEach } from "./try-copies.ts";

export interface LoadedFeed {
  readonly feed: Feed;
  readonly report: FeedReport;
  /** Whether any copy was refused, even if an older copy is in use. */
  readonly refused: boolean;
  /** Whether the feed's source could not be reached. In that case, no copy was refused. */
  readonly unreached: boolean;
  /** Why the source could not be reached, now or during an earlier request, and any other problems. */
  readonly trouble: Trouble | undefined;
  /** Whether the feed's copy had not arrived when the build continued without it. */
  readonly late: boolean;
  /** When the feed's source is due. Undefined if the source is never requested. */
  readonly dueAt: Date | undefined;
  /** Reads the copy in use. The content is empty if there is no copy. */
  readonly content: () => Content;
  /** Releases the content from memory once its segment is built. */
  readonly forget: () => void;
  /** Whether the copy differs from the last good copy, so that no release contains it yet. */
  readonly isUntried: boolean;
  /** Stores the result after a release has been created: the candidate becomes the last good copy, or is refused. */
  readonly settle: () => void;
  /**
   * Loads the feed without its candidate. Settling that result refuses the candidate.
   * @param why why no segment can be built
   */
  readonly withoutCandidate: (why: string) => Promise<LoadedFeed>;
}

const NOTHING: Pick<LoadedFeed, "content" | "forget"> = { content: () => ({}), forget: () => {} };

export async function loadFeed(
  feed: Feed,
  options: LoadOptions,
  trusted: Release | undefined,
): Promise<LoadedFeed> {
  const state = readFeedState(feed, options.dataDir);
  const kept = new KeptCopies(feed, options.dataDir, state);
  const { load, tried } = await tryCopies({ feed, options, trusted, state, kept });
  const outcome = outcomeOf(load, tried);
  const next = nextFeedState(load.state, outcome, load.source);
  if (next !== load.state) writeFeedState(feed, options.dataDir, next, newBodies(load, tried, outcome));
  return loadedFeed(load, tried, next);
}

/** @param next the feed's state after this load */
function loadedFeed(load: Load, tried: Tried, next: FeedState): LoadedFeed {
  const { feed, options } = load;
  const { content, forget } = tried.used?.age === "dropped" ? NOTHING : (tried.used?.read ?? NOTHING);
  const isCandidate = next.candidate !== undefined && tried.used?.copy.sha256 === next.candidate.sha256;
  let state = next;
  return {
    feed,
    ...reportOf(load, tried, next),
    refused: tried.refusals.some(isFault),
    unreached: isUnreached(tried.refusals),
    late: tried.refusals.some((refusal) => refusal.late === true),
    content,
    forget,
    get isUntried() {
      return isCandidate && state.candidate !== undefined && state.candidate.sha256 !== state.copy?.sha256;
    },
    settle() {
      const settled = isCandidate ? publishCandidate(state) : state;
      if (settled !== state) writeFeedState(feed, options.dataDir, settled);
      state = settled;
    },
    async withoutCandidate(why) {
      const { copy } = tried.used!; // the copy is the candidate
      const error = `no segment can be built with it: ${why}`;
      const refusal: Refusal = { source: copy.source, error, copy };
      const refused = { sha256: copy.sha256, why: error, code: options.code ?? "" };
      const failure = { error: problemText(refusal, load) };
      const after = nextFeedState(load.state, { type: "refused", refused, failure }, load.source);
      const local = { ...options, fetch: false, mirror: undefined, accept: false };
      const kept = new KeptCopies(feed, options.dataDir, after);
      const rest = await tryEach({ ...load, options: local, state: after, kept });
      const all = { ...rest, refusals: [...tried.refusals, refusal, ...rest.refusals] };
      return { ...loadedFeed(load, all, after), settle: () => writeFeedState(feed, options.dataDir, after) };
    },
  };
}

/**
 * Destroys the copies of a feed that is turned off, if one of them has expired and the feed's licence requires that.
 */
function destroyExpired(feed: Feed, dataDir: string, now: Date): void {
  if (feed.destroyOld !== true) return;
  const { copy, candidate, pending, ...rest } = readFeedState(feed, dataDir);
  const isExpired = ({ fetchedAt, publishedAt }: KeptCopy) => {
    const dates = { confirmedAt: toDate(fetchedAt), publishedAt: toDate(publishedAt) };
    return ageOf(feed, dates, now) === "dropped";
  };
  if ([copy, candidate, pending].some((kept) => kept !== undefined && isExpired(kept)))
    writeFeedState(feed, dataDir, rest);
}

const toDate = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

function outcomeOf(load: Load, { refusals, used }: Tried): Outcome {
  const destroy = used?.age === "dropped" && load.feed.destroyOld === true;
  if (used !== undefined && isNew(used.copy) && used.copy.unpublished !== true)
    return { type: "passed", copy: describeCopy("body", used.copy, used.read.entries), destroy };
  const failures = failuresOf(refusals);
  if (failures.length === 0) return { type: "not requested", destroy };
  const retryAfter = refusals.find((refusal) => refusal.retryAfter)?.retryAfter;
  const failure = {
    error: failures.map((one) => problemText(one, load)).join("; "),
    unreached: failures.every(({ unreached }) => unreached) ? failures[0]?.unreached : undefined,
    retryAfter,
  };
  const held = failures.findLast(({ isHeld }) => isHeld);
  if (held?.copy !== undefined) {
    const pending = { ...describeCopy("pending", held.copy), why: held.error };
    return { type: "held", pending, failure, destroy };
  }
  if (failures.every(({ absent }) => absent === true)) return { type: "absent", failure, destroy };
  const refetch = failures.some(({ copy }) => copy?.keptFrom !== undefined);
  return { type: "failed", failure, refetch, destroy };
}

/** Returns the body of the copy that the next state names, unless that body is already on disk. */
function newBodies({ kept }: Load, { refusals, used }: Tried, outcome: Outcome): FeedCopy[] {
  const named =
    outcome.type === "passed" ? outcome.copy : outcome.type === "held" ? outcome.pending : undefined;
  if (named === undefined || kept.holds(named)) return [];
  const copies = [used?.copy, ...refusals.map(({ copy }) => copy)];
  return copies.flatMap((copy) => (copy?.sha256 === named.sha256 ? copy : [])).slice(0, 1);
}

/** Returns the failures of the feed's source, without the failures of kept copies. */
function failuresOf(refusals: readonly Refusal[]): Refusal[] {
  return refusals.filter(
    (refusal) =>
      isNew(refusal) && !refusal.notRequested && !refusal.late && refusal.copy?.unpublished !== true,
  );
}

function isUnreached(refusals: readonly Refusal[]): boolean {
  const failures = failuresOf(refusals);
  return failures.length > 0 && failures.every(({ unreached }) => unreached) && !refusals.some(isFault);
}

const CONCURRENT_LOADS = 4;

/**
 * Loads all chosen feeds, and returns them in the order of the feed table.
 * @param deadline the time at which the build continues without the feeds that have not arrived, on the clock of
 *   performance.now()
 * @param arrived feeds that are already loaded
 */
export async function loadFeeds(
  request: BuildRequest,
  trusted: Release | undefined,
  code: string,
  { now, emit, chance, feeds: builtIn = FEEDS, times }: BuildEffects,
  deadline: number | undefined,
  arrived: readonly LoadedFeed[],
): Promise<LoadedFeed[]> {
  const choice = readFeedChoice(request.dataDir);
  const feeds = feedTable([...(request.ownFeeds ?? []), ...(choice.added ?? [])], builtIn);
  const chosen = chosenFeeds(feeds, choice);
  for (const feed of feeds) if (!chosen.includes(feed)) destroyExpired(feed, request.dataDir, now());
  const loaded = new Map(arrived.map((one) => [one.feed.id, one]));
  const waiting = chosen.filter(({ id }) => !loaded.has(id));
  const report = () =>
    emit({ type: "progress", step: "reading feeds", done: loaded.size, total: chosen.length });
  const work = async () => {
    for (let feed = waiting.shift(); feed !== undefined; feed = waiting.shift()) {
      const accept = request.accept.includes(feed.id);
      const effects = { chance, onRequest: report, ...(times && { times }) };
      const options = { ...request, accept, now: now(), code, deadline, ...effects };
      const one = await loadFeed(feed, options, trusted);
      loaded.set(feed.id, one);
      emit({ type: "feed", feed: one.report, ...(one.trouble && { trouble: one.trouble }) });
      report();
    }
  };
  report();
  await Promise.all(Array.from({ length: CONCURRENT_LOADS }, work));
  return chosen.flatMap(({ id }) => loaded.get(id) ?? []);
}
