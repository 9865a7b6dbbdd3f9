// errors.ts: the message of any error, and what to do if a data folder has no usable release. A host that follows a
// channel builds nothing, so its remedies are on the host that builds.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "./layout.ts";

export const ON_BUILDER =
  "on the host that builds, run `inkling data update`, then `inkling channel publish`";
export const FETCH_AGAIN =
  "the server fetches it from the channel again; if none is running, start `inkling serve`";

/** Does a server on this data folder take its releases from a channel? Only such a server writes the report. */
const followsChannel = (dataDir: string): boolean => existsSync(join(dataDir, DATA_FOLDER.channelReport));

/** How to get the first release. */
export const buildHint = (dataDir: string): string =>
  followsChannel(dataDir)
    ? "`inkling serve` fetches one from the channel"
    : "build one with `inkling data update`";

/** How to replace the damaged files of a release. */
export const rebuildHint = (dataDir: string): string =>
  followsChannel(dataDir) ? FETCH_AGAIN : "run `inkling data update`, which rebuilds the damaged files";

/** How to get a release that this version of Inkling can read. */
export const otherVersionHint = (dataDir: string): string =>
  followsChannel(dataDir)
    ? "run the same version of Inkling on this host and on the publishing host"
    : "another version of Inkling built it: build a new release with `inkling data update`";

/** How to get a newer release. */
export const newReleaseHint = (dataDir: string): string =>
  followsChannel(dataDir) ? ON_BUILDER : "build a new release with `inkling data update`";

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
