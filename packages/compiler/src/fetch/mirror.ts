// mirror.ts: the operator's mirror as a folder with one file per feed, named `<feed id>.<anything>`.

import { closeSync, createReadStream, openSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder, PRIVATE_FILE } from "@inkling/release-store";
import { type Feed, FeedError, type Format } from "../catalog/feed.ts";
import type { Chunks } from "./chunks.ts";
import { type FeedCopy, loadStable, MAP_FROM, measure } from "./copy.ts";
import { unpack } from "./unpack.ts";

/**
 * The copy that a mirror folder has.
 * @param into where a large file is written, to be mapped, and removed again
 * @param known the kept copy of a file, if any: not read again while the file is unchanged
 * @returns undefined when it has none
 * @throws FeedError when it has several, or one that cannot be read or is too large; what node:fs throws when `into`
 *   cannot be written
 */
export async function readFromFolder(
  feed: Feed,
  folder: string,
  into: string,
  known: (path: string) => FeedCopy | undefined = () => undefined,
): Promise<FeedCopy | undefined> {
  const name = findFile(feed, folder);
  if (name === undefined) return undefined;
  const path = join(folder, name);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new FeedError(`${path} is a link to nothing`);
  // A pipe may never end, a device never answer.
  if (!stats.isFile()) throw new FeedError(`${path} is not a file`);
  const { ino, size, mtime, mtimeMs, ctimeMs } = stats;
  const etag = `${ino}-${size}-${mtimeMs}-${ctimeMs}`;
  const kept = known(path);
  if (kept?.origin?.etag === etag) return { ...kept, source: "mirror", fetchedAt: mtime };
  // Not mapped in place: others write to a mirror, and a mapped file that shrinks kills the process.
  const bytes = await gather(withPath(path, unpack(createReadStream(path), feed.maxBytes)), into);
  return {
    source: "mirror",
    format: formatOf(feed, name),
    licence: feed.licence,
    ...measure([{ path, bytes }]),
    fetchedAt: mtime,
    origin: { url: path, etag },
  };
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

function findFile(feed: Feed, folder: string): string | undefined {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new FeedError(`the mirror ${folder} cannot be read: ${(error as Error).message}`);
  }
  const isFolder = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory();
  const found = names.filter((name) => name.startsWith(`${feed.id}.`) && !isFolder(name));
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
