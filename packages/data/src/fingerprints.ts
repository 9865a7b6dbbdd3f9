// fingerprints.ts: identifies contents by SHA-256 in lower-case hex, and detects changed files by inode, size and time,
// without reading them.

import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";

const BLOCK_BYTES = 1 << 20;

export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Hashes a file to its end, in pieces. @throws errors of node:fs */
export function hashFile(path: string): { readonly sha256: string; readonly bytes: number } {
  const file = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const block = new Uint8Array(BLOCK_BYTES);
    let bytes = 0;
    for (let read = readSync(file, block); read > 0; read = readSync(file, block)) {
      hash.update(block.subarray(0, read));
      bytes += read;
    }
    return { sha256: hash.digest("hex"), bytes };
  } finally {
    closeSync(file);
  }
}

/**
 * Returns a text that changes if a file is written to or replaced. It does not include ctime, because a backup with
 * hard links changes it.
 * @returns the stamp, or the error code if the file cannot be inspected
 */
export function fileStamp(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? "-" : `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}

/** What a file contains. The file is read again only if it has changed. */
export class StampedFile<T> {
  private readonly path: string;
  private readonly read: () => T;
  private stamp: string | undefined;
  private value: T | undefined;

  constructor(path: string, read: () => T) {
    this.path = path;
    this.read = read;
  }

  get current(): T | undefined {
    const stamp = fileStamp(this.path);
    if (stamp !== this.stamp) this.value = this.read();
    this.stamp = stamp;
    return this.value;
  }
}
