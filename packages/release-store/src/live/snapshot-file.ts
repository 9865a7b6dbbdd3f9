// snapshot-file.ts: what the database holds, as a file in the data folder, for a start while the database is unreachable,
// or found empty: a lost volume, another address.
//
// in   what it holds, and a version that changes with it
// out  the file, replaced by rename, so that a process that starts reads the old one or the new one; when it was confirmed
//      last. A file that shares nothing with what replaces it is moved aside: the database may be the wrong one
// err  none: what cannot be read or written is reported, once for each reason, and written with the next call

import { existsSync, readFileSync, renameSync, statSync, utimesSync } from "node:fs";
import { basename } from "node:path";
import { replaceFile } from "../atomic-file.ts";
import { messageOf } from "../error-message.ts";
import { isEmptyStamp, type Loaded } from "./loaded.ts";

/** Hashes and notes: for this user and group. */
const MODE = 0o640;
/** A file that is still right gets a new time this often. */
const CONFIRM_MS = 60_000;

interface SnapshotFileOptions<T> {
  readonly path: string;
  /** Epoch ms. */
  readonly now: () => number;
  readonly onFailure: (reason: string) => void;
  /** @throws for a text that is none */
  readonly parse: (text: string) => Loaded<T>;
  readonly print: (loaded: Loaded<T>) => string;
  /** Ids of all that only the database, or this file, can have. */
  readonly idsOf: (value: T) => Iterable<string>;
}

export interface Saved<T> extends Loaded<T> {
  /** Since it was confirmed. */
  readonly ageMs: number;
}

export class SnapshotFile<T> {
  private readonly options: SnapshotFileOptions<T>;
  /** What the file has. */
  private saved: { readonly version: string; readonly ids: ReadonlySet<string> } | undefined;
  private isRead = false;
  /** Was it saved from the database in use, which was not found empty since? */
  private isFromHere = false;
  private confirmedAt: number = Number.NEGATIVE_INFINITY;
  private lastFailure: string | undefined;

  constructor(options: SnapshotFileOptions<T>) {
    this.options = options;
  }

  /** @returns undefined if there is no file, or none that can be read */
  read(): Saved<T> | undefined {
    const { path, now, parse } = this.options;
    this.isRead = true;
    try {
      const loaded = parse(readFileSync(path, "utf8"));
      this.saved = this.contentOf(loaded);
      return { ...loaded, ageMs: Math.max(0, now() - statSync(path).mtimeMs) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.report(error);
      return undefined;
    }
  }

  /** The database was found empty: what comes from it next may be another one's. */
  keep(): void {
    this.isFromHere = false;
  }

  /** The database holds this now. Of one in which nothing was ever made, nothing is kept. */
  save(loaded: Loaded<T>): void {
    const { path, now, print } = this.options;
    const { version } = loaded;
    if (isEmptyStamp(version)) return;
    const sinceConfirmed = now() - this.confirmedAt;
    if (version === this.saved?.version && sinceConfirmed >= 0 && sinceConfirmed < CONFIRM_MS) return;
    if (!this.isRead) this.read();
    const isSame = version === this.saved?.version;
    try {
      const next = isSame ? this.saved! : this.contentOf(loaded);
      if (this.wouldBeLost(next.ids)) moveAside(path);
      if (!isSame || !touch(path, new Date(now()))) {
        replaceFile(path, [print(loaded)], { mode: MODE, modified: new Date(now()) });
      }
      this.saved = next;
      this.isFromHere = true;
      this.confirmedAt = now();
      this.lastFailure = undefined;
    } catch (error) {
      this.report(error);
    }
  }

  private contentOf({ version, value }: Loaded<T>) {
    return { version, ids: new Set(this.options.idsOf(value)) };
  }

  /** Has the file something, and nothing of it is left? The last one may have been removed, if it came from here. */
  private wouldBeLost(ids: ReadonlySet<string>): boolean {
    const { saved, isFromHere } = this;
    if (saved === undefined || saved.ids.size === 0 || (isFromHere && ids.size === 0)) return false;
    return [...saved.ids].every((id) => !ids.has(id));
  }

  private report(error: unknown): void {
    const reason = `${basename(this.options.path)}: ${messageOf(error)}`.slice(0, 500);
    if (reason === this.lastFailure) return;
    this.lastFailure = reason;
    this.options.onFailure(reason);
  }
}

/** To `keys.before.json`, `keys.before-2.json` and so on: what was moved there before remains. */
function moveAside(path: string): void {
  const asideAt = (n: number) => path.replace(/(\.json)?$/, `.before${n > 1 ? `-${n}` : ""}.json`);
  let n = 1;
  while (existsSync(asideAt(n))) n++;
  isThere(() => renameSync(path, asideAt(n)));
}

const touch = (path: string, time: Date) => isThere(() => utimesSync(path, time, time));

/** @returns false when there is no such file */
function isThere(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
