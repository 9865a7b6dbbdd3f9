// mirror.ts: reads feed files on this machine. The operator's mirror may be a folder with one file per feed, named
// `<feed id>.<anything>`. An operator's own feed may also be a file.
//
// A network file system may never respond, so nothing here waits for it synchronously, or longer than FOLDER_MS. A call
// that hangs occupies its thread until the process exits.

import { closeSync, constants, openSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, PRIVATE_FILE, within } from "@inkling/data";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { type FeedCopy, loadStable, MAP_FROM, measure } from "./copy.ts";
import { FETCH_TIMES, type FetchTimes, LateError } from "./fetch.ts";
import type { KeptCopies } from "./kept-copies.ts";
import { type Chunks, unpack } from "./unpack.ts";

/** Maximum milliseconds for one feed. The largest file (DB-IP's) is 134 MB, so 2.3 MB/s is enough. */
const FOLDER_MS = 60_000;

interface Patience {
  readonly times?: FetchTimes | undefined;
  /** A time on the clock of performance.now(). */
  readonly deadline?: number | undefined;
}

/** Finds the kept copy of a file, so that an unchanged file is not read again. */
type Known = Pick<KeptCopies, "findFrom">;
const NOTHING_KNOWN: Known = { findFrom: () => undefined };

/**
 * Reads a feed's copy from a mirror folder.
 * @param into where a large file is written so that it can be mapped; the file is removed afterwards
 * @returns undefined if the folder has no copy
 * @throws FeedError if the folder has several copies or does not respond, or if the copy is unreadable or too large;
 * LateError at the deadline; errors of node:fs if `into` is not writable
 */
export function readFromFolder(
  feed: Feed,
  folder: string,
  into: string,
  known: Known = NOTHING_KNOWN,
  patience: Patience = {},
): Promise<FeedCopy | undefined> {
  return inTime(`the mirror ${folder}`, patience, async (signal) => {
    const name = await findFile(feed, folder);
    if (name === undefined) return undefined;
    const format = formatOf(feed, name);
    return readFile(
      { feed, path: join(folder, name), format, gone: "is a broken link" },
      into,
      known,
      signal,
    );
  });
}

/** Reads the feed's own file. @throws like {@link readFromFolder} */
export function readFromFile(
  feed: Feed,
  path: string,
  into: string,
  known: Known = NOTHING_KNOWN,
  patience: Patience = {},
): Promise<FeedCopy> {
  return inTime(path, patience, (signal) =>
    readFile({ feed, path, format: feed.format, gone: "does not exist" }, into, known, signal),
  );
}

/** @param what the name of something that may not respond, such as a network file system */
async function inTime<T>(
  what: string,
  { times = FETCH_TIMES, deadline = Number.POSITIVE_INFINITY }: Patience,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const most = Math.min(FOLDER_MS, times.totalMs);
  const left = deadline - performance.now();
  const error = left < most ? new LateError() : new FeedError(`${what} did not respond within ${most} ms`);
  const wait = Math.min(left, most);
  if (wait <= 0) throw error;
  const abort = new AbortController();
  try {
    return await within(wait, read(abort.signal), () => {
      throw error;
    });
  } finally {
    abort.abort();
  }
}

interface LocalFile {
  readonly feed: Feed;
  readonly path: string;
  readonly format: Format;
  /** The error text if the file does not exist. */
  readonly gone: string;
}

async function readFile(
  { feed, path, format, gone }: LocalFile,
  into: string,
  known: Known,
  signal: AbortSignal,
): Promise<FeedCopy> {
  // A pipe may never end, and a device may never respond, so opening a file must not wait for either.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new FeedError(isGone ? `${path} ${gone}` : `${path}: ${(error as Error).message}`);
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
    const bytes = await gather(withPath(path, unpack(chunksOf(file, signal), feed.maxBytes)), into);
    return {
      source: "mirror",
      format,
      licence: feed.licence,
      ...measure([{ path, bytes }]),
      fetchedAt: mtime,
      origin: { url: path, etag },
    };
  } finally {
    await file.close();
  }
}

const CHUNK = 2 ** 16;

async function* chunksOf(file: FileHandle, signal: AbortSignal): Chunks {
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK);
    if (bytesRead === 0 || signal.aborted) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* withPath(path: string, chunks: Chunks): Chunks {
  try {
    yield* chunks;
  } catch (error) {
    throw new FeedError(`${path}: ${(error as Error).message}`);
  }
}

/**
 * Joins the chunks, in memory or, if they are large, as a mapped file. Joining 134 MB in memory took twice that amount
 * of memory.
 */
async function gather(chunks: Chunks, into: string): Promise<Uint8Array> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  let file: number | undefined;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (file === undefined) held.push(chunk);
      else writeFileSync(file, chunk);
      if (file !== undefined || bytes < MAP_FROM) continue;
      makeFolder(dirname(into));
      file = openSync(into, "w", PRIVATE_FILE);
      for (const first of held.splice(0)) writeFileSync(file, first);
    }
    return file === undefined ? Buffer.concat(held) : loadStable(into).bytes;
  } finally {
    if (file !== undefined) {
      closeSync(file);
      rmSync(into, { force: true }); // the mapping remains valid after the file's name is removed
    }
  }
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
