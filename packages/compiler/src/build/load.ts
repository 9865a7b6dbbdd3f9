// load.ts: one feed -> the newest copy of it that can be believed, read, and a report on how that went.
//
// in   copies in order of preference (source.ts): mirror or publisher, last good one, seed, our own file
// out  what the first copy says that passes the gates (gates.ts), and a FeedReport that names what was refused and why;
//      the feed's state (sources/state.ts) remembers the copy, or the failure
// err  none for a bad copy: it is refused by name and reason, and the next one is tried

import type { FeedReport, Release } from "@inkling/engine";
import { type Feed, FeedError } from "../catalog/feed.ts";
import { keepLastGood, keepPending, readLastGood } from "../fetch/last-good.ts";
import { isMirrorUrl } from "../fetch/mirror.ts";
import {
  type Attempts,
  absent,
  dueAt,
  failed,
  findHold,
  spent,
  succeeded,
  untried,
} from "../fetch/schedule.ts";
import {
  candidates,
  type FeedCopy,
  isCopy,
  isRemote,
  lackingCredentials,
  mirrorName,
  type SourceOptions,
} from "../fetch/source.ts";
import {
  type Asked,
  attemptsAt,
  type FeedState,
  stateOrNone,
  withAttempts,
  writeState,
} from "../fetch/state.ts";
import { MmdbError } from "../mmdb/mmdb.ts";
import { isDomainFormat, isNetworkFormat } from "../parse/index.ts";
import { type Age, ageOf } from "../policy/age.ts";
import {
  HeldBack,
  requireLikeness,
  requireNewer,
  requirePast,
  requireWholeLines,
} from "../validate/gates.ts";
import { type Content, type Read, type Readable, readContent, readCopy } from "../validate/read-copy.ts";

export interface LoadOptions extends SourceOptions {
  /** Is only asked for what is due by its schedule? */
  readonly onlyDue: boolean;
  /** From 0 to 1, as Math.random. */
  readonly chance: () => number;
}

export interface LoadedFeed {
  readonly feed: Feed;
  readonly report: FeedReport;
  /** Was any copy refused, whether or not an older one is in use? */
  readonly refused: boolean;
  /** Did its source not answer at all? Nothing was refused then. */
  readonly unreached: boolean;
  /** When it is to be asked for next; undefined when never. */
  readonly dueAt: Date | undefined;
  /** Reads the copy in use: empty when there is none. */
  readonly content: () => Content;
  /** Lets go of what was read of it: when its segment is made, others need the memory. */
  readonly forget: () => void;
}

type InUse = Pick<LoadedFeed, "report" | "content" | "forget">;

/** Of a feed without a copy. */
const NOTHING: Pick<LoadedFeed, "content" | "forget"> = { content: () => ({}), forget: () => {} };

/**
 * @param trusted the release before, when this same program made it: a copy that it was made from is read only when
 *   somebody asks for its content
 */
export async function loadFeed(
  feed: Feed,
  options: LoadOptions,
  trusted: Release | undefined,
): Promise<LoadedFeed> {
  const round = new Round(feed, options);
  const inUse = await firstGood(round, feed, options, trusted);
  // The last good copy was lost or damaged on disk: worth asking for a new one before its time.
  if (round.hasLostCopy(inUse)) return loadFeed(feed, { ...options, onlyDue: false }, trusted);
  return round.end(inUse);
}

async function firstGood(
  round: Round,
  feed: Feed,
  options: LoadOptions,
  trusted: Release | undefined,
): Promise<InUse | undefined> {
  for await (const copy of candidates(feed, { ...options, ask: round.asks })) {
    if (!isCopy(copy)) {
      round.refuse(copy.source, copy.error, copy);
      continue;
    }
    try {
      return round.use(copy, readCopy(feed, copy, trusted));
    } catch (error) {
      if (!(error instanceof FeedError) && !(error instanceof MmdbError)) throw error;
      round.refuse(copy.source, error.message, {});
      if (isNew(copy)) round.forgetOrHold(copy, error);
    }
  }
  return undefined;
}

/** Whose copy has a problem: a feed whose publisher could not be reached was not fetched. */
const sourceWord = (source: FeedCopy["source"]) => (source === "fetched" ? "publisher" : source);
const isNew = ({ source }: Pick<FeedCopy, "source">) => source === "mirror" || source === "fetched";

/** One feed in one build: what is known of it before, what went wrong on the way, what is remembered after. */
class Round {
  /** May its source be asked? */
  readonly asks: boolean;
  private readonly feed: Feed;
  private readonly options: LoadOptions;
  private readonly before: FeedState;
  /** Undefined: the publisher is asked. */
  private readonly mirror: string | undefined;
  private attempts: Attempts;
  /** What is said of copies that are not in use. */
  private readonly problems: string[] = [];
  /** Those of them that this round met at the feed's source, not in its own past. */
  private readonly failures: string[] = [];
  /** Were all of those of the kind "there is none there"? */
  private isAbsent = true;
  /** Or "nobody answered"? */
  private isUnreached = true;
  private retryAfter: string | undefined;
  private refused = false;
  private ended = false;

