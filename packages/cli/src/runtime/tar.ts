// tar.ts: writes and reads the tar files of backups (POSIX ustar, ordinary files only), so that `tar -tf` lists a
// backup and `tar -xf` opens one without Inkling.

import { readSync } from "node:fs";

const BLOCK = 512;
/** Largest size that fits in the eleven octal digits of a header. Larger ones are binary, as GNU tar writes them. */
const MAX_OCTAL = 8 ** 11 - 1;
const MODE = 0o600;

// Offsets of a header's fields.
const SIZE = 124;
const CHECKSUM = 148;
const TYPE = 156;
const MAGIC = 257;

/** A file in a tar file. */
export interface TarEntry {
  readonly name: string;
  /** Where its content begins. */
  readonly offset: number;
  readonly size: number;
}

export class TarError extends Error {
  override readonly name = "TarError";
  /** The file is not a tar file at all. */
  readonly isForeign: boolean;

  constructor(message: string, isForeign: boolean) {
    super(message);
    this.isForeign = isForeign;
  }
}

/**
 * Returns the block before a file's content.
 * @param name at most 100 bytes
 * @param modified seconds since 1970
 */
export function tarHeader(name: string, size: number, modified: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 100);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, "0"), at);
  octal(MODE, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (size <= MAX_OCTAL) octal(size, SIZE, 11);
  else {
    header[SIZE] = 0x80;
    header.writeBigUInt64BE(BigInt(size), SIZE + 4);
  }
  octal(modified, 136, 11);
  header.write("0", TYPE);
  header.write("ustar\x0000", MAGIC);
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, CHECKSUM);
  return header;
}

/** Returns the zeros that fill the last block of a file's content. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

export const TAR_END = Buffer.alloc(2 * BLOCK);

/**
 * Lists the files in a tar file.
 * @throws TarError
 */
export function readTar(descriptor: number, length: number): TarEntry[] {
  const entries: TarEntry[] = [];
  const header = Buffer.alloc(BLOCK);
  for (let at = 0; ; ) {
    if (at + BLOCK > length || readSync(descriptor, header, 0, BLOCK, at) < BLOCK) {
      throw new TarError("it ends too early", at === 0);
    }
    if (header.every((byte) => byte === 0)) return entries;
    if (header.toString("latin1", MAGIC, MAGIC + 5) !== "ustar" || checksumIn(header) !== checksumOf(header))
      throw new TarError("a header is damaged", at === 0);
    const name = header.toString("utf8", 0, 100).replace(/\0.*$/s, "");
    if (header[TYPE] !== 0x30 && header[TYPE] !== 0)
      throw new TarError(`${JSON.stringify(name)} is not an ordinary file`, false);
    const size = sizeIn(header);
    const offset = at + BLOCK;
    if (size < 0) throw new TarError("a header is damaged", false); // "-1750" is a number in octal, too
    if (!Number.isSafeInteger(size) || offset + size > length) throw new TarError("it ends too early", false);
    entries.push({ name, offset, size });
    at = offset + Math.ceil(size / BLOCK) * BLOCK;
  }
}

const sizeIn = (header: Buffer): number =>
  header[SIZE] === 0x80 ? Number(header.readBigUInt64BE(SIZE + 4)) : octalIn(header, SIZE, 12);

const checksumIn = (header: Buffer): number => octalIn(header, CHECKSUM, 8);

const octalIn = (header: Buffer, at: number, length: number): number =>
  Number.parseInt(header.toString("latin1", at, at + length), 8);

/** The sum of the header's bytes, with spaces in the checksum's field. */
const checksumOf = (header: Buffer): number =>
  header.reduce((sum, byte, at) => sum + (at >= CHECKSUM && at < CHECKSUM + 8 ? 0x20 : byte), 0);
