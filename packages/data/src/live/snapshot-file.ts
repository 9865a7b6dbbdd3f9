// snapshot-file.ts: a copy of database content in the data folder. A server starts from it if the database is
// unreachable, or empty because a volume was lost or the address is wrong.
//
// The file is replaced by rename, so a starting process reads either the old or the new one. A failure to read or write
// is reported once for each reason, and the next call writes again.

import {
  closeSync,
  constants,
  fdatasyncSync,
  openSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import { replaceFile } from "../atomic-file.ts";
import { messageOf } from "../errors.ts";

/** The file mode: only this user and group may read the hashes and notes. */
const MODE = 0o640;
/** Milliseconds after which the file gets a new modification time even though its content is still correct. */
const CONFIRM_MS = 60_000;

export interface SnapshotFileOptions<T> {
  readonly path: string;
  /** Epoch ms. */
  readonly now: () => number;
  readonly onFailure: (reason: string) => void;
  /** @throws Error if the text is not a snapshot */
  readonly parse: (text: string) => Loaded<T>;
  readonly print: (loaded: Loaded<T>) => string | Uint8Array;
  /**
   * Returns what to append to a file that has the version `from`, so that a small change of a large value does not
   * write all of it; undefined if the difference is unknown.
   */
  readonly changeOf?: (loaded: Loaded<T>) => SnapshotChange | undefined;
}

interface SnapshotChange {
  readonly from: string;
  readonly text: string | Uint8Array;
}

export interface Saved<T> extends Loaded<T> {
  /** Milliseconds since the file was last confirmed. */
  readonly ageMs: number;
}

export class SnapshotFile<T> {
  private readonly options: SnapshotFileOptions<T>;
  /** The version of the file's content. */
  private saved: string | undefined;
  /** Size of what was written as a whole, and appended since then. */
  private written = 0;
  private appended = 0;
  private confirmedAt: number = Number.NEGATIVE_INFINITY;
  private lastFailure: string | undefined;

  constructor(options: SnapshotFileOptions<T>) {
    this.options = options;
  }

  /** @returns undefined if the file does not exist or cannot be read */
  read(): Saved<T> | undefined {
    const { path, now, parse } = this.options;
    try {
      const loaded = parse(readFileSync(path, "utf8"));
      return { ...loaded, ageMs: Math.max(0, now() - statSync(path).mtimeMs) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.report(error);
      return undefined;
    }
  }

  /** Saves the current content of the database. If a database has never had any content, nothing is saved. */
  save(loaded: Loaded<T>): void {
    const { path, now, print } = this.options;
    const { version } = loaded;
    if (isEmptyStamp(version)) return;
    const sinceConfirmed = now() - this.confirmedAt;
    const isSame = version === this.saved;
    if (isSame && sinceConfirmed >= 0 && sinceConfirmed < CONFIRM_MS) return;
    try {
      if (isSame ? !touch(path, new Date(now())) : !this.append(loaded)) {
        const text = print(loaded);
        replaceFile(path, [text], { mode: MODE, modified: new Date(now()) });
        this.written = text.length;
        this.appended = 0;
      }
      this.saved = version;
      this.confirmedAt = now();
      this.lastFailure = undefined;
    } catch (error) {
      this.saved = undefined; // a part of the change may have been appended
      this.report(error);
    }
  }

  /**
   * Appends a change, if the file is as this process wrote it. The file is written again when it has doubled.
   * @returns whether the change was appended
   */
  private append(loaded: Loaded<T>): boolean {
    const change = this.options.changeOf?.(loaded);
    if (change === undefined || this.saved === undefined || change.from !== this.saved) return false;
    if (this.appended + change.text.length > this.written) return false;
    if (!isThere(() => appendDurably(this.options.path, change.text))) return false;
    this.appended += change.text.length;
    return true;
  }

  private report(error: unknown): void {
    const reason = `${basename(this.options.path)}: ${messageOf(error)}`.slice(0, 500);
    if (reason === this.lastFailure) return;
    this.lastFailure = reason;
    this.options.onFailure(reason);
  }
}

/** @throws ENOENT if the file does not exist */
function appendDurably(path: string, text: string | Uint8Array): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    writeFileSync(file, text);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

const touch = (path: string, time: Date) => isThere(() => utimesSync(path, time, time));

/** @returns false if the file does not exist */
function isThere(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** A value from its source. */
export interface Loaded<T> {
  /** The version, which changes whenever the value does. */
  readonly version: string;
  readonly value: T;
}

/** Stamps of tables that have never had a row, or that were emptied by hand. */
const EMPTY_STAMPS = ["new", ""];
export const isEmptyStamp = (stamp: string) => EMPTY_STAMPS.includes(stamp);
