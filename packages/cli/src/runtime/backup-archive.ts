// backup-archive.ts: writes and reads the file of `inkling backup`, a tar file whose first entry, manifest.json, has
// the size and hash of every other entry.

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { AtomicFile, type Owner } from "@inkling/data";
import { z } from "zod";
import { CliError, explainFileError, explainTargetError } from "../terminal/errors.ts";
import { readTar, TAR_END, type TarEntry, TarError, tarHeader, tarPadding } from "./tar.ts";

const FORMAT = "inkling-backup";
const VERSION = 1;
const MANIFEST = "manifest.json";
const OWNER_ONLY = 0o600;
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
  files: z.array(z.object({ name: z.string(), bytes: z.int(), sha256: z.string() })),
});
export type Manifest = z.infer<typeof manifest>;

/** A file to write: its content, or where it is. */
type BackupFile = { readonly name: string } & ({ readonly text: string } | { readonly path: string });

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
  const modified = Math.floor(now.getTime() / 1_000);
  let archive: AtomicFile | undefined;
  try {
    const listed = files.map((file) => ({ name: file.name, ...digestOf(chunksOf(file)) }));
    const head = { format: FORMAT, version: VERSION, created_at: now.toISOString(), ...about } as const;
    const written: Manifest = { ...head, files: listed };
    const text = `${JSON.stringify(written, null, 2)}\n`;
    archive = new AtomicFile(path, OWNER_ONLY, owner);
    for (const file of [{ name: MANIFEST, text }, ...files]) {
      const bytes = listed.find(({ name }) => name === file.name)?.bytes ?? Buffer.byteLength(text);
      archive.write(tarHeader(file.name, bytes, modified));
      for (const chunk of chunksOf(file)) archive.write(chunk);
      archive.write(tarPadding(bytes));
    }
    archive.write(TAR_END);
    archive.commit();
    return written;
  } catch (error) {
    archive?.discard();
    throw explainTargetError(error, path);
  }
}

/** An archive whose structure has been checked. Each entry is checked when it is read. */
export class Archive {
  readonly manifest: Manifest;
  private readonly path: string;
  private readonly descriptor: number;
  private readonly entries: ReadonlyMap<string, TarEntry>;

  /** @throws CliError if the file is not a backup, is from a newer version, is damaged, or was cut short */
  constructor(path: string) {
    this.path = path;
    try {
      this.descriptor = openSync(path, "r");
    } catch (error) {
      throw explainFileError(error, path);
    }
    try {
      const entries = entriesOf(path, this.descriptor);
      this.manifest = this.manifestIn(entries[0]);
      this.entries = new Map(entries.map((entry) => [entry.name, entry]));
      const names = [MANIFEST, ...this.manifest.files.map(({ name }) => name)];
      if (entries.length !== names.length || entries.some(({ name }, i) => name !== names[i]))
        throw damaged(path, "its entries are not those of its manifest");
      if (this.entries.size < entries.length) throw damaged(path, "it has two entries of the same name");
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }

  has(name: string): boolean {
    return name !== MANIFEST && this.entries.has(name);
  }

  /** @throws CliError if the entry is damaged */
  text(name: string): string {
    if (this.entries.get(name)!.size > MAX_TEXT_BYTES) throw damaged(this.path, `${name} is too large`);
    const chunks: Uint8Array[] = [];
    this.read(name, (chunk) => chunks.push(Uint8Array.from(chunk)));
    return Buffer.concat(chunks).toString();
  }

  /**
   * Copies an entry to a file that only this user can read.
   * @throws CliError if the entry is damaged, or the file cannot be written
   */
  extract(name: string, path: string): void {
    let file: AtomicFile | undefined;
    try {
      const target = new AtomicFile(path, OWNER_ONLY);
      file = target;
      this.read(name, (chunk) => target.write(chunk));
      target.commit();
    } catch (error) {
      file?.discard();
      throw explainTargetError(error, path);
    }
  }

  private read(name: string, use: (chunk: Uint8Array) => void): void {
    const { offset, size } = this.entries.get(name)!;
    const expected = this.manifest.files.find((file) => file.name === name)!;
    const hash = createHash("sha256");
    for (const chunk of chunksIn(this.descriptor, offset, size)) {
      hash.update(chunk);
      use(chunk);
    }
    if (hash.digest("hex") !== expected.sha256)
      throw damaged(this.path, `the content of ${name} does not match its checksum`);
  }

  private manifestIn(entry: TarEntry | undefined): Manifest {
    if (entry?.name !== MANIFEST || entry.size > MAX_TEXT_BYTES) throw foreign(this.path);
    const found = jsonOf(Buffer.concat([...chunksIn(this.descriptor, entry.offset, entry.size)]).toString());
    const head = manifest.pick({ format: true, version: true, program: true }).safeParse(found);
    if (!head.success) throw foreign(this.path);
    if (head.data.version > VERSION) throw newerBackup(this.path, head.data.program);
    const parsed = manifest.safeParse(found);
    if (!parsed.success) throw damaged(this.path, "its manifest is invalid");
    return parsed.data;
  }
}

function entriesOf(path: string, descriptor: number): TarEntry[] {
  try {
    return readTar(descriptor, fstatSync(descriptor).size);
  } catch (error) {
    if (!(error instanceof TarError)) throw explainFileError(error, path);
    throw error.isForeign ? foreign(path) : damaged(path, error.message);
  }
}

function* chunksOf(file: BackupFile): Generator<Uint8Array> {
  if ("text" in file) {
    yield Buffer.from(file.text);
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

function digestOf(chunks: Iterable<Uint8Array>): { readonly bytes: number; readonly sha256: string } {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const foreign = (path: string) =>
  new CliError(
    `${path} is not an Inkling backup`,
    "`inkling backup FILE` creates one; decompress a compressed one first",
  );
export const damaged = (path: string, why: string) =>
  new CliError(`${path} is damaged: ${why}`, "nothing was restored; use another copy or an older backup");
export const newerBackup = (path: string, program: string) =>
  new CliError(
    `${path} was created by a newer version of Inkling (${program}) than this one can restore`,
    "nothing was restored; install that version or a later one, and restore the backup with it",
  );
