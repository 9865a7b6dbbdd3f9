// unpack.ts: unpacks a byte stream if it is gzip, zip or tar, up to a size limit.
//
// A packed feed file may be packed again in transfer, so up to two layers of gzip are removed. Then the one data file
// is extracted from a zip or tar file (for tar, "ustar" is at byte 257). A zip bomb takes no more memory than any other
// file.
//
// Source: POSIX.1-2024 pax, ustar. Cost: memory for the chunks in flight; for a zip file, for the whole packed file,
// because its directory is at the end. The 80 lines for tar avoid tar-stream 3.2.2, which would add streamx, b4a,
// fast-fifo and bare-fs.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createGunzip } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { FeedError } from "../catalog/feed.ts";

export type Chunks = AsyncIterable<Uint8Array>;

/**
 * Bytes that a layer may contain in addition to the data, such as headers and licences. Without this limit, 2 KB of
 * gzip could contain 1 GB of tar members, all of which would be read only to be skipped.
 */
const BESIDE_BYTES = 2 ** 20;

/** @throws when iterated: FeedError if the file cannot be unpacked or is too large, and any error of `chunks` */
export function unpack(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const most = maxBytes + BESIDE_BYTES;
  const layers = limited(gunzipped(limited(gunzipped(limited(chunks, maxBytes)), most)), most);
  return limited(unarchived(layers, maxBytes), maxBytes);
}

const ZIP_STARTS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06], // an empty zip file
];

/** @param maxBytes maximum size of the output, in bytes */
async function* unarchived(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const { head, all, close } = await withHead(chunks, BLOCK);
  try {
    if (ZIP_STARTS.some((start) => start.every((byte, i) => head[i] === byte)))
      yield* unzipped(all, maxBytes);
    else if (isTar(head)) yield* untarred(all);
    else yield* all;
  } finally {
    await close();
  }
}

async function* gunzipped(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const { head, all, close } = await withHead(chunks, 2);
  try {
    if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzip(all);
    else yield* all;
  } finally {
    await close();
  }
}

async function* gunzip(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const stream = createGunzip();
  let sourceError: unknown;
  const watched = (async function* () {
    try {
      yield* chunks;
    } catch (error) {
      sourceError = error;
      throw error;
    }
  })();
  // A failure here reaches the loop below through the stream, because pipeline destroys the stream with the same error.
  const feeding = pipeline(Readable.from(watched, { objectMode: false }), stream).catch(() => {});
  try {
    for await (const chunk of stream) yield chunk;
  } catch {
    if (sourceError !== undefined) throw sourceError;
    throw new FeedError("is a damaged or truncated gzip file");
  } finally {
    stream.destroy();
    await feeding;
  }
}

const STORED = 0;
const DEFLATED = 8;
/** Publishers pack only a few files. A directory with millions of entries would take minutes to read. */
const MAX_ENTRIES = 1_000;

async function* unzipped(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
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

const BLOCK = 512;

const ascii = (bytes: Uint8Array, from: number, to: number) =>
  Buffer.from(bytes.subarray(from, to)).toString();

/** @param head the first block of a file */
const isTar = (head: Uint8Array): boolean => head.length === BLOCK && ascii(head, 257, 262) === "ustar";

/** Types of ordinary files. Directories, links and pax headers are skipped. */
const FILE_TYPES = new Set(["0", "\0"]);

async function* untarred(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const input = new Blocks(chunks);
  let isFound = false;
  for (;;) {
    const header = await input.block();
    if (header === undefined) throw new FeedError("is a truncated tar file");
    if (header[0] === 0) break; // empty blocks mark the end of the file
    const name = ascii(header, 0, 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(ascii(header, 124, 136), 8);
    if (!isTar(header) || !(size >= 0)) throw new FeedError("is a damaged tar file");
    const isWanted = FILE_TYPES.has(String.fromCharCode(header[156]!)) && isDataFile(name);
    if (isWanted && isFound) throw severalFiles();
    isFound ||= isWanted;
    let left = size;
    for await (const chunk of input.take(Math.ceil(size / BLOCK) * BLOCK)) {
      if (isWanted && left > 0) yield chunk.subarray(0, left);
      left -= chunk.length;
    }
  }
  if (!isFound) throw noFile();
  for await (const _ of input.rest()); // reads to the end, so that the gzip layer is checked completely
}

/** Returns as many bytes as requested from chunks of any size. */
class Blocks {
  private readonly source: AsyncIterator<Uint8Array>;
  private held: Uint8Array = new Uint8Array();

  constructor(chunks: Chunks) {
    this.source = chunks[Symbol.asyncIterator]();
  }

  async block(): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for (; bytes < BLOCK; bytes += parts.at(-1)!.length) {
      const part = await this.some(BLOCK - bytes);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  async *take(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      const part = await this.some(left);
      if (part === undefined) throw new FeedError("is a truncated tar file");
      left -= part.length;
      yield part;
    }
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    for (let part = await this.some(BLOCK); part !== undefined; part = await this.some(BLOCK)) yield part;
  }

  private async some(most: number): Promise<Uint8Array | undefined> {
    while (this.held.length === 0) {
      const next = await this.source.next();
      if (next.done) return undefined;
      this.held = next.value;
    }
    const part = this.held.subarray(0, most);
    this.held = this.held.subarray(part.length);
    return part;
  }
}

const DATA = /\.(csv|mmdb|txt|json|jsonl|ipset|netset|conf)$/i;
const BESIDE = /(^|[^a-z])(licen[cs]e|readme|copyright|notice)/i;

const isDataFile = (name: string): boolean => DATA.test(name) && !BESIDE.test(name.split("/").at(-1)!);

const noFile = () => new FeedError("is an archive without a data file");

const severalFiles = () => new FeedError("is an archive with several data files");

/** Yields the chunks unchanged. Iterating over them throws a FeedError after more than `maxBytes`. */
export async function* limited(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** A stream whose first bytes have already been read. */
interface Headed {
  /** The requested number of first bytes, or fewer if the stream is shorter. */
  readonly head: Uint8Array;
  /** The whole stream, including the first bytes. */
  readonly all: AsyncGenerator<Uint8Array>;
  /** Closes the source, even if `all` was never read. */
  close(): Promise<unknown>;
}

async function withHead(chunks: Chunks, bytes: number): Promise<Headed> {
  const iterator = chunks[Symbol.asyncIterator]();
  let held = new Uint8Array();
  try {
    while (held.length < bytes) {
      const next = await iterator.next();
      if (next.done) break;
      held = held.length === 0 ? next.value.slice() : Buffer.concat([held, next.value]);
    }
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
  async function* all() {
    if (held.length > 0) yield held;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  return {
    head: held.subarray(0, bytes),
    all: all(),
    close: async () => iterator.return?.(),
  };
}
