// archive.ts: the one file that is wanted out of a tar or zip archive.
//
// in   the bytes of a file, and how the wanted one's name ends
// out  its bytes; a body that is no archive comes back as it is
// err  FeedError: damaged, cut short, encrypted, none or several such files in it, unpacks to more than the limit
// cost tar: none, a view; zip: what it unpacks to, never more than the limit
// src  POSIX.1-2017 ustar; PKWARE APPNOTE 6.3.10
// note names decide nothing but which file is meant: nothing is ever written under a name of an archive

import { crc32, inflateRawSync } from "node:zlib";
import { FeedError } from "./feed.ts";

/** @throws FeedError as above */
export function onlyMember(body: Uint8Array, ending: string, maxBytes: number): Uint8Array {
  if (isZip(body)) return fromZip(body, ending, maxBytes);
  if (isTar(body)) return fromTar(body, ending);
  return body;
}

const latin = new TextDecoder("latin1");
const ascii = (bytes: Uint8Array) => latin.decode(bytes);

function only<T>(found: readonly T[], ending: string): T {
  if (found.length !== 1)
    throw new FeedError(`is an archive with ${found.length} files *${ending}, want one`);
  return found[0]!;
}

// --- tar: blocks of 512 bytes, a header before each file

const BLOCK = 512;
const isTar = (body: Uint8Array) => body.length >= BLOCK && ascii(body.subarray(257, 262)) === "ustar";

function fromTar(body: Uint8Array, ending: string): Uint8Array {
  const found: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const header = body.subarray(at, at + BLOCK);
    if (header.length < BLOCK) throw new FeedError("is a tar archive that is cut short");
    if (header.every((byte) => byte === 0)) break;
    checkHeader(header);
    const size = octal(header.subarray(124, 136));
    const from = at + BLOCK;
    if (from + size > body.length) throw new FeedError("is a tar archive that is cut short");
    const kind = header[156]!;
    const isFile = kind === 0 || kind === 0x30;
    const name = untilZero(header.subarray(0, 100));
    if (isFile && name.endsWith(ending)) found.push(body.subarray(from, from + size));
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return only(found, ending);
}

/** The header's own sum, in which the field that holds it counts as spaces. */
function checkHeader(header: Uint8Array): void {
  let sum = 0;
  for (let k = 0; k < BLOCK; k++) sum += k >= 148 && k < 156 ? 0x20 : header[k]!;
  if (sum !== octal(header.subarray(148, 156))) throw new FeedError("is a damaged tar archive");
}

function octal(field: Uint8Array): number {
  const text = untilZero(field).trim();
  if (!/^[0-7]{1,12}$/.test(text)) throw new FeedError("is a damaged tar archive");
  return Number.parseInt(text, 8);
}

const untilZero = (field: Uint8Array) => ascii(field).split("\0", 1)[0]!;

// --- zip: a directory at the end names the files

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
/** The end may be followed by a comment of at most this length. */
const MAX_COMMENT = 0xffff;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

function isZip(body: Uint8Array): boolean {
  if (body.length < END_BYTES) return false;
  const first = viewOf(body).getUint32(0, true);
  return first === LOCAL || first === END;
}

const viewOf = (body: Uint8Array) => new DataView(body.buffer, body.byteOffset, body.byteLength);

function fromZip(body: Uint8Array, ending: string, maxBytes: number): Uint8Array {
  const view = viewOf(body);
  try {
    const found: number[] = [];
    const end = findEnd(view);
    const entries = view.getUint16(end + 10, true);
    let at = view.getUint32(end + 16, true);
    for (let k = 0; k < entries; k++) {
      if (view.getUint32(at, true) !== ENTRY) throw new FeedError("is a damaged zip archive");
      const nameLength = view.getUint16(at + 28, true);
      const name = ascii(body.subarray(at + 46, at + 46 + nameLength));
      if (name.toLowerCase().endsWith(ending)) found.push(at);
      at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return readEntry(body, view, only(found, ending), maxBytes);
  } catch (error) {
    if (error instanceof RangeError) throw new FeedError("is a zip archive that is cut short");
    throw error;
  }
}

function findEnd(view: DataView): number {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT); at--)
    if (view.getUint32(at, true) === END) return at;
  throw new FeedError("is a zip archive that is cut short");
}

function readEntry(body: Uint8Array, view: DataView, entry: number, maxBytes: number): Uint8Array {
  if ((view.getUint16(entry + 8, true) & ENCRYPTED) !== 0) throw new FeedError("is an encrypted zip archive");
  const method = view.getUint16(entry + 10, true);
  const sum = view.getUint32(entry + 16, true);
  const packed = view.getUint32(entry + 20, true);
  const size = view.getUint32(entry + 24, true);
  const local = view.getUint32(entry + 42, true);
  if (view.getUint32(local, true) !== LOCAL) throw new FeedError("is a damaged zip archive");
  const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const data = body.subarray(from, from + packed);
  if (data.length < packed) throw new FeedError("is a zip archive that is cut short");
  if (size > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
  const bytes = method === STORED ? data : method === DEFLATED ? inflate(data, maxBytes) : undefined;
  if (bytes === undefined) throw new FeedError(`is a zip archive of an unknown method (${method})`);
  if (bytes.length !== size || crc32(bytes) !== sum) throw new FeedError("is a damaged zip archive");
  return bytes;
}

function inflate(data: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return inflateRawSync(data, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw new FeedError(`is larger than ${maxBytes} bytes`);
    throw new FeedError("is a damaged zip archive");
  }
}
