// layout.ts: paths in the data folder (docs/data-folder.md).

import { mkdirSync } from "node:fs";
import { join } from "node:path";

export const DATA_FOLDER = {
  feeds: "feeds",
  segments: "segments",
  releases: "releases",
  current: "current",
  /** Names the pinned release, which remains in use as long as this file exists. */
  pinned: "pinned",
  /** Names of the releases in the order of their publication. */
  published: "published",
  lock: "build.lock",
  feedsReport: "feeds/report.json",
  /** The manifest of the release that waits for the operator. */
  heldRelease: "releases/held.json",
  /** Which feeds are turned on or off. */
  feedChoice: "feeds.json",
  /** Copies of the active keys, as hashes, of the overrides and of the ruleset, for a start while the database is unreachable. */
  keys: "keys.json",
  overrides: "overrides.json",
  ruleset: "ruleset.json",
  /** Keys and admin token of the first run, if no terminal showed them. */
  firstKeys: "first-keys.txt",
  /** Revocations that the database could not take yet. */
  revocations: "revocations",
  /** What is known of the database's history: does it go back? */
  databaseHistory: "database-history.json",
  /** What is kept of the last build beyond its release. */
  lastBuild: "last-build.json",
  /** The last version of the channel that was taken, its ruleset, and this server's id in its roll-outs. */
  channel: "channel.json",
  channelRuleset: "channel-ruleset.json",
  /** The last one of the channel that could be evaluated. */
  appliedRuleset: "applied-ruleset.json",
  channelReport: "channel-report.json",
  serverId: "server-id",
  hosts: "hosts",
  /** Entries of the audit trail that the database could not take yet. */
  waitingEntries: "audit-waiting",
  /** The settings that the server of this port, or the builder, went by last. */
  knownSettings: (role: string) => `settings/${role}.json`,
  database: "inkling.db",
  segmentFile: (sha256: string) => `segments/${sha256}.seg`,
  /** Says that this file was read in full and found sound (verified.ts). */
  verifiedMark: (sha256: string) => `segments/${sha256}.verified`,
  /** That mark, while a process tries the file that may die of it. */
  suspendedMark: (sha256: string) => `segments/${sha256}.suspended`,
  releaseFile: (name: string) => `releases/${name}.json`,
} as const;

/** Makes a folder of the data folder, or that itself, for this user and group; one that exists remains as it is. */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o750 });
}

/** Creates the folder and its subfolders. */
export function prepareDataFolder(dataDir: string): void {
  for (const part of [DATA_FOLDER.feeds, DATA_FOLDER.segments, DATA_FOLDER.releases]) {
    makeFolder(join(dataDir, part));
  }
}