  constructor(feed: Feed, options: LoadOptions) {
    const { dataDir, now, chance, onlyDue, accept, mirror } = options;
    this.feed = feed;
    this.options = options;
    this.before = stateOrNone(feed, dataDir);
    this.mirror = mirror && mirrorName(mirror);
    this.attempts = attemptsAt(this.before, this.mirror) ?? untried(chance);
    const remote = isRemote(feed, options);
    const hold = remote ? findHold(feed, this.attempts, now, onlyDue) : undefined;
    this.asks = hold === undefined;
    const isAccepted = accept === true && this.before.pending !== undefined;
    if (isAccepted || !remote) return;
    if (hold?.why === "held") this.problems.push(hold.reason);
    if (hold !== undefined && this.attempts.error !== undefined) this.problems.push(this.attempts.error);
    if (hold === undefined && feed.budgetPerDay !== undefined) {
      this.attempts = spent(feed, this.attempts, now);
      writeState(feed, dataDir, { ...this.before, ...this.asked() });
    }
  }

  refuse(
    source: FeedCopy["source"],
    error: string,
    { absent, unreached, retryAfter }: { absent?: true; unreached?: true; retryAfter?: string },
  ): void {
    const problem = `${sourceWord(source)}: ${withoutFolders(error, this.options)}`;
    this.problems.push(problem);
    if (isNew({ source })) this.failures.push(problem);
    if (isNew({ source }) && absent !== true) this.isAbsent = false;
    if (isNew({ source }) && unreached !== true) this.isUnreached = false;
    this.refused ||= absent !== true && unreached !== true;
    this.retryAfter ??= retryAfter;
  }

  /** Is an older kind of copy in use than the one that was kept, with nobody asked for a new one yet? */
  hasLostCopy(inUse: InUse | undefined): boolean {
    if (this.asks || !this.options.onlyDue || this.attempts.failures > 0) return false;
    const { source = "none" } = inUse?.report ?? {};
    return this.before.copy !== undefined && ["seed", "own", "none"].includes(source);
  }

  /** A new copy did not pass: it waits for the operator, or is not asked about again. */
  forgetOrHold(copy: FeedCopy, error: Error): void {
    const { feed, options, before } = this;
    if (error instanceof HeldBack) {
      this.remember(this.failed());
      keepPending(feed, copy, error.message, options.dataDir, this.asked());
    } else if (copy.keptFrom !== undefined && before.copy !== undefined) {
      // Confirmed by its publisher, and this program does not believe it any more: the next answer must be a file.
      const { etag: _, lastModified: __, ...rest } = before.copy;
      this.remember(this.failed());
      writeState(feed, options.dataDir, { ...before, copy: rest, ...this.asked() });
    }
  }

  /** @throws FeedError when a gate refuses it */
  use(copy: FeedCopy, read: Readable): InUse {
    const { feed, options } = this;
    const { now, dataDir } = options;
    const published = read.publishedAt ?? copy.publishedAt;
    if (isNew(copy)) {
      requirePast(published, now);
      if (copy.accepted !== true && options.accept !== true) this.compare(copy, published, read);
      this.remember(succeeded(feed, this.attempts, now));
      keepLastGood(
        feed,
        { ...copy, ...(published && { publishedAt: published }) },
        dataDir,
        this.asked(),
        read.entries,
      );
    }
    const age = ageOfCopy(feed, copy, published, now);
    const dates = {
      ...(copy.fetchedAt && { fetched_at: copy.fetchedAt.toISOString() }),
      ...(published && { published_at: published.toISOString() }),
    };
    const about = {
      id: feed.id,
      sets: feed.sets,
      ...namesOf(feed),
      source: this.sourceOf(copy),
      licence: copy.licence,
      ...dates,
    };
    if (age === "dropped") {
      if (feed.destroyOld === true) forgetCopy(feed, dataDir);
      const days = Math.round(feed.age.dropHours / 24);
      this.problems.push(`${sourceWord(copy.source)}: is more than ${days} days old: its claims are dropped`);
      return { report: { ...about, state: "expired", entries: 0 }, ...NOTHING };
    }
    const { attribution = feed.attribution, skipped } = read;
    const report: FeedReport = {
      ...about,
      state: "loaded",
      entries: read.entries,
      sha256: copy.sha256,
      bytes: copy.bytes,
      ...(attribution && { attribution }),
      ...(skipped && { skipped }),
      ...(age === "stale" && { stale: true }),
    };
    return { report, content: read.content, forget: read.forget };
  }

