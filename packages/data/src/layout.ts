// layout.ts: paths in the data folder (docs/data-folder.md), and who owns the files in it.
//
// If root runs one command in another user's data folder, that user must still be able to read the new files.

import { closeSync, constants, fchownSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

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

/**
 * Gives a file or folder that root has just created to the owner of the folder that contains it.
 * @param descriptor the open file or folder, so that no other user can put a link in its place
 */
export function giveToFolderOwner(descriptor: number, path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  const file = fstatSync(descriptor);
  if (uid === 0 || file.uid !== 0 || (file.isFile() && file.nlink !== 1)) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // In a container, root may lack this right. `inkling doctor` reports the file.
  }
}

/** Does the same as {@link giveToFolderOwner} for a new folder. */
function giveFolderToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    giveToFolderOwner(folder, path);
  } finally {
    closeSync(folder);
  }
}

/** Returns whether the system refused access to a file because of its owner or its mode. */
export function isDenied(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

/** Returns what to do if this user may not use the data folder or a file in it. In containers, users have no names. */
export function accessHint(dataDir: string): string {
  const user = process.geteuid?.();
  const owner = ownerOf(dataDir);
  if (owner === undefined) return `run as a user who may use the folder (this is user ${user})`;
  if (owner.path !== dataDir)
    return `run as the user who owns ${owner.path} (user ${owner.uid}; this is user ${user}), or choose another folder: --data-dir FOLDER`;
  if (owner.uid === user)
    return `run \`chown -R ${user} ${dataDir} && chmod -R u+rwX ${dataDir}\` as root: files in it belong to another user, or their mode is wrong`;
  return `run as the user who owns ${dataDir} (user ${owner.uid}; this is user ${user}), or run \`chown -R ${user} ${dataDir}\` as root`;
}

/** Returns the owner of a path, or of the nearest folder above it that exists and that this user may find. */
function ownerOf(path: string): { readonly path: string; readonly uid: number } | undefined {
  try {
    return { path, uid: statSync(path).uid };
  } catch {
    return dirname(path) === path ? undefined : ownerOf(dirname(path));
  }
}
