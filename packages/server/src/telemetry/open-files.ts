// open-files.ts: compares the limit of open files with what many idle connections need.
//
// Bun has no connection limit, and closes idle connections after 8 to 13 s. At the limit of open files, it keeps
// answering existing connections, but accepts a new one, even from an operator, only when another one closes. So the
// limit must be far above the connections that the proxy allows.

import { readFileSync } from "node:fs";
import type { Log } from "./log.ts";

/** Connections that a server should be able to hold, and files that it opens otherwise. */
const CONNECTIONS = 4_096;
const OWN_FILES = 256;

/** @param limits the text of /proc/self/limits; undefined on systems other than Linux */
export function fewFiles(
  limits: string | undefined,
): { readonly limit: number; readonly least: number } | undefined {
  const limit = Number(/^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1] ?? Number.POSITIVE_INFINITY);
  const least = CONNECTIONS + OWN_FILES;
  return limit < least ? { limit, least } : undefined;
}

/** Logs a low limit of open files. */
export function warnOfFewFiles(log: Pick<Log, "error">): void {
  const found = fewFiles(readLimits());
  if (found !== undefined)
    log.error("few-open-files", {
      ...found,
      hint: "raise `ulimit -n`, or LimitNOFILE= in the unit, to 65536",
    });
}

function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined; // not Linux
  }
}
