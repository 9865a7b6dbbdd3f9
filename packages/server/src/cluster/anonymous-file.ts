// anonymous-file.ts: a file in memory that is unlinked as soon as it is open: whoever inherits its descriptor shares it.

import { openSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where it lies in memory, if there is such a folder, and where else. */
export const SHARED_FOLDERS: readonly string[] = ["/dev/shm", tmpdir()];

/** @throws node:fs errors */
export function openNamelessFile(folder: string): number {
  const path = join(folder, `inkling-${process.pid}-${crypto.randomUUID()}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}
