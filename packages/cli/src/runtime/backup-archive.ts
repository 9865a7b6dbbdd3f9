// backup-archive.ts: writes and reads the file of `inkling backup`: a tar file (POSIX ustar, ordinary files only), so
// that `tar -tf` lists a backup and `tar -xf` opens one without Inkling. Its first entry, manifest.json, has the size
// and hash of every other entry.
//
// Not by Bun.Archive, which has all files in memory: a database with stored decisions may be larger.

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DATA_FOLDER, type Owner, replaceFile } from "@inkling/data";
import { parseRevocations } from "@inkling/store";
import { z } from "zod";
import { CliError, explainFileError, writingTo } from "../terminal/errors.ts";

/** The database's name in an archive. */
export const DATABASE = DATA_FOLDER.database;
/** The settings file's name in an archive. A restore leaves it out, because it belongs to the operator. */
export const SETTINGS_FILE = "inkling.toml";
/**
 * The data-folder files that a backup contains, each with a check that throws. All other files can be created again, or
 * belong only to this host.
 */
export const DATA_FILES: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  [DATA_FOLDER.feedChoice]: async (text) =>
    (await import("@inkling/compiler/feed-choice")).parseFeedChoice(text, "it"),
  [DATA_FOLDER.channel]: async (text) => (await import("@inkling/data/channel")).parseTrustState(text),
  [DATA_FOLDER.revoked]: async (text) => {
    const [line] = parseRevocations(text).invalid;
    if (line !== undefined) throw new Error(`${JSON.stringify(line.slice(0, 100))} is not a revocation`);
  },
};

const FORMAT = "inkling-backup";
const VERSION = 1;
const MANIFEST = "manifest.json";
export const OWNER_ONLY = 0o600;
const CHUNK_BYTES = 1 << 20;
/** Maximum size of an entry that is read into memory. */
const MAX_TEXT_BYTES = 1 << 26;

const manifest = z.object({
  format: z.literal(FORMAT),
  version: z.int(),
  created_at: z.iso.datetime(),
  program: z.string(),
  /** Does the database contain decisions? */
  decisions: z.boolean(),
  rows: z.record(z.string(), z.int()),
  files: z.array(z.object({ name: z.string(), bytes: z.int().min(0), sha256: z.string() })),
});
export type Manifest = z.infer<typeof manifest>;

/** A file to write: its content, or where it is if it may be large. */
export type BackupFile = { readonly name: string } & (
  | { readonly content: Uint8Array }
  | { readonly path: string }
);

/**
 * Writes an archive under its name when it is complete.
 * @throws CliError; an existing file then remains unchanged
 */
export function writeArchive(
  path: string,
  owner: Owner,
  about: Pick<Manifest, "program" | "decisions" | "rows">,
  files: readonly BackupFile[],
): Manifest {
  const now = new Date();
  const head = { format: FORMAT, version: VERSION, created_at: now.toISOString(), ...about } as const;
  return writingTo(path, () => {
    const listed = files.map((file) => ({ name: file.name, ...digestOf(chunksOf(file)) }));
    const written: Manifest = { ...head, files: listed };
    const content = Buffer.from(`${JSON.stringify(written, null, 2)}\n`);
    replaceFile(path, tarOf([{ name: MANIFEST, content }, ...files], now), { mode: OWNER_ONLY, owner });
    return written;
  });
}

/**
 * Reads an archive, and checks all of it: each header has the bytes that {@link writeArchive} writes for the manifest's
 * entry, and each content has its checksum.
 * @param database file to write the archived database to; only this user can read it
 * @returns the manifest, and the content of each entry; the database's is ""
 * @throws CliError if the file is not a backup, is from a newer version, is damaged, or was cut short
 */