  /** Holds a new copy against the last good one, as far as that is still believed itself. */
  private compare(copy: FeedCopy, published: Date | undefined, read: Readable): void {
    const { feed, options, before } = this;
    const last = findLastGood(feed, options.dataDir);
    if (last === undefined || last.sha256 === copy.sha256) return;
    if (ageOfCopy(feed, last, last.publishedAt, options.now) === "dropped") return;
    requireNewer(published, last.publishedAt, options.now);
    if (last.format !== copy.format) return;
    requireWholeLines(copy.format, copy.files[0]!.bytes, last.files[0]!.bytes);
    const isList = isNetworkFormat(copy.format) || isDomainFormat(copy.format);
    const lastEntries = before.copy?.entries;
    if (isList) {
      const lastRead = findReadable(feed, last);
      if (lastRead !== undefined)
        requireLikeness(
          feed,
          { entries: read.entries, ...read.content() },
          { entries: lastRead.entries, ...lastRead.content },
        );
    } else if (lastEntries !== undefined) requireLikeness(feed, read, { entries: lastEntries });
  }

  /** A kept copy whose time has not come again is as good as fetched now. */
  private sourceOf(copy: FeedCopy): FeedCopy["source"] {
    const isCurrent = copy.source === "last-good" && !this.asks && this.problems.length === 0;
    return isCurrent ? copy.keptFrom! : copy.source;
  }

  private failed(): Attempts {
    const { feed, options, retryAfter } = this;
    const failure = { error: this.failures.join("; "), retryAfter };
    if (this.isAbsent) return absent(feed, this.attempts, options.now, failure.error);
    return failed(feed, this.attempts, options.now, failure, options.chance);
  }

  /** What the feed's state is to remember. */
  private asked(): Asked {
    return withAttempts(this.before, this.mirror, this.attempts);
  }

  private remember(attempts: Attempts): void {
    this.attempts = attempts;
    this.ended = true;
  }

  end(inUse: InUse | undefined): LoadedFeed {
    const { feed, options } = this;
    if (!this.ended && this.failures.length > 0 && lackingCredentials(feed, options).length === 0) {
      this.remember(this.failed());
      writeState(feed, options.dataDir, { ...this.before, ...this.asked() });
    }
    const none: FeedReport = {
      id: feed.id,
      sets: feed.sets,
      ...namesOf(feed),
      source: "none",
      state: this.refused ? "refused" : "missing",
      entries: 0,
      licence: feed.licence,
    };
    const { report, content, forget } = inUse ?? { report: none, ...NOTHING };
    const due = this.dueAt();
    const { at, failures } = this.attempts;
    const { pending } = stateOrNone(feed, options.dataDir);
    return {
      feed,
      refused: this.refused,
      unreached: this.failures.length > 0 && this.isUnreached && !this.refused,
      dueAt: due,
      report: {
        ...report,
        ...(this.problems.length > 0 && { error: this.problems.join("; ") }),
        ...(at && { checked_at: at }),
        ...(due && { next_check_at: due.toISOString() }),
        ...(failures > 0 && { failures }),
        ...(pending && { pending: { sha256: pending.sha256, why: pending.why } }),
      },
      content,
      forget,
    };
  }

  private dueAt(): Date | undefined {
    const { feed, options } = this;
    const hasSource = options.mirror !== undefined || isRemote(feed, options);
    if (!hasSource || this.attempts.nextAt === undefined || lackingCredentials(feed, options).length > 0)
      return undefined;
    return dueAt(feed, this.attempts, options.now);
  }
}

function namesOf({ format, label }: Feed): Pick<FeedReport, "names"> {
  if (isDomainFormat(format)) return { names: "domains" };
  return isNetworkFormat(format) || label !== undefined ? { names: "networks" } : {};
}

/** A copy that stands in the operator's mirror, or stood there, is one that he vouches for. */
function ageOfCopy(feed: Feed, copy: FeedCopy, publishedAt: Date | undefined, now: Date): Age {
  const vouched = (copy.keptFrom ?? copy.source) === "mirror";
  return ageOf(feed, { confirmedAt: copy.fetchedAt, publishedAt, vouched }, now);
}

/** What licences ask for that forbid old copies; bodies go with the state that names them. */
function forgetCopy(feed: Feed, dataDir: string): void {
  const { copy: _, pending: __, ...asked } = stateOrNone(feed, dataDir);
  writeState(feed, dataDir, asked);
}

/** A last good copy that a newer program would refuse is nothing to compare with. */
function findReadable(feed: Feed, copy: FeedCopy): Read | undefined {
  try {
    return readContent(feed, copy);
  } catch (error) {
    if (error instanceof FeedError) return undefined;
    throw error;
  }
}

function findLastGood(feed: Feed, dataDir: string): FeedCopy | undefined {
  try {
    return readLastGood(feed, dataDir);
  } catch (error) {
    if (error instanceof FeedError) return undefined; // it is reported where it would have been used
    throw error;
  }
}

/** What is told of a feed reaches everybody with a key: where things stand on this machine is not for them. */
function withoutFolders(text: string, { dataDir, mirror }: Pick<LoadOptions, "dataDir" | "mirror">): string {
  const isFolder = mirror !== undefined && !isMirrorUrl(mirror);
  const inMirror = isFolder ? text.replaceAll(`${mirror}/`, "").replaceAll(` ${mirror} `, " ") : text;
  return inMirror.replaceAll(`${dataDir}/`, "").replace(/\S*\/node_modules\//g, "");
}
