// snapshot-file.ts: what the database holds, as a file in the data folder, for a start while the database is unreachable,
// or found empty: a lost volume, another address.
//
// in   a text, and a stamp that changes with it
// out  the file, replaced by rename, so that a process that starts reads the old one or the new one; when it was confirmed last
// err  none: what cannot be read or written is reported, once for each reason, and written with the next call

import { readFileSync, renameSync, statSync, utimesSync } from "node:fs";
import { basename } from "node:path";
import { messageOf, replaceFile } from "@inkling/release-store";
import type { EpochMs } from "./key.ts";

/** Hashes and notes: for this user and group. */
const MODE = 0o640;
/** A file that is still right gets a new time this often. */
const CONFIRM_MS = 60_000;

/** Stamps of tables in which nothing was ever made, or that were emptied by hand. */
const EMPTY_STAMPS = ["new", ""];
export const isEmptyStamp = (stamp: string) => EMPTY_STAMPS.includes(stamp);

/** The database is empty in the place of one that was not: what is known stays in force. */
export class EmptyDatabaseError extends Error {
  /** How much of what is missing is known. */
  readonly known: number;
  constructor(known: number, what: string) {
    super(`the database never had ${what}, ${known} are known: is it the right one?`);
    this.name = "EmptyDatabaseError";
    this.known = known;
  }
}

interface SnapshotFileOptions {
  readonly path: string;
  readonly now: () => EpochMs;
  readonly onFailure: (reason: string) => void;
}

export interface SavedCopy<T> {
  readonly value: T;
  /** Since it was confirmed. */
  readonly ageMs: number;
}

export class SnapshotFile {
  private readonly options: SnapshotFileOptions;
  private savedStamp: string | undefined;
  private confirmedAt: EpochMs = Number.NEGATIVE_INFINITY;
  private lastFailure: string | undefined;
  private isKept = false;

  constructor(options: SnapshotFileOptions) {
    this.options = options;
  }

  /** @param parse throws for a text that is none. @returns undefined when there is no file, or none that can be read */
  read<T extends { readonly stamp: string }>(parse: (text: string) => T): SavedCopy<T> | undefined {
    const { path, now } = this.options;
    try {
      const value = parse(readFileSync(path, "utf8"));
      this.savedStamp = value.stamp;
      return { value, ageMs: Math.max(0, now() - statSync(path).mtimeMs) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.report(error);
      return undefined;
    }
  }

  /** What the file has is moved to `.before.json` when something else is saved: the database may be the wrong one. */
  keep(): void {
    this.isKept = true;
  }

  /** The database holds this now. */
  save(stamp: string, text: () => string): void {
    const { path, now } = this.options;
    const sinceConfirmed = now() - this.confirmedAt;
    if (stamp === this.savedStamp && sinceConfirmed >= 0 && sinceConfirmed < CONFIRM_MS) return;
    try {
      if (this.isKept && stamp !== this.savedStamp) moveAside(path);
      this.isKept = false;
      if (stamp !== this.savedStamp || !touch(path, new Date(now()))) {
        replaceFile(path, [text()], { mode: MODE, modified: new Date(now()) });
      }
      this.savedStamp = stamp;
      this.confirmedAt = now();
      this.lastFailure = undefined;
    } catch (error) {
      this.report(error);
    }
  }

  private report(error: unknown): void {
    const reason = `${basename(this.options.path)}: ${messageOf(error)}`.slice(0, 500);
    if (reason === this.lastFailure) return;
    this.lastFailure = reason;
    this.options.onFailure(reason);
  }
}

const moveAside = (path: string) =>
  isThere(() => renameSync(path, path.replace(/(\.json)?$/, ".before.json")));

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
