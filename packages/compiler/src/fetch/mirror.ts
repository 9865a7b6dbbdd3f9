// mirror.ts: files of this machine: the operator's mirror as a folder with one file per feed, named
// `<feed id>.<anything>`, and the file of a feed of the operator's own.
//
// note a network file system may never answer, so nothing here waits for it synchronously, nor longer than FOLDER_MS. A
//      call that hangs keeps its thread until the process ends

import { closeSync, constants, openSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, PRIVATE_FILE, within } from "@inkling/release-store";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import type { Chunks } from "./chunks.ts";
import { type FeedCopy, loadStable, MAP_FROM, measure } from "./copy.ts";
import { FETCH_TIMES, type FetchTimes, LateError } from "./fetch.ts";
import type { KeptCopies } from "./kept-copies.ts";
import { unpack } from "./unpack.ts";

/** For one feed. The largest file (DB-IP's) has 134 MB: 2 MB/s are enough. */
const FOLDER_MS = 60_000;

interface Patience {
  readonly times?: FetchTimes | undefined;
  /** As performance.now() counts. */
  readonly deadline?: number | undefined;
}

/** Finds the kept copy of a file: it is not read again while the file is unchanged. */
type Known = Pick<KeptCopies, "findFrom">;
const NOTHING_KNOWN: Known = { findFrom: () => undefined };

/**
 * The copy that a mirror folder has.
 * @param into where a large file is written, to be mapped, and removed again
 * @returns undefined if it has none
 * @throws FeedError when it has several, or one that cannot be read or is too large, or the folder does not answer;
 *   LateError at the deadline; what node:fs throws when `into` cannot be written
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
      { feed, path: join(folder, name), format, gone: "is a link to nothing" },
      into,
      known,
      signal,
    );
  });
}

/** The copy that is the feed's own file. @throws as {@link readFromFolder} */
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

/** @param what may not answer, as a network file system */
async function inTime<T>(
  what: string,
  { times = FETCH_TIMES, deadline = Number.POSITIVE_INFINITY }: Patience,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const most = Math.min(FOLDER_MS, times.totalMs);
  const left = deadline - performance.now();
  const error = left < most ? new LateError() : new FeedError(`${what} does not answer within ${most} ms`);
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
  /** What is wrong where nothing is there. */
  readonly gone: string;
}

async function readFile(
  { feed, path, format, gone }: LocalFile,
  into: string,
  known: Known,
  signal: AbortSignal,
): Promise<FeedCopy> {
  // A pipe may never end, a device never answer: opening either must not wait.
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
    // Not mapped in place: others write to a mirror, and a mapped file that shrinks kills the process.
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

/** The chunks as one: in memory, or mapped when large: joining 134 MB in memory took twice as much. */
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
      rmSync(into, { force: true }); // a mapped copy outlives its name
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
    const stats = await stat(join(folder, name)).catch(() => undefined); // a link to nothing is reported when opened
    if (stats?.isDirectory() !== true) found.push(name);
  }
  if (found.length > 1) {
    throw new FeedError(`the mirror ${folder} has several files for it: ${found.sort().join(", ")}`);
  }
  return found[0];
}

/** A feed's own format, unless the extension stands for another one that the feed comes in. */
function formatOf(feed: Feed, name: string): Format {
  const extension = name
    .replace(/(\.(gz|zip|tar|tgz))+$/, "")
    .split(".")
    .at(-1)!;
  return feed.otherFormats?.[extension] ?? feed.format;
}
