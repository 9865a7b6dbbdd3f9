// archive.ts: a zip or tar file -> the one file of data in it.
//
// in   chunks; an archive is known by its first bytes (tar: by "ustar" at byte 257), whatever a name or header says
// out  the chunks of the one data file; what is no archive passes through
// err  FeedError: no data file in it or several, damaged, cut short, encrypted, a method that we do not read, too large
// src  PKWARE APPNOTE 6.3.10 (4.3.7, 4.3.12, 4.3.16), POSIX.1-2024 pax, ustar
// cost tar: the chunks in flight; zip: the packed file, for its directory stands at its end
//
// Publishers pack one file, beside a licence and a read-me.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { FeedError } from "../catalog/feed.ts";
import { type Chunks, limited, withHead } from "./chunks.ts";

const DATA = /\.(csv|mmdb|txt|json|jsonl|ipset|netset|conf)$/i;
const BESIDE = /(^|[^a-z])(licen[cs]e|readme|copyright|notice)/i;
const isData = (name: string): boolean => DATA.test(name) && !BESIDE.test(name.split("/").at(-1)!);

/** Takes one file out of an archive. @param maxBytes of what comes out */
export async function* unarchived(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const { head, all, close } = await withHead(chunks, BLOCK);
  try {
    if (startsWith(head, ZIP_FILE) || startsWith(head, ZIP_END)) yield* unzipped(all, maxBytes);
    else if (head.length === BLOCK && ascii(head, 257, 262) === "ustar") yield* untarred(all);
    else yield* all;
  } finally {
    await close();
  }
}

const ZIP_FILE = [0x50, 0x4b, 0x03, 0x04];
const ZIP_ENTRY = [0x50, 0x4b, 0x01, 0x02];
const ZIP_END = [0x50, 0x4b, 0x05, 0x06];
const startsWith = (bytes: Uint8Array, want: readonly number[]) => want.every((byte, i) => bytes[i] === byte);
const ascii = (bytes: Uint8Array, from: number, to: number) =>
  Buffer.from(bytes.subarray(from, to)).toString();

interface ZipEntry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

async function* unzipped(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const bytes = Buffer.concat(parts);
  const entry = onlyDataFile(zipEntries(bytes));
  if ((entry.flags & 1) !== 0) throw new FeedError(`is a zip file with a password on ${entry.name}`);
  if (entry.size > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
  let [crc, size] = [0, 0];
  for await (const chunk of limited(inflated(bytes, entry), maxBytes)) {
    crc = crc32(chunk, crc);
    size += chunk.length;
    yield chunk;
  }
  if (size !== entry.size || crc !== entry.crc) throw damaged();
}

const damaged = () => new FeedError("is a damaged zip file, or is cut short");

/** The directory at the end of a zip file. ZIP64 is not read: no list of addresses has 4 GB. */
function zipEntries(bytes: Buffer): ZipEntry[] {
  const LONGEST_COMMENT = 0xffff;
  const end = bytes.lastIndexOf(Buffer.from(ZIP_END));
  if (end < 0 || end < bytes.length - 22 - LONGEST_COMMENT || end + 22 > bytes.length) throw damaged();
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  return Array.from({ length: count }, () => {
    if (at + 46 > end || !startsWith(bytes.subarray(at), ZIP_ENTRY)) throw damaged();
    const nameLength = bytes.readUInt16LE(at + 28);
    const entry = {
      name: bytes.toString("utf8", at + 46, at + 46 + nameLength),
      flags: bytes.readUInt16LE(at + 8),
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      packed: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      at: bytes.readUInt32LE(at + 42),
    };
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    return entry;
  });
}

function onlyDataFile(entries: readonly ZipEntry[]): ZipEntry {
  const [entry, ...others] = entries.filter(({ name }) => isData(name));
  if (entry === undefined) throw new FeedError("is an archive without a file of data");
  if (others.length > 0) throw severalFiles(entry.name, others[0]!.name);
  return entry;
}

const severalFiles = (a: string, b: string) =>
  new FeedError(`is an archive with several files of data: ${a.slice(0, 80)}, ${b.slice(0, 80)}`);

async function* inflated(bytes: Buffer, { at, method, packed }: ZipEntry): AsyncGenerator<Uint8Array> {
  if (at + 30 > bytes.length || !startsWith(bytes.subarray(at), ZIP_FILE)) throw damaged();
  const from = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  if (from + packed > bytes.length) throw damaged();
  const body = bytes.subarray(from, from + packed);
  if (method === 0) yield body;
  else if (method === 8) yield* inflate(body);
  else throw new FeedError(`is a zip file packed by method ${method}, which is not read`);
}

async function* inflate(body: Uint8Array): AsyncGenerator<Uint8Array> {
  const stream = createInflateRaw();
  // Its failure reaches the loop below through the stream, which pipeline destroys with the same error.
  const feeding = pipeline(Readable.from([body], { objectMode: false }), stream).catch(() => {});
  try {
    for await (const chunk of stream) yield chunk;
  } catch {
    throw damaged();
  } finally {
    stream.destroy();
    await feeding;
  }
}

const BLOCK = 512;
/** Ordinary files; directories, links and pax headers are passed over. */
const FILE_TYPES = new Set(["0", "\0"]);

async function* untarred(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const input = new Blocks(chunks);
  let found: string | undefined;
  for (;;) {
    const header = await input.block();
    if (header === undefined) throw new FeedError("is a tar file that is cut short");
    if (header[0] === 0) break; // the end is marked by empty blocks
    const name = ascii(header, 0, 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(ascii(header, 124, 136), 8);
    if (ascii(header, 257, 262) !== "ustar" || !(size >= 0)) throw new FeedError("is a damaged tar file");
    const isWanted = FILE_TYPES.has(String.fromCharCode(header[156]!)) && isData(name);
    if (isWanted && found !== undefined) throw severalFiles(found, name);
    if (isWanted) found = name;
    let left = size;
    for await (const chunk of input.take(Math.ceil(size / BLOCK) * BLOCK)) {
      if (isWanted && left > 0) yield chunk.subarray(0, left);
      left -= chunk.length;
    }
  }
  if (found === undefined) throw new FeedError("is an archive without a file of data");
  for await (const _ of input.rest()); // so that whatever packed it is checked to its end
}

/** Chunks of any size, handed out by the number of bytes wanted. */
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
      if (part === undefined) throw new FeedError("is a tar file that is cut short");
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
