// process-start.ts: does the process that left something in the data folder still run?

import { readFileSync } from "node:fs";

/** A zombie: it has ended, and its parent has not read its exit status. */
const ENDED = "ended";

/** When a process started, in ticks since the machine did; undefined if the system has no /proc. */
export function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // not Linux, or just ended: kill() reports that
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  return fields[0] === "Z" || fields[0] === "X" ? ENDED : fields[19];
}

/** Whether it is the same running process: ids are reused, at once in a restarted container. */
export function isAtWork(pid: number, started: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const start = startOf(pid);
  return start === undefined || (start !== ENDED && (started === "" || start === started));
}
