// snapshot-file.ts: a copy of database content in the data folder. A server starts from it if the database is
// unreachable, or empty because a volume was lost or the address is wrong.
//
// in   the content, and a version that changes with the content
// out  the file, and the time when it was last confirmed. The file is replaced by rename, so a starting process reads
//      either the old or the new one. The file is moved aside if the new content shares nothing with it, because the
//      database may be the wrong one, or if the database went back to an earlier state that lacks an entry of the file.
// err  none: a failure to read or write is reported once for each reason, and the next call writes again

import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { basename } from "node:path";
import { replaceFile } from "../atomic-file.ts";
import { messageOf } from "../error-message.ts";
import { isEmptyStamp, type Loaded } from "./loaded.ts";

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
  readonly print: (loaded: Loaded<T>) => string;
  /**
   * Returns what to append to a file that has the version `from`, so that a small change of a large value does not write
   * all of it; undefined if the difference is unknown.
   */
  readonly changeOf?: (loaded: Loaded<T>) => SnapshotChange | undefined;
  /** Returns the ids of everything that exists only in the database and possibly in this file. */
  readonly idsOf: (value: T) => Iterable<string>;
  /** Returns when the database was last found to have gone back to an earlier state, in epoch ms. */
  readonly wentBackAt?: () => number | undefined;
  /** Called after the file was moved aside. @param file its new path */
  readonly onMovedAside?: (file: string) => void;
}

interface SnapshotChange {
  readonly from: string;
  readonly text: string;
  /** The ids that `idsOf` no longer returns, and those that it returns now. */
  readonly removed: Iterable<string>;
  readonly added: Iterable<string>;
}

export interface Saved<T> extends Loaded<T> {
  /** Milliseconds since the file was last confirmed. */
  readonly ageMs: number;
}

export class SnapshotFile<T> {
  private readonly options: SnapshotFileOptions<T>;
  /** The content of the file. */
  private saved: { readonly version: string; readonly ids: Set<string> } | undefined;
  /** Characters that were written as a whole, and appended since then. */
  private written = 0;
  private appended = 0;
  private isRead = false;
  /** Was the file saved from the current database, and has that database not been found empty since? */
  private isFromHere = false;
  private confirmedAt: number = Number.NEGATIVE_INFINITY;
  /** Epoch ms when this process or an earlier one last saved or confirmed the file. */
  private savedAt: number = Number.NEGATIVE_INFINITY;
  private lastFailure: string | undefined;

  constructor(options: SnapshotFileOptions<T>) {
    this.options = options;
  }

  /** @returns undefined if the file does not exist or cannot be read */
  read(): Saved<T> | undefined {
    const { path, now, parse } = this.options;
    this.isRead = true;
    try {
      const loaded = parse(readFileSync(path, "utf8"));
      this.saved = this.contentOf(loaded);
      this.savedAt = statSync(path).mtimeMs;
      return { ...loaded, ageMs: Math.max(0, now() - this.savedAt) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.report(error);
      return undefined;
    }
  }

  /** Call this if the database was found empty. The next content may come from a different database. */
  keep(): void {
    this.isFromHere = false;
  }

  /** Saves the current content of the database. If a database has never had any content, nothing is saved. */
  save(loaded: Loaded<T>): void {
    const { path, now, print } = this.options;
    const { version } = loaded;
    if (isEmptyStamp(version)) return;
    const sinceConfirmed = now() - this.confirmedAt;
    if (version === this.saved?.version && sinceConfirmed >= 0 && sinceConfirmed < CONFIRM_MS) return;
    if (!this.isRead) this.read();
    const isSame = version === this.saved?.version;
    try {
      if (!isSame && this.append(loaded)) return;
      const next = isSame ? this.saved! : this.contentOf(loaded);
      // The file is read again first, because another server on this data folder may have saved it.
      if (this.wouldBeLost(next.ids) && this.read() !== undefined && this.wouldBeLost(next.ids))
        this.moveAside();
      if (!isSame || !touch(path, new Date(now()))) {
        const text = print(loaded);
        replaceFile(path, [text], { mode: MODE, modified: new Date(now()) });
        this.written = text.length;
        this.appended = 0;
      }
      this.saved = next;
      this.isFromHere = true;
      this.confirmedAt = now();
      this.savedAt = this.confirmedAt;
      this.lastFailure = undefined;
    } catch (error) {
      this.report(error);
    }
  }

  /**
   * Appends a change, if the file is as this process wrote it and loses nothing. The file is written again when it has
   * doubled.
   * @returns whether the change was appended
   */
  private append(loaded: Loaded<T>): boolean {
    const { saved, isFromHere, options } = this;
    const change = options.changeOf?.(loaded);
    if (change === undefined || saved === undefined || !isFromHere || change.from !== saved.version)
      return false;
    if (this.appended + change.text.length > this.written) return false;
    const added = new Set(change.added);
    const missing = [...new Set(change.removed)].filter((id) => saved.ids.has(id) && !added.has(id));
    if (this.isLoss(missing.length, added.size)) return false;
    if (!isThere(() => appendDurably(options.path, change.text))) return false;
    this.appended += change.text.length;
    for (const id of change.removed) saved.ids.delete(id);
    for (const id of added) saved.ids.add(id);
    this.saved = { version: loaded.version, ids: saved.ids };
    this.confirmedAt = options.now();
    this.savedAt = this.confirmedAt;
    this.lastFailure = undefined;
    return true;
  }

  private contentOf({ version, value }: Loaded<T>) {
    return { version, ids: new Set(this.options.idsOf(value)) };
  }

  /**
   * Returns whether saving would lose entries that nobody removed. Since the database went back, that is any missing
   * entry. Otherwise it is everything in the file at once. If the file came from this database, an empty database is
   * then fine, because the last row may have been removed.
   */
  private wouldBeLost(ids: ReadonlySet<string>): boolean {
    const missing = [...(this.saved?.ids ?? [])].filter((id) => !ids.has(id));
    return this.isLoss(missing.length, ids.size);
  }

  /** @param left the number of entries if all that the file has are missing */
  private isLoss(missing: number, left: number): boolean {
    const { saved, isFromHere, savedAt } = this;
    if (saved === undefined || missing === 0) return false;
    const wentBackAt = this.options.wentBackAt?.();
    if (wentBackAt !== undefined && wentBackAt > savedAt) return true;
    return missing === saved.ids.size && !(isFromHere && left === 0);
  }

  /**
   * Renames the file to `keys.before.json`, `keys.before-2.json` and so on. Never replaces a file that was moved earlier.
   */
  private moveAside(): void {
    const { path, onMovedAside } = this.options;
    const asideAt = (n: number) => path.replace(/(\.json)?$/, `.before${n > 1 ? `-${n}` : ""}.json`);
    let n = 1;
    while (existsSync(asideAt(n))) n++;
    if (isThere(() => renameSync(path, asideAt(n)))) onMovedAside?.(asideAt(n));
  }

  private report(error: unknown): void {
    const reason = `${basename(this.options.path)}: ${messageOf(error)}`.slice(0, 500);
    if (reason === this.lastFailure) return;
    this.lastFailure = reason;
    this.options.onFailure(reason);
  }
}

/** @throws ENOENT if the file does not exist */
function appendDurably(path: string, text: string): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(file, text);
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
