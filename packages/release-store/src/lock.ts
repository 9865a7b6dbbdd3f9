// lock.ts: one build at a time in a data folder.

import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PRIVATE_FILE, temporaryPath } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";
import { isAtWork, startOf } from "./process-start.ts";

export class DataFolderLocked extends Error {
  override readonly name = "DataFolderLocked";
}

/** Each means that another process has unlocked in the meantime. */
const MAX_TRIES = 100;

/**
 * Locks the folder for one build. A lock whose process is gone is taken over.
 * @returns unlocks it
 * @throws DataFolderLocked when another build is at work in it
 */
export const lockDataFolder = (dataDir: string): (() => void) => lockFile(join(dataDir, DATA_FOLDER.lock));

function lockFile(path: string): () => void {
  // Linked or renamed into place with its content, so that a lock never exists without its process id.
  const own = temporaryPath(path);
  const content = `${process.pid} ${startOf(process.pid) ?? ""}`;
  try {
    writeFileSync(own, content, { mode: PRIVATE_FILE });
    for (let tries = 1; ; tries++) {
      try {
        if (tryLink(own, path) || takeOver(own, path)) break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries === MAX_TRIES) throw error;
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
  return () => {
    if (existsSync(path) && readFileSync(path, "utf8") === content) rmSync(path, { force: true });
  };
}

/** @returns false when there is a lock already */
function tryLink(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Replaces a lock whose process is gone. @returns false when another has done that meanwhile */
function takeOver(own: string, path: string): boolean {
  const found = readFileSync(path, "utf8");
  const [pid = "", started = ""] = found.split(" ");
  if (isAtWork(Number(pid), started)) {
    throw new DataFolderLocked(
      `another build is at work in ${dirname(path)} (process ${pid}; if it is not, delete ${path})`,
    );
  }
  // One at a time: a second one would replace the lock that the first has just placed. That of one that died of it is
  // taken over in the same way.
  const unlock = lockFile(`${path}.takeover`);
  try {
    if (readFileSync(path, "utf8") !== found) return false;
    renameSync(own, path);
    return true;
  } finally {
    unlock();
  }
}
