// load.ts: loads one feed. It reads the feed's newest copy that passes the gates, and reports the result. If a copy
// looks wrong, it is held, the report has the reason, and the next copy is tried.
//
// KeptCopies -> prepareLoad -> tryCopies -> outcomeOf -> nextFeedState -> write. The state is read once, and written
// only if it has changed. For a feed with a budget, the state is also written before the request, so that the request
// counts even if the build is killed. A new copy is first stored like a held copy. After a release, `settle` makes it the last
// good copy.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ACCEPT_RELEASE, parseCopyName } from "@inkling/contract";
import { dnsServersOf, makeResolver } from "@inkling/data/dns";
import { HAS_SEEDS } from "@inkling/data/program";
import { FEED_SETS, type FeedReport, type Release } from "@inkling/engine";
import { type Feed, FeedError, hasSource } from "../catalog/feed.ts";
import { isChosen, readFeedChoice } from "../catalog/feed-choice.ts";
import { feedTable } from "../catalog/feed-table.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { type Candidate, type FeedCopy, isCopy, isNew } from "../fetch/copy.ts";
import { type FeedState, type HeldCopy, KeptCopies, readFeedState } from "../fetch/feed-state.ts";
import { mirrorName } from "../fetch/mirror-url.ts";
import { nextFeedState, type Outcome, planRequest, publishHeld } from "../fetch/next-state.ts";
import {
  candidates,
  changedLicence,
  isRemote,
  lackingCredentials,
  localCopies,
  type SourceOptions,
} from "../fetch/source.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import { parseDomains } from "../parse/index.ts";
import { ageOf, requireGood } from "../validate/copy-gates.ts";
import {
  type Content,
  type Readable,
  readCopy,
  unflaggableDomains,
  unflaggableNetworks,
} from "../validate/read-copy.ts";
import { type BuildEffects, type BuildRequest, type FeedEvent, TROUBLES } from "./events.ts";
import {
  isFault,
  type Load,
  type LoadOptions,
  problemText,
  type Refusal,
  reportOf,
  type Tried,
  type Used,
} from "./feed-report.ts";
import { type History, hasHistory, nextHistory, writeHistory } from "./history.ts";
import { domainsToLookUp, lookUpMailHosts } from "./mail-hosts.ts";

export async function loadFeed(
  feed: Feed,
  options: LoadOptions,
  trusted: Release | undefined,
): Promise<LoadedFeed> {
  const kept = new KeptCopies(feed, options.dataDir);
  const load = prepareLoad({ feed, options, trusted, state: kept.state, kept });
  const isDue = load.hold === undefined;
  const tried = await tryCopies(load, candidates(feed, { ...options, isDue }, kept));
  const next = nextFeedState(load.state, outcomeOf(load, tried), load.source);
  const copies = [tried.used, ...tried.refusals].flatMap((one) => one?.copy ?? []);
  if (next !== load.state) kept.write(next, copies);
  return new LoadedFeed(load, tried, next);
}

const GEO_SETS: readonly string[] = [...FEED_SETS.geo.deciding, ...FEED_SETS.geo.other];

/** Decides whether to request the source. If the request counts against a budget, it is recorded first. */
function prepareLoad(load: Omit<Load, "source" | "hold">): Load {
  const { feed, options, state, kept } = load;
  const { mirror, now, chance, onlyDue, keepGeo, since, accept } = options;
  const source = { feed, mirror: mirror && mirrorName(mirror), now, chance };
  const isAccepted = accept === true && state.held !== undefined;
  if (!isRemote(feed, options) || isAccepted) return { ...load, source, hold: undefined };
  if (keepGeo && GEO_SETS.includes(feed.sets)) return { ...load, source, hold: { why: "not due" } };
  const isReady = lackingCredentials(feed, options).length === 0;
  const { hold, state: spent } = planRequest(state, source, { onlyDue, since, isReady });
  if (spent !== state) kept.write(spent);
  return { ...load, source, state: spent, hold };
}

