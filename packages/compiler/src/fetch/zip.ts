// zip.ts: a zip file -> the one file of data in it.
//
// err  FeedError: no data file in it or several, damaged, cut short, encrypted, a method that is not read, too large,
//      names that lead out of the archive
// cost the packed file: its directory is at its end

import { crc32 } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { FeedError } from "../catalog/feed.ts";
import { isDataFile, noFile, severalFiles } from "./archive-names.ts";
import { type Chunks, limited } from "./chunks.ts";

const STORED = 0;
const DEFLATED = 8;
/** Publishers pack a handful; a directory of millions would take minutes to read. */
const MAX_ENTRIES = 1_000;

export async function* unzipped(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  // Sizes are checked here, for a clear message about zip bombs.
  const file = await fromBufferPromise(Buffer.concat(parts), { validateEntrySizes: false }).catch(damaged);
  const entry = await onlyDataFile(file);
  const { uncompressedSize, compressionMethod: method } = entry;
  if (entry.isEncrypted()) throw new FeedError("is a zip file with a password");
  if (method !== STORED && method !== DEFLATED)
    throw new FeedError(`is a zip file packed by method ${method}, which is not read`);
  if (uncompressedSize > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
  let [crc, size] = [0, 0];
  for await (const chunk of limited(contentOf(file, entry), maxBytes)) {
    crc = crc32(chunk, crc);
    size += chunk.length;
    yield chunk;
  }
  if (size !== uncompressedSize || crc !== entry.crc32) damaged();
}

function damaged(): never {
  throw new FeedError("is a damaged zip file, or is cut short");
}

async function onlyDataFile(file: ZipFile): Promise<Entry> {
  if (file.entryCount > MAX_ENTRIES)
    throw new FeedError(`is a zip file of ${file.entryCount} files, at most ${MAX_ENTRIES} are read`);
  const found: Entry[] = [];
  try {
    for await (const entry of file.eachEntry()) if (isDataFile(entry.fileName)) found.push(entry);
  } catch {
    damaged();
  }
  const [entry, other] = found;
  if (entry === undefined) throw noFile();
  if (other !== undefined) throw severalFiles();
  return entry;
}

async function* contentOf(file: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await file.openReadStreamPromise(entry).catch(damaged);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch {
    damaged();
  } finally {
    stream.destroy();
  }
}
