// feed-report.ts: defines what a load finds, and creates the report about the feed, as the status shows it. It has no side
// effects.
//
// Every API key can read the report, so it contains no local path.

import { basename } from "node:path";
import { sha256Hex } from "@inkling/data";
import type { FeedReport, Release } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import type { FeedCopy, NoCopy } from "../fetch/copy.ts";
import type { Attempts, FeedState, KeptCopies } from "../fetch/feed-state.ts";
import { isMirrorUrl } from "../fetch/mirror-url.ts";
import { attemptsAt, dueAt, type FeedAttempt, type Hold } from "../fetch/next-state.ts";
import { isRemote, lackingCredentials, type SourceOptions } from "../fetch/source.ts";
import { isDomainFormat, isNetworkFormat } from "../parse/index.ts";
import { type Age, daysText } from "../validate/copy-gates.ts";
import type { Readable } from "../validate/read-copy.ts";
import type { FeedEvent, Trouble } from "./events.ts";

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

/** Returns the event that reports a feed. @param next the feed's state after this load */
export function reportOf(load: Load, { refusals, used }: Tried, next: FeedState): FeedEvent {
  const { feed, source } = load;
  const problems = [
    ...heldProblems(load),
    ...refusals.map((one): Problem => ({ text: problemText(one, load), unreached: one.unreached })),
  ];
  const isCurrent = used?.copy.source === "last-good" && load.hold !== undefined && problems.length === 0;
  if (used?.age === "dropped") {
    const days = daysText(feed.age.dropHours);
    const { publishedAt } = used.copy;
    const age =
      publishedAt === undefined
        ? `more than ${days} old`
        : `dated ${publishedAt.toISOString().slice(0, 10)}, more than ${days} ago`;
    const text = `${sourceWord(feed, used.copy)}: ${age}: its claims are ignored`;
    problems.push({ text });
  }
  const attempts = attemptsAt(next, source.mirror);
  const { at, failures = 0 } = attempts ?? {};
  const due = dueNext(load, attempts);
  const held = next.held?.why === undefined ? undefined : { sha256: next.held.sha256, why: next.held.why };
  // The copy may have been held by an earlier build.
  if (held !== undefined && !problems.some(({ text }) => text.includes(held.why)))
    problems.push({ text: `held: ${held.why}` });
  const report: FeedReport = {
    id: feed.id,
    sets: feed.sets,
    ...namesOf(feed),
    source: "none",
    state: "missing",
    entries: 0,
    licence: feed.licence,
    ...(used && describeUsed(feed, used, isCurrent)),
    ...(problems.length > 0 && { error: textOf(problems) }),
    ...(at && { checked_at: at }),
    ...(due && { next_check_at: due.toISOString() }),
    ...(failures > 0 && { failures }),
    ...(held && { held }),
  };
  const trouble = troubleOf(problems);
  const lacksFile = refusals.length > 0 && refusals.every(isAbsentFile);
  return { type: "feed", feed: report, ...(trouble && { trouble }), ...(lacksFile && { lacksFile }) };
}

interface Problem {
  readonly text: string;
  /** Why the source could not be reached. */
  readonly unreached?: string | undefined;
}

const textOf = (problems: readonly Problem[]) => problems.map(({ text }) => text).join("; ");

function troubleOf(problems: readonly Problem[]): Trouble | undefined {
  const why = problems.find(({ unreached }) => unreached !== undefined)?.unreached;
  if (why === undefined) return undefined;
  return { why, rest: textOf(problems.filter(({ unreached }) => unreached === undefined)) };
}

/** Returns whether something is wrong with a copy, rather than the copy being absent, unreachable or slow. */
export const isFault = ({ kind = "not found", unreached }: Refusal): boolean =>
  kind === "not found" && unreached === undefined;

const isAbsentFile = ({ source, kind }: Refusal): boolean => source === "mirror" && kind === "absent";

function dueNext({ feed, options }: Load, attempts: Attempts | undefined): Date | undefined {
  const hasSource = options.mirror !== undefined || isRemote(feed, options);
  if (!hasSource || attempts?.nextAt === undefined || lackingCredentials(feed, options).length > 0)
    return undefined;
  return dueAt(feed, attempts, options.now);
}

/**
 * @param isCurrent true if the source was not due and no error is pending; the report then shows where the kept copy
 *   originally came from
 */
function describeUsed(feed: Feed, { copy, read, age }: Used, isCurrent: boolean) {
  const about = {
    source: isCurrent ? copy.keptFrom! : copy.source, // a last good copy always has keptFrom
    licence: copy.licence,
    ...(copy.fetchedAt && { fetched_at: copy.fetchedAt.toISOString() }),
    ...(copy.publishedAt && { published_at: copy.publishedAt.toISOString() }),
  };
  if (age === "dropped") return { ...about, state: "expired" } as const;
  const { attribution = feed.attribution, skipped, space } = read;
  return {
    ...about,
    state: "loaded",
    entries: read.entries,
    ...(space && { space }),
    sha256: feed.definition === undefined ? copy.sha256 : sha256Hex(`${feed.definition} ${copy.sha256}`),
    bytes: copy.bytes,
    ...(attribution && { attribution }),
    ...(skipped && { skipped }),
    ...(copy.movedTo && { moved_to: copy.movedTo }),
    ...(age === "stale" && { stale: true }),
  } as const;
}

/** Returns why the source was not requested, and its last error. */
function heldProblems({ hold, state, source }: Load): Problem[] {
  if (hold === undefined) return [];
  const { error, unreached } = attemptsAt(state, source.mirror) ?? {};
  return [
    ...(hold.why === "held" ? [{ text: hold.reason }] : []),
    ...(error === undefined ? [] : [{ text: error, unreached }]),
  ];
}

export function problemText(refusal: Refusal, { feed, options }: Pick<Load, "feed" | "options">): string {
  return `${sourceWord(feed, refusal)}: ${withoutFolders(refusal.error, feed, options)}`;
}

/** Returns the origin of the problem. "fetched" would be wrong for a publisher that could not be reached. */
function sourceWord({ file }: Feed, { source }: Pick<FeedCopy, "source">): string {
  if (source === "mirror" && file !== undefined) return "file";
  return source === "fetched" ? "publisher" : source;
}

function withoutFolders(found: string, { file }: Feed, { dataDir, mirror }: Load["options"]): string {
  const text = file === undefined ? found : found.replaceAll(file, basename(file));
  const isFolder = mirror !== undefined && !isMirrorUrl(mirror);
  const inMirror = isFolder ? text.replaceAll(`${mirror}/`, "").replaceAll(` ${mirror} `, " ") : text;
  return inMirror.replaceAll(`${dataDir}/`, "").replace(/\S*\/node_modules\//g, "");
}

function namesOf({ format, label }: Feed): Pick<FeedReport, "names"> {
  if (isDomainFormat(format)) return { names: "domains" };
  return isNetworkFormat(format) || label !== undefined ? { names: "networks" } : {};
}
