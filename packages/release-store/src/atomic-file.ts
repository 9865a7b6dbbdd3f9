// atomic-file.ts: a file that appears whole or not at all: temporary name, fsync, rename, fsync of the folder.
//
// why  write-file-atomic does not flush the folder after the rename, and writes in one piece what exports stream
// err  errors of node:fs, with the path; the previous file is then unchanged

import { closeSync, fsyncSync, openSync, renameSync, rmSync, utimesSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAtWork, startOf } from "./process-start.ts";

/** Prefix of temporary files: never read, and removed by the next build after a kill. */
export const TEMPORARY = ".tmp-";
const OWNED = /^\.tmp-(\d+)(?:\.(\d*))?-/;

/** Under what name a file is written by this process. */
export function temporaryPath(path: string): string {
  return join(dirname(path), `${TEMPORARY}${process.pid}.${startOf(process.pid) ?? ""}-${basename(path)}`);
}

/** A temporary file whose process has ended: nobody will complete it. */
export function isLeftover(file: string): boolean {
  const [, pid, started = ""] = OWNED.exec(file) ?? [];
  return pid !== undefined && !isAtWork(Number(pid), started);
}

/** Of files in the data folder. */
export const PRIVATE_FILE = 0o640;
/** Of files for other users and programs. */
export const PUBLIC_FILE = 0o644;
/** Bytes for one write: Linux writes at most 2 GiB at once. */
const MAX_WRITE = 1 << 26;

export class AtomicFile {
  readonly path: string;
  private readonly temporary: string;
  private descriptor: number | undefined;

  constructor(path: string, mode = PRIVATE_FILE) {
    this.path = path;
    this.temporary = temporaryPath(path);
    // Never follows a link that another user placed under that name.
    rmSync(this.temporary, { force: true });
    this.descriptor = openSync(this.temporary, "wx", mode);
  }

  write(chunk: Uint8Array | string): void {
    if (this.descriptor === undefined) throw new Error(`${this.path} is closed`);
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    const { descriptor } = this;
    this.naming(() => {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(descriptor, bytes, at, Math.min(bytes.length - at, MAX_WRITE));
      }
    });
  }

  /** Puts the file under its name. @param modified its time of modification; now without */
  commit(modified?: Date): void {
    this.naming(() => {
      this.flush();
      if (modified !== undefined) utimesSync(this.temporary, modified, modified);
      renameSync(this.temporary, this.path);
      syncFolder(dirname(this.path)); // a rename survives a power cut only once its folder is flushed
    });
  }

  /** Brings what was written to the disk: what has no room there fails now, not at {@link commit}. */
  flush(): void {
    this.naming(() => {
      if (this.descriptor !== undefined) fsyncSync(this.descriptor);
      this.close();
    });
  }

  /** Removes what was written; without effect after {@link commit}. */
  discard(): void {
    this.close();
    rmSync(this.temporary, { force: true });
  }

  private close(): void {
    const { descriptor } = this;
    this.descriptor = undefined; // also when closing fails, as it may on a full disk of another machine
    if (descriptor !== undefined) closeSync(descriptor);
  }

  /** Errors of descriptors name no path. */
  private naming(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof Error && "syscall" in error) (error as NodeJS.ErrnoException).path ??= this.path;
      throw error;
    }
  }
}

/** Writes a whole file, replacing any under that name. */
export function replaceFile(
  path: string,
  chunks: readonly (Uint8Array | string)[],
  { mode, modified }: { readonly mode?: number; readonly modified?: Date } = {},
): void {
  const file = new AtomicFile(path, mode);
  try {
    for (const chunk of chunks) file.write(chunk);
    file.commit(modified);
  } catch (error) {
    file.discard();
    throw error;
  }
}

/** As {@link replaceFile}: a value as JSON, indented, and a line feed. */
export function replaceJson(path: string, value: unknown): void {
  replaceFile(path, [`${JSON.stringify(value, null, 2)}\n`]);
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
