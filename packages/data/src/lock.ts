// lock.ts: a lock that allows one build at a time in a data folder.

import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { createFile, isAtWork, replaceFile, startOf } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";

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
  const content = `${process.pid} ${startOf(process.pid) ?? ""}`;
  for (let attempt = 1; !(createFile(path, content) || takeOver(path, content)); attempt++)
    if (attempt === MAX_ATTEMPTS) throw new DataFolderLocked(`${path} changes all the time`);
  return () => {
    if (findContent(path) === content) rmSync(path, { force: true });
  };
}

/** Replaces the lock of a process that has exited. @returns false if another process was faster */
function takeOver(path: string, content: string): boolean {
  const found = findContent(path);
  if (found === undefined) return false;
  const [pid = "", started = ""] = found.split(" ");
  if (isAtWork(Number(pid), started)) {
    throw new DataFolderLocked(`another build is running in ${dirname(path)} (process ${pid})`);
  }
  // Only one process may do this at a time, because a second one would replace the lock that the first has just placed.
  // If a process dies at this point, its takeover lock is taken over in the same way.
  const unlock = lockFile(`${path}.takeover`);
  try {
    if (findContent(path) !== found) return false;
    replaceFile(path, [content]);
    return true;
  } finally {
    unlock();
  }
}

function findContent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
