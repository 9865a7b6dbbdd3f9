// load.ts: one feed -> the newest copy of it that passes the gates, read, and a report.
//
// in   a row of the feed table, where copies come from, the release before
// out  LoadedFeed; the copy or the failure in the feed's state on disk
// err  none for a bad copy: it is refused by name and reason, and the next one is tried
//
// readFeedState -> tryCopies -> outcomeOf -> nextFeedState -> writeFeedState; the state is read once and written once.
// With a budget the state is also written before the request: a build killed meanwhile has spent it. A copy that passed is
// a candidate; once a release is made, `settle` writes it as the last good one.

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
  /** Was any copy refused, whether or not an older one is in use? */
  readonly refused: boolean;
  /** Whether its source could not be reached; then no copy was refused. */
  readonly unreached: boolean;
  /** Why, also of an earlier request, and other problems. */
  readonly trouble: Trouble | undefined;
  /** Whether its copy had not arrived when the build went on. */
  readonly late: boolean;
  /** When its source is due; undefined if never. */
  readonly dueAt: Date | undefined;
  /** Reads the copy in use: empty when there is none. */
  readonly content: () => Content;
  /** Releases the content from memory once its segment is made. */
  readonly forget: () => void;
  /** Whether it is another copy than the last good one: no release was made with it. */
  readonly isUntried: boolean;
  /** Stores what became of it once a release exists: the candidate is the last good copy, or is refused. */
  readonly settle: () => void;
  /** The feed as it is without its candidate, which is refused when that settles. @param why no segment can be made */
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

/** @param next the state on disk */
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
      const { copy } = tried.used!; // it uses the candidate
      const error = `no segment can be made with it: ${why}`;
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

/** Destroys expired copies of a feed that is turned off, where its licence requires that. */
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

/** The body of the copy that the next state names, unless it is on disk already. */
function newBodies({ kept }: Load, { refusals, used }: Tried, outcome: Outcome): FeedCopy[] {
  const named =
    outcome.type === "passed" ? outcome.copy : outcome.type === "held" ? outcome.pending : undefined;
  if (named === undefined || kept.holds(named)) return [];
  const copies = [used?.copy, ...refusals.map(({ copy }) => copy)];
  return copies.flatMap((copy) => (copy?.sha256 === named.sha256 ? copy : [])).slice(0, 1);
}

/** Failures of the feed's source, without failures of kept copies. */
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
 * Loads all chosen feeds, in the order of the feed table.
 * @param deadline when it continues without the feeds that have not arrived, as performance.now() counts
 * @param arrived feeds that are loaded already
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
      const options = { ...request, accept, now: now(), chance, code, deadline, ...(times && { times }) };
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
