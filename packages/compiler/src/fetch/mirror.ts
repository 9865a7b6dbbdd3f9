// mirror.ts: reads feed files on this machine. The operator's mirror may be a folder with one file per feed, named
// `<feed id>.<anything>`. An operator's own feed may also be a file.
//
// A network file system may never respond, so nothing here waits for it synchronously, or longer than FOLDER_MS. A call
// that hangs occupies its thread until the process exits.

import { constants } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { within } from "@inkling/data";
import { type Feed, FeedError, type Format, maxBytesOf } from "../catalog/feed.ts";
import { type FeedCopy, mapped, measure } from "./copy.ts";
import type { KeptCopies } from "./feed-state.ts";
import { FETCH_TIMES, type FetchTimes, LateError } from "./fetch.ts";
import { requireSize, unpack } from "./unpack.ts";

/** Maximum milliseconds for one feed. The largest file (DB-IP's) is 134 MB, so 2.3 MB/s is enough. */
const FOLDER_MS = 60_000;

interface Patience {
  readonly times?: FetchTimes | undefined;
  /** A time on the clock of performance.now(). */
  readonly deadline?: number | undefined;
}

/**
 * Reads a feed's copy from a mirror folder.
 * @param kept finds the kept copy of a file, so that an unchanged file is not read again
 * @returns undefined if the folder has no copy
 * @throws FeedError if the folder has several copies or does not respond, or if the copy is unreadable or too large;
 * LateError at the deadline; errors of node:fs if the feed's folder is not writable
 */
export function readFromFolder(
  feed: Feed,
  folder: string,
  kept: KeptCopies,
  patience: Patience,
): Promise<FeedCopy | undefined> {
  return inTime(`the mirror ${folder}`, patience, async () => {
    const name = await findFile(feed, folder);
    if (name === undefined) return undefined;
    return readFile(feed, join(folder, name), formatOf(feed, name), "is a broken link", kept);
  });
}

/** Reads the feed's own file. @throws like {@link readFromFolder} */
export function readFromFile(
  feed: Feed,
  path: string,
  kept: KeptCopies,
  patience: Patience,
): Promise<FeedCopy> {
  return inTime(path, patience, () => readFile(feed, path, feed.format, "does not exist", kept));
}

/** @param what the name of something that may not respond, such as a network file system */
async function inTime<T>(
  what: string,
  { times = FETCH_TIMES, deadline = Number.POSITIVE_INFINITY }: Patience,
  read: () => Promise<T>,
): Promise<T> {
  const most = Math.min(FOLDER_MS, times.totalMs);
  const left = deadline - performance.now();
  const error = left < most ? new LateError() : new FeedError(`${what} did not respond within ${most} ms`);
  const wait = Math.min(left, most);
  if (wait <= 0) throw error;
  return within(wait, read(), () => {
    throw error;
  });
}

/** @param gone the error text if the file does not exist */
async function readFile(
  feed: Feed,
  path: string,
  format: Format,
  gone: string,
  known: KeptCopies,
): Promise<FeedCopy> {
  // A pipe may never end, and a device may never respond, so opening a file must not wait for either.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    if (error.code === "ENOENT") throw new FeedError(`${path} ${gone}`);
    return refuse(path, error);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new FeedError(`${path} is not a file`);
    const { ino, size, mtime, mtimeMs, ctimeMs } = stats;
    const etag = `${ino}-${size}-${mtimeMs}-${ctimeMs}`;
    const kept = known.findFrom(path);
    if (kept?.origin?.etag === etag) return { ...kept, source: "mirror", fetchedAt: mtime };
    // The file is not mapped in place, because other programs write to a mirror. If a mapped file shrinks, the process
    // is killed.
    const bytes = await contentOf(file, size, maxBytesOf(feed)).catch((error) => refuse(path, error));
    return {
      source: "mirror",
      format,
      licence: feed.licence,
      ...measure([mapped(bytes, known.folder)]),
      fetchedAt: mtime,
      origin: { url: path, etag },
    };
  } finally {
    await file.close();
  }
}

function refuse(path: string, { message }: Error): never {
  throw new FeedError(`${path}: ${message}`);
}

async function contentOf(file: FileHandle, size: number, maxBytes: number): Promise<Uint8Array> {
  requireSize(size, maxBytes);
  return unpack(await file.readFile(), maxBytes);
}

async function findFile(feed: Feed, folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch((error: Error) => {
    throw new FeedError(`the mirror ${folder} cannot be read: ${error.message}`);
  });
  const found: string[] = [];
  for (const name of names) {
    if (!name.startsWith(`${feed.id}.`)) continue;
    // A dangling link is reported when the file is opened.
    const stats = await stat(join(folder, name)).catch(() => undefined);
    if (stats?.isDirectory() !== true) found.push(name);
  }
  if (found.length > 1) {
    throw new FeedError(`the mirror ${folder} has several files for this feed: ${found.sort().join(", ")}`);
  }
  return found[0];
}

/** Returns the feed's own format, unless the file extension stands for one of the feed's other formats. */
function formatOf(feed: Feed, name: string): Format {
  const extension = name
    .replace(/(\.(gz|zip|tar|tgz))+$/, "")
    .split(".")
    .at(-1)!;
  return feed.otherFormats?.[extension] ?? feed.format;
}
