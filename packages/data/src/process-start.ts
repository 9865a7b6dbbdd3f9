// process-start.ts: finds out whether the process that left a file in the data folder is still running.

import { readFileSync } from "node:fs";

/** Marks a zombie: a process that has exited, but whose exit status the parent has not read yet. */
const ENDED = "ended";

/**
 * Returns when a process started, in ticks since the machine booted, or {@link ENDED} for a zombie; undefined if the
 * process has exited or the system has no /proc.
 */
export function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // not Linux, or the process has just exited, in which case kill() reports that
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the process name may itself contain spaces
  return fields[0] === "Z" || fields[0] === "X" ? ENDED : fields[19];
}

/**
 * Returns whether this process is still running. Also compares the start time, because process ids are reused, in a
 * restarted container even immediately.
 */
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
