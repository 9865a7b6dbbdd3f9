// partial-file.ts: writes an output file that the user chose. The file appears as a whole or not at all, no matter how
// the process exits.
//
// A file whose name ends in .gz or .zst is compressed, in members of MEMBER_BYTES that gzip and zstd read as one file.

import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { AtomicFile, ByteBuffer, PUBLIC_FILE, prepareOutput } from "@inkling/data";
import { BulkError } from "./errors.ts";

/** Describes the state of a file after an interruption. */
export const notWritten = (path: string): string =>
  `${path} was not written${existsSync(path) ? "; the existing file is unchanged" : ""}`;

/** Compressors by file extension. */
const COMPRESSORS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  ".gz": gzipSync,
  ".zst": zstdCompressSync,
};
/** Extensions of compressed files that cannot be written. */
const OTHER_ENDING = /\.(br|bz2|xz|lzma|lz|lz4|sz|z|zip|7z|tgz|tzst)$/i;
const MEMBER_BYTES = 1 << 20;

/** @throws BulkError if the name belongs to a compressed file that cannot be written */
function compressorOf(path: string): ((bytes: Uint8Array) => Uint8Array) | undefined {
  const [ending] = /\.[^.]*$/.exec(basename(path)) ?? [""];
  if (OTHER_ENDING.test(ending))
    throw new BulkError(
      `${path}: files that end in ${ending} cannot be written`,
      "use a name that ends in .gz or .zst for a compressed file, or another name for a plain file",
      true,
    );
  return COMPRESSORS[ending.toLowerCase()];
}

export class PartialFile {
  readonly path: string;
  /** Number of bytes in the file so far. */
  bytes = 0;
  private readonly compress: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Data that has not been compressed yet. */
  private readonly held = new ByteBuffer(1 << 12);
  private readonly file: AtomicFile;
  /** Removes the partial file if the process exits early. */
  private readonly onExit = () => this.discard();

  /**
   * @param isNamed whether the user named the path. If the program chose the name in a folder, a link there is
   *   replaced, because another user may have placed it
   * @throws BulkError if the name belongs to anything but a file, or to a compressed file that cannot be written
   */
  constructor(path: string, isNamed = true) {
    this.compress = compressorOf(path);
    const target = isNamed ? prepareOutput(path) : path;
    if (target === undefined)
      throw new BulkError(`${path} is not a regular file`, `use --out - and redirect it: … > ${path}`, true);
    const before = statSync(path, { throwIfNoEntry: false });
    if (before?.isDirectory()) {
      throw new BulkError(`${path} is a folder`, "name a file to write");
    }
    this.path = path;
    // A file that replaces another one must not become readable by more users, because it may contain visitors'
    // addresses.
    this.file = new AtomicFile(target, before?.isFile() ? before.mode & PUBLIC_FILE : PUBLIC_FILE, "process");
    process.once("exit", this.onExit);
  }

  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    if (this.compress === undefined) {
      this.store(bytes);
      return;
    }
    this.held.append(bytes);
    if (this.held.length >= MEMBER_BYTES) this.storeHeld(this.compress);
  }

  /** Completes the file. A full disk causes an error here rather than in {@link finish}. */
  flush(): void {
    // Even an empty gzip file needs at least one member.
    if (this.compress !== undefined && (this.held.length > 0 || this.bytes === 0))
      this.storeHeld(this.compress);
    this.file.flush();
  }

  /** Moves the file to its final name. */
  finish(): void {
    this.flush();
    this.file.commit();
    process.off("exit", this.onExit);
  }

  private store(bytes: Uint8Array): void {
    this.file.write(bytes);
    this.bytes += bytes.length;
  }

  private storeHeld(compress: (bytes: Uint8Array) => Uint8Array): void {
    this.store(compress(this.held.bytes.subarray(0, this.held.length)));
    this.held.length = 0;
  }

  /** Removes the partial file. Has no effect after {@link finish}. */
  discard(): void {
    this.file.discard();
    process.off("exit", this.onExit);
  }
}
