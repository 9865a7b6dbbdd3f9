// lock.ts: one build at a time in a data folder.

import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TEMPORARY } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";

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
  const own = join(dataDir, `${TEMPORARY}${process.pid}-${DATA_FOLDER.lock}`);
  writeFileSync(own, `${process.pid} ${startOf(process.pid) ?? ""}`);
  try {
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

/** Whether it is the same running process: ids are reused, at once in a restarted container. */
function isAtWork(pid: number, started: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const start = startOf(pid);
  return start === undefined || (start !== ENDED && (started === "" || start === started));
}

/** A zombie: it has ended, and its parent has not read its exit status. */
const ENDED = "ended";

/** When a process started, in ticks since the machine did; undefined where the system has no /proc. */
function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // not Linux, or just ended: kill() reports that
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  return fields[0] === "Z" || fields[0] === "X" ? ENDED : fields[19];
}
