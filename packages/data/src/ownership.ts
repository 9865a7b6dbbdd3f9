// ownership.ts: who owns the files in the data folder.
//
// If root runs one command in another user's data folder, that user must still be able to read the new files.

import { closeSync, constants, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

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
export function giveFolderToOwner(path: string): void {
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
