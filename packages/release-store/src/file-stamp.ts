// file-stamp.ts: text that changes when a file is written to or replaced, without reading it.
//
// why  without the time of its last change of state: a backup by hard links changes that

import { statSync } from "node:fs";

/** There is no such file. */
export const NO_FILE = "-";

/** @returns where the file cannot be looked at, the error's code */
export function fileStamp(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? NO_FILE : `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}

/** Was the file of this stamp removed or written to? One that another was put instead of was not: it is mapped still. */
export function isRewritten(before: string, now: string): boolean {
  return now === NO_FILE || (now !== before && now.split(":")[0] === before.split(":")[0]);
}
