// publish.ts: writes a release to the data folder and makes it the current one. It writes the segments first, then the
// manifest, then `current`.
//
// Each file is written completely or not at all, so a killed build leaves nothing half-published. The next build
// removes temporary files, and segments that are not in any manifest.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Release, releaseName } from "@inkling/engine";
import { isLeftover, replaceFile, replaceJson, TEMPORARY } from "./atomic-file.ts";
import { hashFile } from "./fingerprints.ts";
import { DATA_FOLDER } from "./layout.ts";
import { checkSizes } from "./open.ts";
import {
  appendToOrder,
  currentName,
  findCurrent,
  openManifest,
  pinnedName,
  ReleaseError,
  releaseNames,
  segmentsOf,
} from "./releases.ts";

/** Number of releases that are kept for a rollback, including the current release. */
export const KEPT_RELEASES = 5;

/** Writes a segment under the hash of its content, unless an undamaged copy already exists. */
export function writeSegmentFile(
  dataDir: string,
  chunks: readonly Uint8Array[],
): { sha256: string; bytes: number } {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  const sha256 = hash.digest("hex");
  if (!hasSegment(dataDir, sha256)) {
    replaceFile(join(dataDir, DATA_FOLDER.segmentFile(sha256)), chunks);
  }
  return { sha256, bytes };
}

/**
 * Returns whether the segment exists, undamaged. This reads the whole file, so that builds never rely on a damaged
 * disk.
 */
export function hasSegment(dataDir: string, sha256: string): boolean {
  const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
  return existsSync(path) && hashFile(path).sha256 === sha256;
}

/** Publishes a release, and makes it the current one unless another release is pinned. @returns its name */
export function publish(dataDir: string, manifest: Release): string {
  const name = releaseName(manifest);
  appendToOrder(dataDir, name);
  replaceJson(join(dataDir, DATA_FOLDER.releaseFile(name)), manifest);
  makeCurrent(dataDir, name);
  sweep(dataDir);
  return name;
}

/**
 * Points `current` at a release, unless another release is pinned and in use.
 * @returns whether `current` has changed
 */
export function makeCurrent(dataDir: string, name: string): boolean {
  const current = currentName(dataDir);
  if (current === name) return false;
  if (current !== undefined && current === pinnedName(dataDir) && isInUse(dataDir, current)) return false;
  pointTo(dataDir, DATA_FOLDER.current, name);
  return true;
}

/** Returns whether the manifest shows that the release is usable. A temporary read error does not count as unusable. */
function isInUse(dataDir: string, name: string): boolean {
  try {
    openManifest(dataDir, name);
    return true;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return error.isRetryable;
  }
}

/** Writes a release's name to `current` or `pinned`. */
export function pointTo(
  dataDir: string,
  pointer: typeof DATA_FOLDER.current | typeof DATA_FOLDER.pinned,
  name: string,
): void {
  replaceFile(join(dataDir, pointer), [`${name}\n`]);
}

/**
 * Removes old releases, segments that no release needs, and files that killed processes left behind. It keeps the
 * newest releases, and the current, pinned and served releases. Call it only while the folder is locked, because the
 * segments of a running build have no release yet.
 * @param kept number of newest sound releases to keep
 * @param served the release that a server on this folder is using, which may not be the current one
 */
export function sweep(dataDir: string, kept = KEPT_RELEASES, served?: string): void {
  removeLeftovers(dataDir);
  const needed = removeOldReleases(dataDir, kept, served);
  if (needed === undefined) return;
  for (const file of readdirSync(join(dataDir, DATA_FOLDER.segments))) {
    const path = `${DATA_FOLDER.segments}/${file}`;
    if (!file.startsWith(TEMPORARY) && !needed.has(path)) rmSync(join(dataDir, path), { force: true });
  }
}

/** @returns the segment files that must remain; undefined if a manifest temporarily cannot be read */
function removeOldReleases(
  dataDir: string,
  kept: number,
  served: string | undefined,
): Set<string> | undefined {
  const inUse = [findCurrent(dataDir)?.name, pinnedName(dataDir), served];
  const needed = new Set<string>();
  let sound = 0;
  for (const name of releaseNames(dataDir)) {
    if (sound >= kept && !inUse.includes(name)) {
      rmSync(join(dataDir, DATA_FOLDER.releaseFile(name)), { force: true });
      continue;
    }
    try {
      const manifest = openManifest(dataDir, name);
      for (const { sha256 } of segmentsOf(manifest)) needed.add(DATA_FOLDER.segmentFile(sha256));
      checkSizes(dataDir, name);
      sound++;
    } catch (error) {
      // A rollback cannot use this release, so the release does not count. Without a manifest, the release does not
      // keep any segments either.
      if (!(error instanceof ReleaseError)) throw error;
      if (error.isRetryable) return undefined;
    }
  }
  return needed;
}

/**
 * Removes the temporary files of processes that have exited. Running processes may still be writing to their temporary
 * files.
 */
function removeLeftovers(dataDir: string): void {
  const feeds = join(dataDir, DATA_FOLDER.feeds);
  const ofFeeds = readdirSync(feeds, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = [
    ...[".", DATA_FOLDER.segments, DATA_FOLDER.releases, DATA_FOLDER.feeds].map((part) =>
      join(dataDir, part),
    ),
    ...ofFeeds.map(({ name }) => join(feeds, name)),
  ];
  for (const folder of folders)
    for (const file of readdirSync(folder).filter(isLeftover)) rmSync(join(folder, file), { force: true });
}
