// source.ts: where a copy of a feed comes from.
//
// in   a row of the feed table, the data folder, the mirror (if any), whether publishers may be asked
// out  candidates, lazily, in order of preference:
//      0. the copy that waited for the operator, when he accepts it: nobody is asked then
//      1. the mirror when one is set, else the publisher when allowed
//      2. the last good copy
//      3. the seed in an npm package
//      4. our own file
//      Each is a copy, or says why there is none. The first copy that can be parsed is the one to use;
//      keepLastGood then makes it the last good one.
// err  what node:fs throws when the data folder cannot be written; everything else is a NoCopy

import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { type Credentials, EXTENSIONS, type Feed, FeedError, type Seed } from "../catalog/feed.ts";
import {
  type Candidate,
  type CopyFile,
  type FeedCopy,
  isCopy,
  loadStable,
  measure,
  type NoCopy,
  type Source,
} from "./copy.ts";
import { AnswerError, download, FETCH_TIMES, type FetchTimes, UnreachedError } from "./fetch.ts";
import { readLastGood, readPending } from "./last-good.ts";
import { isMirrorUrl, readFromFolder } from "./mirror.ts";
import { feedFolder } from "./state.ts";

export { type Candidate, type FeedCopy, isCopy } from "./copy.ts";
export { keepLastGood } from "./last-good.ts";

export interface SourceOptions {
  readonly dataDir: string;
  /** Folder or base URL; the only source of new copies when set. */
  readonly mirror?: string | undefined;
  /** May publishers be asked, when there is no mirror? */
  readonly fetch: boolean;
  readonly now: Date;
  /** Is it this feed's time (schedule.ts)? Folders are read whether or not. */
  readonly ask?: boolean;
  /** Is the copy taken that waits for the operator? */
  readonly accept?: boolean;
  readonly credentials?: Credentials;
  readonly userAgent?: string;
  readonly times?: FetchTimes;
  /** Folder of an installed npm package; throws when it is not installed. */
  readonly packageFolder?: ((name: string) => string) | undefined;
}

const PACKAGE = resolve(import.meta.dir, "../..");
const USER_AGENT = `Inkling/${manifest.version}`;
const DOWNLOAD = ".tmp-download";

/** Copies of `feed` in order of preference; see the head of this file. Stop iterating once one is good. */
export async function* candidates(feed: Feed, options: SourceOptions): AsyncGenerator<Candidate> {
  const waited = options.accept && (await attempt("last-good", () => readPending(feed, options.dataDir)));
  if (waited) yield isCopy(waited) ? { ...waited, accepted: true } : waited;
  else if (options.mirror !== undefined) yield* fromMirror(feed, options.mirror, options);
  else if (options.fetch) yield* fromPublisher(feed, options);
  const last = await attempt("last-good", () => readLastGood(feed, options.dataDir));
  if (last !== undefined) yield last;
  const { seed, own } = feed;
  if (seed !== undefined) yield await attempt("seed", () => readSeed(feed, seed, options.packageFolder));
  if (own !== undefined) yield await attempt("own", () => readOwn(feed, own));
}

/** Does asking for a newer copy of this feed mean asking over the network? */
export function isRemote(feed: Feed, { mirror, fetch, now }: SourceOptions): boolean {
  if (mirror !== undefined) return isMirrorUrl(mirror);
  return fetch && feed.urls(now).length > 0;
}

async function* fromMirror(feed: Feed, mirror: string, options: SourceOptions): AsyncGenerator<Candidate> {
  if (isMirrorUrl(mirror)) {
    if (options.ask === false) return;
    const { base, headers } = withoutUserinfo(mirror);
    const url = `${base}/${feed.id}.${EXTENSIONS[feed.format]}`;
    for await (const candidate of fetchFrom(feed, url, "mirror", options, headers)) {
      if (!isNotFound(candidate)) yield candidate;
      else if (feed.own === undefined) yield { ...candidate, absent: true };
    }
    return;
  }
  const copy = await attempt("mirror", () =>
    readFromFolder(feed, mirror, temporary(feed, options), (path) => findKnown(feed, options.dataDir, path)),
  );
  if (copy !== undefined) yield copy;
  else if (feed.own === undefined)
    yield { source: "mirror", error: `the mirror ${mirror} has no file ${feed.id}.*`, absent: true };
}

async function* fromPublisher(feed: Feed, options: SourceOptions): AsyncGenerator<Candidate> {
  if (options.ask === false) return;
  const lacking = lackingCredentials(feed, options);
  if (lacking.length > 0) {
    yield { source: "fetched", error: `needs ${lacking.map(settingOf).join(" and ")}`, absent: true };
    return;
  }
  const urls = feed.urls(options.now);
  for (const [index, url] of urls.entries()) {
    for await (const candidate of fetchFrom(feed, url, "fetched", options)) {
      // Early in a month the newest file is not there yet: that is what the next URL is for.
      if (index < urls.length - 1 && isNotFound(candidate)) continue;
      yield candidate;
    }
  }
}

