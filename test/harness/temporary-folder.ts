// temporary-folder.ts: folders that are removed with the test file, or the test's program, that created them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-test-"));
  folders.push(folder);
  return folder;
}

/** Removes all folders. It retries, because a server that has just stopped may still write. */
export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

process.on("exit", removeTemporaryFolders);
