// file-stamp.ts: text that changes whenever a file at a path is another one, without reading it.

import { statSync } from "node:fs";

export function fileStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "-" : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}
