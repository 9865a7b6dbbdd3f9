// atomic-file.ts: writes a file completely or not at all: temporary name, fsync, rename, fsync of the folder.
//
// write-file-atomic does not flush the folder after the rename. It also cannot stream, which exports need.

import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { giveToFolderOwner } from "./layout.ts";

/**
 * Prefix of temporary files. They are never read. If a process is killed, the next build removes the temporary files of
 * that process from the data folder, and {@link prepareOutput} removes those of a file that the user named.
 */
export const TEMPORARY = ".tmp-";
const OWNED = /^\.tmp-(\d+)(?:\.(\d*))?-/;
/** A copy under a temporary name has temporary files too, whose names have the prefix twice. */
const PREFIXES = /^(?:\.tmp-\d+(?:\.\d*)?-)+/;

/** Milliseconds after the last write from which a temporary file beside a file that the user named may be removed. */
const LEFTOVER_MS = 3_600_000;

/** Returns the temporary name under which this process writes a file. */
export function temporaryPath(path: string): string {
  return join(dirname(path), `${TEMPORARY}${process.pid}.${startOf(process.pid) ?? ""}-${basename(path)}`);
}

/** Returns whether this is a temporary file whose process has exited. Such a file is never completed. */
export function isLeftover(file: string): boolean {
  const [, pid, started = ""] = OWNED.exec(file) ?? [];
  return pid !== undefined && !isAtWork(Number(pid), started);
}

/**
 * Prepares to replace a file that the user named: finds the file behind symbolic links, because a rename would replace
 * the link, and removes what killed processes left of this file.
 * @returns the path to write to, or undefined for a device, a FIFO, a socket or another process's file
 */
export function prepareOutput(path: string): string | undefined {
  const known = statSync(path, { throwIfNoEntry: false });
  if (known !== undefined && !known.isFile() && !known.isDirectory()) return undefined;
  let target = path;
  while (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const folder = realpathSync(dirname(target));
    if (folder.startsWith("/proc/")) return undefined; // /dev/stdout: its file is already open
    target = resolve(folder, readlinkSync(target));
  }
  removeLeftovers(target);
  return target;
}

function removeLeftovers(path: string): void {
  const folder = dirname(path);
  try {
    for (const file of readdirSync(folder))
      if (file.replace(PREFIXES, "") === basename(path) && isLeftover(file) && isOld(join(folder, file)))
        rmSync(join(folder, file));
  } catch {
    // a leftover of another user, or a folder that cannot be listed: the new file does not depend on it
  }
}

/** A process of another container, whose id means nothing here, may still write to a file that has just changed. */
const isOld = (path: string) => Date.now() - statSync(path).mtimeMs > LEFTOVER_MS;

/** Mode of files in the data folder. */
export const PRIVATE_FILE = 0o640;
/** Mode of files that other users and programs read. */
export const PUBLIC_FILE = 0o644;
/** Maximum number of bytes per write. Linux writes at most 2 GiB in one call. */
const MAX_WRITE = 1 << 26;

/**
 * Who owns a file that root writes: the owner of its folder, as for all files in the data folder, or root, as for
 * secrets that an operator writes elsewhere.
 */
export type Owner = "folder" | "process";

export class AtomicFile {
  readonly path: string;
  private readonly temporary: string;
  private descriptor: number | undefined;

  constructor(path: string, mode = PRIVATE_FILE, owner: Owner = "folder") {
    this.path = path;
    this.temporary = temporaryPath(path);
    rmSync(this.temporary, { force: true });
    // "wx" never follows a link that another user may have placed under this name.
    this.descriptor = openSync(this.temporary, "wx", mode);
    if (owner === "folder") giveToFolderOwner(this.descriptor, this.temporary);
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

  /** Moves the file to its final name. @param modified the file's modification time; by default now */
  commit(modified?: Date): void {
    this.naming(() => {
      this.flush();
      if (modified !== undefined) utimesSync(this.temporary, modified, modified);
      renameSync(this.temporary, this.path);
      syncFolder(dirname(this.path)); // a rename survives a power cut only once its folder is flushed
    });
  }

  /** Does the same as {@link commit}, but keeps a file that already has the name. @returns false if there is one */
  commitUnlessThere(): boolean {
    try {
      this.naming(() => {
        this.flush();
        linkSync(this.temporary, this.path);
        syncFolder(dirname(this.path));
      });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return false;
    } finally {
      this.discard();
    }
  }

  /** Flushes the file to the disk, so that a full disk causes an error here and not in {@link commit}. */
  flush(): void {
    this.naming(() => {
      if (this.descriptor !== undefined) fsyncSync(this.descriptor);
      this.close();
    });
  }

  /** Removes the temporary file. Has no effect after {@link commit}. */
  discard(): void {
    this.close();
    rmSync(this.temporary, { force: true });
  }

  private close(): void {
    const { descriptor } = this;
    this.descriptor = undefined; // also if closing fails, as it can on a full remote disk
    if (descriptor !== undefined) closeSync(descriptor);
  }

  /** Adds the path to errors, because errors of descriptors do not contain it. */
  private naming(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof Error && "syscall" in error) (error as NodeJS.ErrnoException).path ??= this.path;
      throw error;
    }
  }
}

/** Writes a whole file, and replaces an existing file with this name. */
export function replaceFile(
  path: string,
  chunks: Iterable<Uint8Array | string>,
  {
    mode,
    modified,
    owner,
  }: { readonly mode?: number; readonly modified?: Date; readonly owner?: Owner } = {},
): void {
  const file = new AtomicFile(path, mode, owner);
  try {
    for (const chunk of chunks) file.write(chunk);
    file.commit(modified);
  } catch (error) {
    file.discard();
    throw error;
  }
}

/** Writes a whole file, unless a file has this name. @returns false if there is one */
export function createFile(path: string, content: string, mode?: number): boolean {
  const file = new AtomicFile(path, mode);
  try {
    file.write(content);
    return file.commitUnlessThere();
  } finally {
    file.discard();
  }
}

/** Does the same as {@link replaceFile}, with a value as indented JSON and a line feed at the end. */
export function replaceJson(path: string, value: unknown): void {
  replaceFile(path, [`${JSON.stringify(value, null, 2)}\n`]);
}

/** Flushes a folder, so that a file that was created or renamed in it survives a power cut. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Marks a zombie: a process that has exited, but whose exit status the parent has not read yet. */
const ENDED = "ended";

/**
 * Returns when a process started, in ticks since the machine booted, or {@link ENDED} for a zombie; undefined if the
 * process has exited or the system has no /proc.
 */
export function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // not Linux, or the process has just exited, in which case kill() reports that
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the process name may itself contain spaces
  return fields[0] === "Z" || fields[0] === "X" ? ENDED : fields[19];
}

/**
 * Returns whether this process is still running. Also compares the start time, because process ids are reused, in a
 * restarted container even immediately.
 */
export function isAtWork(pid: number, started: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const start = startOf(pid);
  return start === undefined || (start !== ENDED && (started === "" || start === started));
}
