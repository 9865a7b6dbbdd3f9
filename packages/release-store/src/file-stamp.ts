// file-stamp.ts: a text that changes if a file is written to or replaced. Creating it does not require reading the
// file.
//
// why  The stamp does not include ctime, because a backup with hard links changes it.

import { statSync } from "node:fs";

/** The stamp of a file that does not exist. */
export const NO_FILE = "-";

/** @returns the stamp, or the error code if the file cannot be inspected */
export function fileStamp(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? NO_FILE : `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}

/**
 * Returns whether the file with this stamp was removed or written to. If a different file replaced it, the result is
 * false, because the old file is unchanged and remains mapped.
 */
export function isRewritten(before: string, now: string): boolean {
  return now === NO_FILE || (now !== before && now.split(":")[0] === before.split(":")[0]);
}
