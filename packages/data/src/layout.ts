// layout.ts: paths in the data folder (docs/data-folder.md).

import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { giveFolderToOwner } from "./ownership.ts";

export const DATA_FOLDER = {
  feeds: "feeds",
  segments: "segments",
  releases: "releases",
  current: "current",
  /** The name of the pinned release. The release remains in use as long as this file exists. */
  pinned: "pinned",
  /** The names of all releases, in the order of their publication. */
  published: "published",
  lock: "build.lock",
  feedsReport: "feeds/report.json",
  /** The feeds that the operator has turned on or off. */
  feedChoice: "feeds.json",
  /**
   * Copies of the active keys (as hashes), the overrides and the ruleset, for starting without a reachable database.
   */
  keys: "keys.json",
  overrides: "overrides.json",
  ruleset: "ruleset.json",
  /** The keys and the admin token from the first run, if they were not shown on a terminal. */
  firstKeys: "first-keys.txt",
  /** The keys and admin tokens that this host refuses, whatever the database says. Backups contain this file. */
  revoked: "revoked",
  /** The key for hashing what a host remembers about visitors, unless a setting has it. Backups do not contain it. */
  memoryKey: "memory-key",
  /** Data about the last build that is not part of its release. */
  lastBuild: "last-build.json",
  /** The last version taken from the channel, and the channel's ruleset. */
  channel: "channel.json",
  channelRuleset: "channel-ruleset.json",
  /** The last ruleset from the channel that could be evaluated. */
  appliedRuleset: "applied-ruleset.json",
  channelReport: "channel-report.json",
  /** This server's id among the hosts of its group. */
  serverId: "server-id",
  /** When the server was started with the current release, to notice a release that crashes it. */
  starts: "starts.json",
  /** The settings that the server on this port, or the builder, last used. */
  knownSettings: (role: string) => `settings/${role}.json`,
  database: "inkling.db",
  segmentFile: (sha256: string) => `segments/${sha256}.seg`,
  releaseFile: (name: string) => `releases/${name}.json`,
} as const;

/**
 * Creates the data folder, or a folder in it, with access for this user and group. An existing folder keeps its mode.
 */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o750 });
  if (first === undefined) return;
  const created = [resolve(path)];
  while (created[0]!.length > resolve(first).length) created.unshift(dirname(created[0]!));
  created.forEach(giveFolderToOwner);
}

/** Creates the data folder and its subfolders. */
export function prepareDataFolder(dataDir: string): void {
  for (const part of [DATA_FOLDER.feeds, DATA_FOLDER.segments, DATA_FOLDER.releases]) {
    makeFolder(join(dataDir, part));
  }
}
