// lock.ts: one build at a time in a data folder.

import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PRIVATE_FILE, temporaryPath } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";
import { isAtWork, startOf } from "./process-start.ts";

export class DataFolderLocked extends Error {
  override readonly name = "DataFolderLocked";
}

/**
 * Locks the folder for one build. A lock whose process is gone is taken over.
 * @returns unlocks it
 * @throws DataFolderLocked when another build is at work in it
 */
export function lockDataFolder(dataDir: string): () => void {
  const path = join(dataDir, DATA_FOLDER.lock);
  // Linked into place with its content, so that a lock never exists without its process id.
  const own = temporaryPath(path);
  try {
    writeFileSync(own, `${process.pid} ${startOf(process.pid) ?? ""}`, { mode: PRIVATE_FILE });
    for (let attempt = 0; ; attempt++) {
      try {
        linkSync(own, path);
        return () => rmSync(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || attempt === 1) throw error;
        const [pid = "", started = ""] = readFileSync(path, "utf8").split(" ");
        if (isAtWork(Number(pid), started)) {
          throw new DataFolderLocked(
            `another build is at work in ${dataDir} (process ${pid}; if it is not, delete ${path})`,
          );
        }
        rmSync(path, { force: true });
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
}
