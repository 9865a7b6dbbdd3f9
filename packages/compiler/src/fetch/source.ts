// source.ts: where a copy of a feed comes from.
//
// in   a row of the feed table, its kept copies, the mirror (if any), whether publishers are requested
// out  candidates, lazily, in order of preference; the first one that passes is used:
//      0. the pending copy, when the operator accepts it; nothing is fetched then
//      1. its file on this machine, else the mirror when one is set, else the publisher when allowed
//      2. the candidate of a build that did not end
//      3. the last good copy
//      4. the seed in an npm package
//      5. our own file
// err  what node:fs throws when the data folder cannot be written; everything else is a NoCopy

import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "@inkling/release-store";
import { HAS_SEEDS } from "@inkling/release-store/program";
import manifest from "../../package.json" with { type: "json" };
import {
  type Credentials,
  EXTENSIONS,
  type Feed,
  FeedError,
  requiredCredentials,
  variableName,
} from "../catalog/feed.ts";
import { findDate } from "../parse/text.ts";
import { type Candidate, isCopy, loadStable, measure, type NoCopy, type Source } from "./copy.ts";
import { AnswerError, download, FETCH_TIMES, type FetchTimes, LateError, UnreachedError } from "./fetch.ts";
import type { KeptCopies } from "./kept-copies.ts";
import { readFromFile, readFromFolder } from "./mirror.ts";
import { isMirrorUrl, splitMirrorUrl } from "./mirror-url.ts";
import { readOwn, readSeed } from "./package-files.ts";

export interface SourceOptions {
  readonly dataDir: string;
  /** Folder or base URL; the only source of new copies when set. */
  readonly mirror?: string | undefined;
  /** May publishers be requested when there is no mirror? */
  readonly fetch: boolean;
  readonly now: Date;
  /** Whether the feed is due (schedule.ts). Mirror folders are read in any case. */
  readonly isDue?: boolean;
  /** Whether the pending copy is accepted. */
  readonly accept?: boolean;
  readonly credentials?: Credentials;
  readonly userAgent?: string;
  readonly times?: FetchTimes;
  /** When the build continues without what has not arrived, as performance.now() counts. */
  readonly deadline?: number | undefined;
  /** Folder of an installed npm package; throws when it is not installed. */
  readonly packageFolder?: ((name: string) => string) | undefined;
}

const USER_AGENT = `Inkling/${manifest.version}`;
/** One name for all builds (the folder is locked), so that a killed build's file is overwritten. */
const DOWNLOAD = ".tmp-download";

/** Copies of `feed` in order of preference; see the head of this file. */
export async function* candidates(
  feed: Feed,
  options: SourceOptions,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  const waiting = options.accept && (await attempt("last-good", () => kept.readPending()));
  if (waiting) yield isCopy(waiting) ? { ...waiting, accepted: true } : waiting;
  else if (feed.file !== undefined)
    yield await attempt("mirror", () => readFromFile(feed, feed.file!, downloadPath(kept), kept, options));
  else if (options.mirror !== undefined) yield* fromMirror(feed, options.mirror, options, kept);
  else if (options.fetch) yield* fromPublisher(feed, options, kept);
  const candidate = kept.find("candidate");
  if (candidate !== undefined) yield { ...candidate, accepted: true, unpublished: true }; // it has passed
  const last = await attempt("last-good", () => kept.readLastGood());
  if (last !== undefined) yield last;
  const { seed, own } = feed;
  if (seed !== undefined && HAS_SEEDS)
    yield await attempt("seed", () => readSeed(feed, seed, options.packageFolder));
  if (own !== undefined) yield await attempt("own", () => readOwn(feed, own));
}

/** Whether a newer copy of this feed is requested over the network. */
export function isRemote(feed: Feed, { mirror, fetch, now }: SourceOptions): boolean {
  if (feed.file !== undefined) return false;
  if (mirror !== undefined) return isMirrorUrl(mirror);
  return fetch && feed.urls(now).length > 0;
}

async function* fromMirror(
  feed: Feed,
  mirror: string,
  options: SourceOptions,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  if (!isMirrorUrl(mirror)) {
    const into = downloadPath(kept);
    const copy = await attempt("mirror", () => readFromFolder(feed, mirror, into, kept, options));
    if (copy !== undefined) yield copy;
    else if (feed.own === undefined)
      yield { source: "mirror", error: `the mirror ${mirror} has no file ${feed.id}.*`, absent: true };
  } else if (options.isDue !== false) {
    const { base, headers } = splitMirrorUrl(mirror);
    const url = `${base}/${feed.id}.${EXTENSIONS[feed.format]}`;
    const candidate = await fetchFrom({ feed, url, headers, source: "mirror", options, kept });
    if (!isNotFound(candidate)) yield candidate;
    else if (feed.own === undefined) yield { ...candidate, absent: true };
  }
}

