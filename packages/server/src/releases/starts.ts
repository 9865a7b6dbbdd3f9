// starts.ts: counts the recent starts with one release. A release that crashes the server is noticed by the next
// starts, because a supervisor restarts the server.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, replaceJson } from "@inkling/data";
import { z } from "zod";

const WITHIN_MS = 60_000;
/** After so many starts within a minute, the release is verified before it answers. */
export const MAX_STARTS = 3;

const starts = z.object({ release: z.string(), at: z.array(z.number()) });

/**
 * Records that the server begins to answer from a release.
 * @param now epoch ms
 * @returns the number of earlier starts with this release within the last minute
 */
export function recordStart(dataDir: string, release: string, now: number): number {
  const path = join(dataDir, DATA_FOLDER.starts);
  const before = readStarts(path);
  const recent =
    before?.release === release ? before.at.filter((at) => at <= now && now - at < WITHIN_MS) : [];
  try {
    replaceJson(path, { release, at: [...recent, now].slice(-MAX_STARTS) });
  } catch {
    // the folder is not writable or full, so starts are not counted
  }
  return recent.length;
}

/** Forgets the starts, because the server stops without a crash. */
export function forgetStarts(dataDir: string): void {
  try {
    rmSync(join(dataDir, DATA_FOLDER.starts), { force: true });
  } catch {
    // the folder is not writable
  }
}

function readStarts(path: string): z.infer<typeof starts> | undefined {
  try {
    return starts.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined; // the first start, or a file that is damaged
  }
}
