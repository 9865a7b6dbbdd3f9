// temporary-folder.ts: folders that go away with the test file, or the program of a test, that made them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-test-"));
  folders.push(folder);
  return folder;
}

/** A server that has just stopped may still write: hence the retries. */
export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

process.on("exit", removeTemporaryFolders);
