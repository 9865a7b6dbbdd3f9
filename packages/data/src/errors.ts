// errors.ts: the message of any error, and what to do if a data folder has no usable release. A host that follows a
// channel builds nothing, so its remedies are on the host that builds.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "./layout.ts";

/** What to do on a host that builds, and on a host that follows a channel. */
const REMEDIES = {
  /** There is no release yet. */
  none: ["build one with `inkling data update`", "`inkling serve` fetches one from the channel"],
  /** The files of a release are damaged. */
  damaged: [
    "run `inkling data update`, which rebuilds the damaged files",
    "the server fetches it from the channel again; if none is running, start `inkling serve`",
  ],
  /** This version of Inkling cannot read the release. */
  "other version": [
    "another version of Inkling built it: build a new release with `inkling data update`",
    "run the same version of Inkling on this host and on the publishing host",
  ],
  /** The release is too old. */
  old: [
    "build a new release with `inkling data update`",
    "on the host that builds, run `inkling data update`, then `inkling channel publish`",
  ],
} as const;

/** Does a server on this data folder take its releases from a channel? Only such a server writes the report. */
const followsChannel = (dataDir: string): boolean => existsSync(join(dataDir, DATA_FOLDER.channelReport));

/** @param follows whether the host follows a channel, if the settings show it */
export const remedyFor = (
  problem: keyof typeof REMEDIES,
  dataDir: string,
  follows = followsChannel(dataDir),
): string => REMEDIES[problem][follows ? 1 : 0];

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
