// snapshot-file.ts: what the database holds, as a file in the data folder, for a start while the database is unreachable.
//
// in   a text, and a stamp that changes with it
// out  the file, replaced by rename, so that a process that starts reads the old one or the new one; when it was confirmed last
// err  none: what cannot be read or written is reported, once for each reason, and written with the next call

import { readFileSync, statSync, utimesSync } from "node:fs";
import { basename } from "node:path";
import { messageOf, replaceFile } from "@inkling/release-store";
import type { EpochMs } from "./key.ts";

/** Hashes and notes: for this user and group. */
const MODE = 0o640;
/** A file that is still right gets a new time this often. */
const CONFIRM_MS = 60_000;

interface SnapshotFileOptions {
  readonly path: string;
  readonly now: () => EpochMs;
  readonly onFailure: (reason: string) => void;
}

export class SnapshotFile {
  private readonly options: SnapshotFileOptions;
  private savedStamp: string | undefined;
  private confirmedAt: EpochMs = Number.NEGATIVE_INFINITY;
  private lastFailure: string | undefined;

  constructor(options: SnapshotFileOptions) {
    this.options = options;
  }

  /** @param parse throws for a text that is none. @returns undefined when there is no file, or none that can be read */
  read<T extends { readonly stamp: string }>(
    parse: (text: string) => T,
  ): { readonly value: T; readonly ageMs: number } | undefined {
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

  /** The database holds this now. */
  save(stamp: string, text: () => string): void {
    const { path, now } = this.options;
    const sinceConfirmed = now() - this.confirmedAt;
    if (stamp === this.savedStamp && sinceConfirmed >= 0 && sinceConfirmed < CONFIRM_MS) return;
    try {
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

/** @returns false when there is no such file */
function touch(path: string, time: Date): boolean {
  try {
    utimesSync(path, time, time);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
