// file-stamp.ts: a text that changes if a file is written to or replaced. Creating it does not require reading the
// file.
//
// The stamp does not include ctime, because a backup with hard links changes it.

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
