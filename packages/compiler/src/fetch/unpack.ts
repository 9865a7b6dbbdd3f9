// unpack.ts: unpacks a file if it is gzip, zip or tar, up to a size limit.
//
// A packed feed file may be packed again in transfer, so up to two layers of gzip are removed. Then the one data file
// is extracted from a zip or tar file (for tar, "ustar" is at byte 257). Every step stops at the limit, so a bomb takes
// no more memory than any other file.
//
// Source: POSIX.1-2024 pax, ustar. Cost: memory for the packed and the unpacked file.

import { promisify } from "node:util";
import { crc32, gunzip } from "node:zlib";
import { type Entry, fromBufferPromise } from "yauzl";
import { FeedError } from "../catalog/feed.ts";

/**
 * Bytes that an archive may contain in addition to the data, such as headers and licences. Without this limit, 2 KB of
 * gzip could contain 1 GB of tar members, all of which would be read only to be skipped.
 */
const BESIDE_BYTES = 2 ** 20;
const MAX_GZIP_LAYERS = 2;

/**
 * @param maxBytes maximum size of the packed file, and of the result
 * @throws FeedError if the file cannot be unpacked or is too large
 */
export async function unpack(packed: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  requireSize(packed.length, maxBytes);
  let bytes = packed;
  for (let layer = 0; layer < MAX_GZIP_LAYERS && startsWith(bytes, "\x1f\x8b"); layer++)
    bytes = await gunzipped(bytes, maxBytes);
  if (startsWith(bytes, "PK\x03\x04") || startsWith(bytes, "PK\x05\x06")) return unzipped(bytes, maxBytes);
  if (bytes.length >= 512 && startsWith(bytes.subarray(257), "ustar")) bytes = untarred(bytes);
  requireSize(bytes.length, maxBytes);
  return bytes;
}

/** @throws FeedError */
export function requireSize(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.subarray(0, text.length)).toString("latin1") === text;

async function gunzipped(packed: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await promisify(gunzip)(packed, { maxOutputLength: maxBytes + BESIDE_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") requireSize(Infinity, maxBytes);
    throw new FeedError("is a damaged or truncated gzip file");
  }
}

const STORED = 0;
const DEFLATED = 8;
/** Publishers pack only a few files. A directory with millions of entries would take minutes to read. */
const MAX_ENTRIES = 1_000;

async function unzipped(packed: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const damaged = (): never => {
    throw new FeedError("is a damaged or truncated zip file");
  };
  // The sizes are checked below, for a clear message about zip bombs.
  const file = await fromBufferPromise(Buffer.from(packed), { validateEntrySizes: false }).catch(damaged);
  if (file.entryCount > MAX_ENTRIES)
    throw new FeedError(`is a zip file with ${file.entryCount} files; the maximum is ${MAX_ENTRIES}`);
  const entries: Entry[] = await Array.fromAsync(file.eachEntry()).catch(damaged);
  const entry = onlyDataFile(entries, ({ fileName }) => fileName);
  const { uncompressedSize, compressionMethod: method } = entry;
  if (entry.isEncrypted()) throw new FeedError("is a zip file with a password");
  if (method !== STORED && method !== DEFLATED)
    throw new FeedError(
      `is a zip file with the compression method ${method}, which Inkling does not support`,
    );
  requireSize(uncompressedSize, maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of await file.openReadStreamPromise(entry)) {
      size += chunk.length;
      requireSize(size, maxBytes);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof FeedError) throw error;
    damaged();
  }
  const bytes = Buffer.concat(chunks);
  if (size !== uncompressedSize || crc32(bytes) !== entry.crc32) damaged();
  return bytes;
}

const BLOCK = 512;
/** Types of ordinary files. All others are skipped, such as folders, links, pax headers and sparse files. */
const FILE_TYPES = new Set(["0", "\0"]);

/** Not by Bun.Archive, which expands sparse files: a tar file of 10 KB took 6 GB of memory. */
function untarred(packed: Uint8Array): Uint8Array {
  const files: (readonly [name: string, bytes: Uint8Array])[] = [];
  for (let at = 0; packed[at] !== 0; ) {
    const header = Buffer.alloc(BLOCK); // zeros where the file is truncated
    header.set(packed.subarray(at, at + BLOCK));
    const text = (from: number, to: number) => header.toString("latin1", from, to).replace(/\0.*$/s, "");
    const [size, checksum] = [Number.parseInt(text(124, 136), 8), Number.parseInt(text(148, 156), 8)];
    const start = at + BLOCK;
    const sum = header.fill(" ", 148, 156).reduce((total, byte) => total + byte, 0);
    if (!(size >= 0 && start + size <= packed.length && sum === checksum))
      throw new FeedError("is a damaged or truncated tar file");
    const type = String.fromCharCode(header[156]!);
    if (FILE_TYPES.has(type)) files.push([text(0, 100), packed.subarray(start, start + size)]);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  return onlyDataFile(files, ([name]) => name)[1];
}

const DATA = /\.(csv|mmdb|txt|json|jsonl|ipset|netset|conf)$/i;
const BESIDE = /(^|[^a-z])(licen[cs]e|readme|copyright|notice)/i;

const isDataFile = (name: string): boolean => DATA.test(name) && !BESIDE.test(name.split("/").at(-1)!);

/** @throws FeedError if there is no such file, or more than one */
function onlyDataFile<T>(files: readonly T[], nameOf: (file: T) => string): T {
  const [file, other] = files.filter((each) => isDataFile(nameOf(each)));
  if (file === undefined) throw new FeedError("is an archive without a data file");
  if (other !== undefined) throw new FeedError("is an archive with several data files");
  return file;
}