/** Tries these copies in order. */
async function tryCopies(load: Load, copies: AsyncIterable<Candidate>): Promise<Tried> {
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

/** A feed with the copy that this build uses, and what is wrong with the feed. */
export class LoadedFeed {
  readonly feed: Feed;
  /** The event that reports the feed. */
  readonly event: FeedEvent;
  /** Why there is no good new copy. A feed without a source, which only mirrors have, is never missing. */
  readonly trouble: (typeof TROUBLES)[number] | undefined;
  /** Whether the feed's copy had not arrived when the build continued without it. */
  readonly isLate: boolean;
  private readonly load: Load;
  private readonly tried: Tried;
  private readonly next: FeedState;
  /** The feed's state on disk. */
  private stored: FeedState;
  private ofNetworks: History | undefined;

  /** @param next the feed's state after this load */
  constructor(load: Load, tried: Tried, next: FeedState, stored = next) {
    this.feed = load.feed;
    this.load = load;
    this.tried = tried;
    this.next = next;
    this.stored = stored;
    const { refusals } = tried;
    this.event = reportOf(load, tried, next);
    this.isLate = refusals.some(({ kind }) => kind === "late");
    const { held, state } = this.report;
    const is = {
      held: held !== undefined,
      expired: state === "expired",
      failed: refusals.some((refusal) => isFault(refusal) && !isHeldCopy(refusal)),
      unreached: isUnreached(refusals),
      missing: hasSource(load.feed, load.options.now) && state !== "loaded",
    };
    this.trouble = TROUBLES.find((trouble) => is[trouble]);
  }

  get report(): FeedReport {
    return this.event.feed;
  }

  /** Whether the operator accepts the held copy. */
  get isAccepted(): boolean {
    return this.load.options.accept === true;
  }

  /** Whether the copy in use is new, so that no release contains it yet. */
  get isChanged(): boolean {
    return this.isNewHeld && this.stored.held !== undefined;
  }

  private get isNewHeld(): boolean {
    const { held } = this.next;
    return held !== undefined && held.why === undefined && this.tried.used?.copy.sha256 === held.sha256;
  }

  /** Reads the copy in use. The content is empty if there is no copy. */
  content(): Content {
    const { used } = this.tried;
    return used === undefined || used.age === "dropped" ? {} : used.read.content();
  }

  /** Releases the content from memory once its segment is built. */
  forget(): void {
    this.tried.used?.read.forget();
  }

  /** Returns the networks' history, including this copy; undefined if the feed has none. */
  history(): History | undefined {
    const { networks } = this.content();
    const { published_at, fetched_at } = this.report;
    const seenAt = published_at ?? fetched_at;
    if (networks === undefined || seenAt === undefined || !hasHistory(this.feed)) return undefined;
    this.ofNetworks ??= nextHistory(this.feed, this.load.options.dataDir, networks, new Date(seenAt));
    return this.ofNetworks;
  }

  /** Stores the result after a release has been created: a new copy becomes the last good copy. */
  settle(): void {
    const settled = this.isNewHeld ? publishHeld(this.next) : this.next;
    if (settled !== this.stored) this.load.kept.write(settled);
    this.stored = settled;
    if (this.ofNetworks !== undefined) writeHistory(this.feed, this.load.options.dataDir, this.ofNetworks);
  }

  /** Loads the feed without its new copy. Settling the result holds that copy. */
  async hold(why: string): Promise<LoadedFeed> {
    const { feed, load, next, tried } = this;
    const { copy } = tried.used!; // the copy is the new one
    const refusal: Refusal = { source: copy.source, error: why, copy };
    const failed = { type: "failed", failure: { error: problemText(refusal, load) } } as const;
    const after = { ...nextFeedState(load.state, failed, load.source), held: { ...next.held!, why } };
    const kept = new KeptCopies(feed, load.options.dataDir, after);
    this.forget();
    const rest = await tryCopies({ ...load, state: after, kept }, localCopies(feed, load.options, kept));
    const all = { ...rest, refusals: [...tried.refusals, refusal, ...rest.refusals] };
    return new LoadedFeed(load, all, after, next);
  }
}

/**
 * Destroys the copies of a feed that is turned off, if one of them has expired and the feed's licence requires that.
 */
function destroyExpired(feed: Feed, dataDir: string, now: Date): void {
  if (feed.destroyOld !== true) return;
  const kept = new KeptCopies(feed, dataDir);
  const { copy, held, ...rest } = kept.state;
  const isExpired = ({ fetchedAt, publishedAt }: HeldCopy) => {
    const dates = { fetchedAt: toDate(fetchedAt), publishedAt: toDate(publishedAt) };
    return ageOf(feed, dates, now) === "dropped";
  };
  if ([copy, held].some((one) => one !== undefined && isExpired(one))) kept.write(rest);
}

const toDate = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

function outcomeOf(load: Load, { refusals, used }: Tried): Outcome {
  const destroy = used?.age === "dropped" && load.feed.destroyOld === true;
  if (used !== undefined && isNew(used.copy) && used.copy.unpublished !== true)
    return { type: "passed", copy: used.copy, entries: used.read.entries, destroy };
  const failures = failuresOf(refusals);
  if (failures.length === 0) return { type: "not requested", destroy };
  const retryAfter = refusals.find((refusal) => refusal.retryAfter)?.retryAfter;
  const failure = {
    error: failures.map((one) => problemText(one, load)).join("; "),
    unreached: failures.every(({ unreached }) => unreached) ? failures[0]?.unreached : undefined,
    retryAfter,
  };
  const wrong = failures.findLast(isHeldCopy);
  if (wrong?.copy !== undefined)
    return { type: "held", copy: wrong.copy, why: wrong.error, failure, destroy };
  const isAbsent = failures.every(({ kind }) => kind === "absent");
  return { type: isAbsent ? "absent" : "failed", failure, destroy };
}

/** Returns the failures of the feed's source, without the failures of kept copies. */
function failuresOf(refusals: readonly Refusal[]): Refusal[] {
  return refusals.filter(
    (refusal) =>
      isNew(refusal) &&
      refusal.kind !== "no credentials" &&
      refusal.kind !== "late" &&
      refusal.copy?.unpublished !== true,
  );
}

/** Returns whether the source sent a copy that looks wrong, rather than no copy. */
const isHeldCopy = (refusal: Refusal): boolean => isNew(refusal) && refusal.copy !== undefined;

function isUnreached(refusals: readonly Refusal[]): boolean {
  const failures = failuresOf(refusals);
  return failures.length > 0 && failures.every(({ unreached }) => unreached) && !refusals.some(isFault);
}

/** Returns whether the operator accepts the copy that is held now. */
function isAccepted(name: string, feed: Feed, dataDir: string): boolean {
  if (name === ACCEPT_RELEASE) return true;
  const { feed: id, sha256 } = parseCopyName(name);
  return id === feed.id && readFeedState(feed, dataDir).held?.sha256.startsWith(sha256) === true;
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
  { now, emit, chance, feeds: builtIn = FEEDS, times }: BuildEffects,
  deadline: number | undefined,
  arrived: readonly LoadedFeed[],
): Promise<LoadedFeed[]> {
  const choice = readFeedChoice(request.dataDir);
  const feeds = feedTable([...(request.ownFeeds ?? []), ...(choice.added ?? [])], builtIn);
  const chosen = feeds.filter((feed) => isChosen(feed, choice));
  for (const feed of feeds) if (!chosen.includes(feed)) destroyExpired(feed, request.dataDir, now());
  const loaded = new Map(arrived.map((one) => [one.feed.id, one]));
  const waiting = chosen.filter(({ id }) => !loaded.has(id));
  const report = () =>
    emit({ type: "progress", step: "reading feeds", done: loaded.size, total: chosen.length });
  const lookUp = (known: FeedCopy | undefined) => {
    const claims = [...loaded.values()].flatMap((one) => one.content().domains ?? []);
    const before = known && parseDomains(known.format, known.files[0]!).domains;
    return lookUpMailHosts(domainsToLookUp(claims), before ?? new Map(), {
      dns: makeResolver(dnsServersOf(request.dnsServers ?? [])),
      now: now(),
      excluded: request.dnsExclude ?? [],
      progress: (done, total) => emit({ type: "progress", step: "looking up mail hosts", done, total }),
    });
  };
  const work = async (waiting: Feed[]) => {
    for (let feed = waiting.shift(); feed !== undefined; feed = waiting.shift()) {
      const accept = request.accept.some((name) => isAccepted(name, feed, request.dataDir));
      const options = { ...request, accept, now: now(), deadline, lookUp, chance, ...(times && { times }) };
      const one = await loadFeed(feed, options, trusted);
      loaded.set(feed.id, one);
      emit(one.event);
      report();
    }
  };
  report();
  const [first, last] = [waiting.filter(({ asksDns }) => !asksDns), waiting.filter(({ asksDns }) => asksDns)];
  await Promise.all(Array.from({ length: CONCURRENT_LOADS }, () => work(first)));
  await work(last); // because the lookups depend on what the other feeds contain
  return chosen.flatMap(({ id }) => loaded.get(id) ?? []);
}

export interface FeedCheck extends FeedReport {
  /** Number of entries without those that have no effect. Undefined if no copy can be used. */
  readonly usable?: number;
  /** The licence that the package of the feed's seed states. Undefined if the feed's row expects this licence. */
  readonly changed_licence?: string;
}

/** Reads one feed in the same way as a build, in a temporary folder, and keeps nothing. */
export async function checkFeed(
  feed: Feed,
  options: Pick<SourceOptions, "mirror" | "fetch" | "credentials">,
): Promise<FeedCheck> {
  const dataDir = mkdtempSync(join(tmpdir(), "inkling-check-"));
  try {
    const load = { ...options, dataDir, now: new Date(), onlyDue: false, chance: Math.random };
    const loaded = await loadFeed(feed, load, undefined);
    const changed = changedLicence(feed);
    const report = { ...loaded.report, ...(changed !== undefined && { changed_licence: changed }) };
    if (report.entries === undefined) return report;
    const { networks, domains, stated } = loaded.content();
    if (networks === undefined && stated !== undefined) return { ...report, usable: stated.networks.length };
    const idle =
      (networks ?? []).flatMap((claims) => unflaggableNetworks(feed, claims.networks)).length +
      unflaggableDomains(feed, domains?.domains.keys() ?? []).length;
    return { ...report, usable: report.entries - idle };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
