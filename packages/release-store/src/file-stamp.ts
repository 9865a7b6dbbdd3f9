// file-stamp.ts: text that changes when the file at a path is replaced, without reading it.

import { statSync } from "node:fs";

export function fileStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "-" : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}