/** What a publisher asks its readers for, and the operator did not give. */
export function lackingCredentials(
  feed: Feed,
  { mirror, credentials = {} }: SourceOptions,
): readonly string[] {
  if (mirror !== undefined) return [];
  return (feed.optIn?.credentials ?? []).filter((name) => !credentials[name]);
}

/** maxmindAccountId -> INKLING_MAXMIND_ACCOUNT_ID, where an operator sets it. */
const settingOf = (name: string) => `INKLING_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`;

/** A mirror as it may be shown and kept. */
export const mirrorName = (mirror: string): string =>
  isMirrorUrl(mirror) ? withoutUserinfo(mirror).base : mirror;

/** A base URL as it may be shown and kept, and what it says of who we are as a header. */
function withoutUserinfo(mirror: string): { base: string; headers: Readonly<Record<string, string>> } {
  const url = new URL(mirror);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  const base = url.href.replace(/\/+$/, "");
  if (username === "" && password === "") return { base, headers: {} };
  const userinfo = `${decoded(username)}:${decoded(password)}`;
  return { base, headers: { authorization: `Basic ${Buffer.from(userinfo).toString("base64")}` } };
}

/** A part of a URL as it was meant: with a stray "%", which is no escape, as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The file at one URL; "not modified" gives the kept copy, confirmed now. */
async function* fetchFrom(
  feed: Feed,
  url: string,
  source: "mirror" | "fetched",
  options: SourceOptions,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<Candidate> {
  const into = temporary(feed, options);
  mkdirSync(dirname(into), { recursive: true });
  const known = findKnown(feed, options.dataDir, url);
  const asked = (source === "fetched" && feed.request?.(url, options.credentials ?? {})) || {
    url,
    headers,
  };
  try {
    const validators = await download({
      ...asked,
      into,
      maxBytes: feed.maxBytes,
      userAgent: options.userAgent ?? USER_AGENT,
      times: options.times ?? FETCH_TIMES,
      allowHttp: source === "mirror",
      validators: known?.origin,
    });
    if (validators === undefined) {
      yield { ...known!, source, fetchedAt: options.now };
      return;
    }
    const published =
      validators.lastModified === undefined ? Number.NaN : Date.parse(validators.lastModified);
    yield {
      source,
      format: feed.format,
      licence: feed.licence,
      ...measure([loadStable(into)]),
      fetchedAt: options.now,
      ...(!Number.isNaN(published) && { publishedAt: new Date(published) }),
      origin: { url, ...validators },
    };
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    const { retryAfter } = error instanceof AnswerError ? error : {};
    yield {
      source,
      error: `${url} ${error.message}${doubt(feed, error)}`,
      ...(retryAfter && { retryAfter }),
      ...(error instanceof UnreachedError && { unreached: true }),
    };
  } finally {
    rmSync(into, { force: true }); // a mapped copy outlives its name
  }
}

/** Where a copy is written that is too large to hold; what killed builds left there is swept away. */
function temporary(feed: Feed, { dataDir }: SourceOptions): string {
  const folder = feedFolder(feed, dataDir);
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (name.startsWith(DOWNLOAD)) rmSync(join(folder, name), { force: true });
  return join(folder, `${DOWNLOAD}-${process.pid}`);
}

/** A publisher that knows its readers and refuses one: what he looks at. */
function doubt({ optIn }: Feed, error: FeedError): string {
  const refused = error instanceof AnswerError && (error.status === 401 || error.status === 403);
  if (!refused || optIn?.credentials === undefined) return "";
  return `: check ${optIn.credentials.map(settingOf).join(" and ")}`;
}

/**
 * The kept copy of what is at `url`: the one that waits for the operator, else the last good one.
 * A damaged one is no base for "not modified"; candidates() reports it when its turn comes.
 */
function findKnown(feed: Feed, dataDir: string, url: string): FeedCopy | undefined {
  for (const read of [readPending, readLastGood]) {
    try {
      const copy = read(feed, dataDir);
      if (copy?.origin?.url === url) return copy;
    } catch (error) {
      if (!(error instanceof FeedError)) throw error;
    }
  }
  return undefined;
}

const isNotFound = (candidate: Candidate): boolean =>
  "error" in candidate && / answered 404\b/.test(candidate.error);

function readSeed(
  feed: Feed,
  seed: Seed,
  packageFolder: (name: string) => string = installedFolder,
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

function installedFolder(name: string): string {
  return dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)));
}

function readOwn(feed: Feed, own: string): FeedCopy {
  const file = load(join(PACKAGE, own));
  return { source: "own", format: feed.ownFormat ?? feed.format, licence: feed.licence, ...measure([file]) };
}

function load(path: string): CopyFile {
  try {
    return loadStable(path);
  } catch (error) {
    throw new FeedError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

/** A FeedError becomes a value. */
async function attempt<T>(source: Source, read: () => T | Promise<T>): Promise<T | NoCopy> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FeedError) return { source, error: error.message };
    throw error;
  }
}
