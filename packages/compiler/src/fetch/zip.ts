// zip.ts: extracts the one data file from a zip file.
//
// Cost: the packed file in memory, because its directory is at the end.

import { crc32 } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { FeedError } from "../catalog/feed.ts";
import { isDataFile, noFile, severalFiles } from "./archive-names.ts";
import { type Chunks, limited } from "./chunks.ts";

const STORED = 0;
const DEFLATED = 8;
/** Publishers pack only a few files. A directory with millions of entries would take minutes to read. */
const MAX_ENTRIES = 1_000;

export async function* unzipped(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  // This function checks sizes itself, for a clear message about zip bombs.
  const file = await fromBufferPromise(Buffer.concat(parts), { validateEntrySizes: false }).catch(damaged);
  const entry = await onlyDataFile(file);
  const { uncompressedSize, compressionMethod: method } = entry;
  if (entry.isEncrypted()) throw new FeedError("is a zip file with a password");
  if (method !== STORED && method !== DEFLATED)
    throw new FeedError(
      `is a zip file with the compression method ${method}, which Inkling does not support`,
    );
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
  throw new FeedError("is a damaged or truncated zip file");
}

async function onlyDataFile(file: ZipFile): Promise<Entry> {
  if (file.entryCount > MAX_ENTRIES)
    throw new FeedError(`is a zip file with ${file.entryCount} files; the maximum is ${MAX_ENTRIES}`);
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
