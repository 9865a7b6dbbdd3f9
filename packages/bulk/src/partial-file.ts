// partial-file.ts: an output file that the user named: there whole or not at all, however the process ends.
//
// err  errors of node:fs; the previous file then remains
// note under a name that ends in .gz or .zst it is compressed, in members of MEMBER_BYTES: gzip and zstd read them as one

import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { AtomicFile, PUBLIC_FILE } from "@inkling/release-store";
import { BulkError } from "./errors.ts";

/** The state of a file after an interruption. */
export const notWritten = (path: string): string =>
  `${path} was not written${existsSync(path) ? ", and is what it was before" : ""}`;

/** By the ending of a file's name. */
const COMPRESSORS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  ".gz": gzipSync,
  ".zst": zstdCompressSync,
};
/** Names of compressed files that cannot be written. */
const OTHER_ENDING = /\.(br|bz2|xz|lzma|lz|lz4|sz|z|zip|7z|tgz|tzst)$/i;
const MEMBER_BYTES = 1 << 20;

/** @throws BulkError if the name belongs to a compressed file that cannot be written */
function compressorOf(path: string): ((bytes: Uint8Array) => Uint8Array) | undefined {
  const [ending] = /\.[^.]*$/.exec(basename(path)) ?? [""];
  if (OTHER_ENDING.test(ending))
    throw new BulkError(
      `${path}: files that end in ${ending} cannot be written`,
      "end the name in .gz or .zst for a compressed file, or in neither for a plain one",
      true,
    );
  return COMPRESSORS[ending.toLowerCase()];
}

export class PartialFile {
  readonly path: string;
  /** In the file so far. */
  bytes = 0;
  private readonly compress: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** What is not compressed yet, and how much that is. */
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private readonly file: AtomicFile;
  /** A process that is stopped at once takes the partial file along. */
  private readonly onExit = () => this.discard();

  /** @throws BulkError if the name belongs to a folder, or to a compressed file that cannot be written */
  constructor(path: string) {
    this.compress = compressorOf(path);
    const before = statSync(path, { throwIfNoEntry: false });
    if (before?.isDirectory()) {
      throw new BulkError(`${path} is a folder`, "name the file that is to be written");
    }
    this.path = path;
    // If it replaces a file, no more users may read it than before: it may contain visitors' addresses.
    this.file = new AtomicFile(path, before?.isFile() ? before.mode & PUBLIC_FILE : PUBLIC_FILE);
    process.once("exit", this.onExit);
  }

  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    if (this.compress === undefined) {
      this.store(bytes);
      return;
    }
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (this.heldBytes >= MEMBER_BYTES) this.store(this.compress(this.taken()));
  }

  /** Completes it: what has no room on the disk fails now, not at {@link finish}. */
  flush(): void {
    // An empty file is no gzip file: it has at least one member.
    if (this.compress !== undefined && (this.heldBytes > 0 || this.bytes === 0))
      this.store(this.compress(this.taken()));
    this.file.flush();
  }

  /** Puts it under its name. */
  finish(): void {
    this.flush();
    this.file.commit();
    process.off("exit", this.onExit);
  }

  private store(bytes: Uint8Array): void {
    this.file.write(bytes);
    this.bytes += bytes.length;
  }

  private taken(): Uint8Array {
    const bytes = Buffer.concat(this.held);
    this.held = [];
    this.heldBytes = 0;
    return bytes;
  }

  /** Removes what was written; without effect after {@link finish}. */
  discard(): void {
    this.file.discard();
    process.off("exit", this.onExit);
  }
}