export function readArchive(
  path: string,
  database: string,
): { readonly manifest: Manifest; readonly texts: ReadonlyMap<string, string> } {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    return readEntries(path, descriptor, database);
  } catch (error) {
    throw explainFileError(error, path);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function readEntries(path: string, descriptor: number, database: string) {
  const bytes = (from: number, size: number) => contentOf(chunksIn(descriptor, from, size));
  const first = bytes(0, BLOCK);
  const [size, modified] = [octalIn(first, SIZE), octalIn(first, MODIFIED)];
  const isOurs = size >= 0 && size <= MAX_TEXT_BYTES && first.equals(tarHeader(MANIFEST, size, modified));
  if (!isOurs) throw foreign(path);
  const manifest = parseManifest(path, bytes(BLOCK, size).toString());
  let at = BLOCK + padded(size);
  const end = manifest.files.reduce((sum, file) => sum + BLOCK + padded(file.bytes), at);
  if (fstatSync(descriptor).size < end + BLOCK) throw damaged(path, "it ends too early");
  const texts = new Map<string, string>();
  for (const { name, bytes: length, sha256 } of manifest.files) {
    if (texts.has(name)) throw damaged(path, "it has two entries of the same name");
    if (!bytes(at, BLOCK).equals(tarHeader(name, length, modified))) throw otherEntries(path);
    const content = hashed(chunksIn(descriptor, at + BLOCK, length), sha256, () =>
      damaged(path, `the content of ${name} does not match its checksum`),
    );
    if (name === DATABASE) {
      try {
        replaceFile(database, content, { mode: OWNER_ONLY });
      } catch (error) {
        throw explainFileError(error, dirname(database)); // the file is temporary
      }
      texts.set(name, "");
    } else {
      if (length > MAX_TEXT_BYTES) throw damaged(path, `${name} is too large`);
      texts.set(name, contentOf(content).toString());
    }
    at += BLOCK + padded(length);
  }
  if (bytes(at, BLOCK).some((byte) => byte !== 0)) throw otherEntries(path);
  return { manifest, texts };
}

/** Yields the same chunks. @throws what `mismatch` returns, after the last chunk, if their hash differs */
function* hashed(chunks: Iterable<Uint8Array>, sha256: string, mismatch: () => Error): Generator<Uint8Array> {
  const hash = createHash("sha256");
  for (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest("hex") !== sha256) throw mismatch();
}

function parseManifest(path: string, text: string): Manifest {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw foreign(path);
  }
  const head = manifest.pick({ format: true, version: true, program: true }).safeParse(found);
  if (!head.success) throw foreign(path);
  if (head.data.version > VERSION) throw newerBackup(path, head.data.program);
  const parsed = manifest.safeParse(found);
  if (!parsed.success) throw damaged(path, "its manifest is invalid");
  return parsed.data;
}

function* chunksOf(file: BackupFile): Generator<Uint8Array> {
  if ("content" in file) {
    yield file.content;
    return;
  }
  const descriptor = openSync(file.path, "r");
  try {
    yield* chunksIn(descriptor, 0, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

/** Yields the bytes of a part of a file. A chunk is valid until the next one. */
function* chunksIn(descriptor: number, offset: number, size: number): Generator<Uint8Array> {
  const buffer = Buffer.alloc(Math.min(size, CHUNK_BYTES));
  for (let at = 0; at < size; ) {
    const read = readSync(descriptor, buffer, 0, Math.min(buffer.length, size - at), offset + at);
    if (read === 0) return; // the file became shorter, so its hash differs
    yield buffer.subarray(0, read);
    at += read;
  }
}

/** Copies chunks, each of which is valid only until the next one. */
const contentOf = (chunks: Iterable<Uint8Array>): Buffer =>
  Buffer.concat(Array.from(chunks, (chunk) => Buffer.from(chunk)));

function digestOf(chunks: Iterable<Uint8Array>): { readonly bytes: number; readonly sha256: string } {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

const BLOCK = 512;
/** Largest size that fits in the eleven octal digits of a header. Larger ones are binary, as GNU tar writes them. */
const MAX_OCTAL = 8 ** 11 - 1;
// Offsets of a header's fields.
const SIZE = 124;
const MODIFIED = 136;
const CHECKSUM = 148;

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
  octal(OWNER_ONLY, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (size <= MAX_OCTAL) octal(size, SIZE, 11);
  else {
    header[SIZE] = 0x80;
    header.writeBigUInt64BE(BigInt(size), SIZE + 4);
  }
  octal(modified, MODIFIED, 11);
  header.write("0", 156); // an ordinary file
  header.write("ustar\x0000", 257);
  header.fill(" ", CHECKSUM, CHECKSUM + 8);
  const sum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0`, CHECKSUM);
  return header;
}

const octalIn = (header: Buffer, at: number): number =>
  Number.parseInt(header.toString("latin1", at, at + 12), 8);

/** Returns the number of bytes that a file of this size takes up in whole blocks. */
const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/** Yields a tar file. A chunk is valid until the next one. */
export function* tarOf(files: readonly BackupFile[], modified: Date): Generator<Uint8Array> {
  for (const file of files) {
    const size = "content" in file ? file.content.length : statSync(file.path).size;
    yield tarHeader(file.name, size, Math.floor(modified.getTime() / 1_000));
    yield* chunksOf(file);
    yield Buffer.alloc(padded(size) - size);
  }
  yield Buffer.alloc(2 * BLOCK);
}

const foreign = (path: string) =>
  new CliError(
    `${path} is not an Inkling backup`,
    "`inkling backup FILE` creates one; decompress a compressed one first",
  );
export const damaged = (path: string, why: string) =>
  new CliError(`${path} is damaged: ${why}`, "nothing was restored; use another copy or an older backup");
const otherEntries = (path: string) => damaged(path, "its entries are not those of its manifest");
const newerBackup = (path: string, program: string) =>
  new CliError(
    `${path} was created by a newer version of Inkling (${program}) than this one can restore`,
    "nothing was restored; install that version or a later one, and restore the backup with it",
  );
export const otherTables = (path: string, program: string) =>
  new CliError(
    `${path} was created by Inkling ${program}, and this version cannot read its database`,
    "nothing was restored; restore it with the version that created it, or use another backup",
  );
