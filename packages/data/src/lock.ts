// lock.ts: a lock that allows one build at a time in a data folder.

import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isAtWork, PRIVATE_FILE, startOf, temporaryPath } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";
import { giveToFolderOwner } from "./ownership.ts";

export class DataFolderLocked extends Error {
  override readonly name = "DataFolderLocked";
}

/** Maximum number of attempts to lock. An attempt fails if another process unlocks at the same time. */
const MAX_ATTEMPTS = 100;

/**
 * Locks the folder for one build. Takes over the lock of a process that has exited.
 * @returns a function that unlocks the folder
 * @throws DataFolderLocked if another build is running in the folder
 */
export function lockDataFolder(dataDir: string): () => void {
  return lockFile(join(dataDir, DATA_FOLDER.lock));
}

/** Finds the process that has locked the folder, and since when; undefined if the folder is not locked. */
export function findLock(dataDir: string): { readonly pid: number; readonly since: Date } | undefined {
  const path = join(dataDir, DATA_FOLDER.lock);
  try {
    const [pid = "", started = ""] = readFileSync(path, "utf8").split(" ");
    return isAtWork(Number(pid), started) ? { pid: Number(pid), since: statSync(path).mtime } : undefined;
  } catch {
    return undefined; // there is no lock, or it was just removed
  }
}

function lockFile(path: string): () => void {
  // The complete file is linked or renamed into place, so that a lock never exists without its process id.
  const own = temporaryPath(path);
  const content = `${process.pid} ${startOf(process.pid) ?? ""}`;
  try {
    writeNew(own, content);
    for (let attempt = 1; ; attempt++) {
      try {
        if (tryLink(own, path) || takeOver(own, path)) break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
  return () => {
    if (existsSync(path) && readFileSync(path, "utf8") === content) rmSync(path, { force: true });
  };
}

function writeNew(path: string, content: string): void {
  rmSync(path, { force: true });
  const file = openSync(path, "wx", PRIVATE_FILE);
  try {
    giveToFolderOwner(file, path);
    writeFileSync(file, content);
  } finally {
    closeSync(file);
  }
}

/** @returns false if the lock already exists */
function tryLink(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Replaces the lock of a process that has exited. @returns false if another process was faster */
function takeOver(own: string, path: string): boolean {
  const found = readFileSync(path, "utf8");
  const [pid = "", started = ""] = found.split(" ");
  if (isAtWork(Number(pid), started)) {
    throw new DataFolderLocked(`another build is running in ${dirname(path)} (process ${pid})`);
  }
  // Only one process may do this at a time, because a second one would replace the lock that the first has just placed.
  // If a process dies at this point, its takeover lock is taken over in the same way.
  const unlock = lockFile(`${path}.takeover`);
  try {
    if (readFileSync(path, "utf8") !== found) return false;
    renameSync(own, path);
    return true;
  } finally {
    unlock();
  }
}