async function* fromPublisher(
  feed: Feed,
  options: SourceOptions,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  if (options.isDue === false) return;
  const lacking = lackingCredentials(feed, options);
  if (lacking.length > 0) {
    const error = `needs ${lacking.map(variableName).join(" and ")}`;
    yield { source: "fetched", error, absent: true, notRequested: true };
    return;
  }
  const urls = feed.urls(options.now);
  for (const [index, url] of urls.entries()) {
    const { headers, ...secretRequest } = feed.request?.(url, options.credentials ?? {}) ?? {
      url,
      headers: {},
    };
    const candidate = await fetchFrom({
      feed,
      url,
      headers,
      secretRequest,
      source: "fetched",
      options,
      kept,
    });
    // Early in a month the newest file does not exist yet: the next URL is the previous month's.
    if (index < urls.length - 1 && isNotFound(candidate)) continue;
    yield candidate;
    // A failure is tried again soon: the previous month's would hide it, and may be older than the copy at hand.
    if (kept.find("copy") !== undefined) return;
  }
}

/** Credentials that the publisher requires and the operator has not set. */
export function lackingCredentials(
  feed: Feed,
  { mirror, credentials = {} }: SourceOptions,
): readonly string[] {
  if (mirror !== undefined) return [];
  return requiredCredentials(feed).filter((name) => !credentials[name]);
}

interface Request {
  readonly feed: Feed;
  /** Without secrets: shown, and stored as the copy's origin. */
  readonly url: string;
  /** The request with its secrets, if it has any. */
  readonly secretRequest?: { readonly url: string; readonly checksumUrl?: string };
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly source: "mirror" | "fetched";
  readonly options: SourceOptions;
  readonly kept: KeptCopies;
}

/** The file at one URL; "not modified" gives the kept copy, confirmed now. */
async function fetchFrom(request: Request): Promise<Candidate> {
  const { feed, url, secretRequest = { url }, headers, source, options, kept } = request;
  const into = downloadPath(kept);
  makeFolder(dirname(into));
  const known = kept.findFrom(url);
  try {
    const validators = await download({
      ...secretRequest,
      headers,
      into,
      maxBytes: feed.maxBytes,
      userAgent: options.userAgent ?? USER_AGENT,
      times: options.times ?? FETCH_TIMES,
      deadline: options.deadline,
      redirects: source === "fetched" ? feed.redirects : undefined,
      allowHttp: source === "mirror" || feed.allowHttp === true,
      validators: known?.origin,
    });
    if (validators === undefined) return { ...known!, source, fetchedAt: options.now }; // only a known copy is confirmed
    const publishedAt = findDate(validators.lastModified);
    return {
      source,
      format: feed.format,
      licence: feed.licence,
      ...measure([loadStable(into)]),
      fetchedAt: options.now,
      ...(publishedAt && { publishedAt }),
      origin: { url, ...validators },
    };
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    const { retryAfter, status } = error instanceof AnswerError ? error : {};
    return {
      source,
      error: `${url} ${error.message}${credentialsHint(feed, error)}`,
      ...(retryAfter && { retryAfter }),
      ...(status === 404 && { notFound: true }),
      ...(error instanceof UnreachedError && { unreached: error.why }),
      ...(error instanceof LateError && { late: true }),
    };
  } finally {
    rmSync(into, { force: true }); // a mapped copy outlives its name
  }
}

/** Where a download is written. */
function downloadPath({ folder }: KeptCopies): string {
  return join(folder, DOWNLOAD);
}

/** What to check when a publisher refuses the credentials. */
function credentialsHint(feed: Feed, error: FeedError): string {
  const refused = error instanceof AnswerError && (error.status === 401 || error.status === 403);
  const required = requiredCredentials(feed);
  return refused && required.length > 0 ? `: check ${required.map(variableName).join(" and ")}` : "";
}

const isNotFound = (candidate: Candidate): boolean => !isCopy(candidate) && candidate.notFound === true;

/** A FeedError becomes a value. */
async function attempt<T>(source: Source, read: () => T | Promise<T>): Promise<T | NoCopy> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FeedError)
      return { source, error: error.message, ...(error instanceof LateError && { late: true }) };
    throw error;
  }
}
