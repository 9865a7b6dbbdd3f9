// publish.ts: how a release gets into the data folder and becomes the current one: segments, the manifest, `current`.
//
// Each file is written whole or not at all, so a killed build leaves nothing half-published: a segment that no
// manifest names, or a temporary file, is removed when the next build begins.
// err  what node:fs throws (EACCES, ENOSPC …), with the path in it

import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Release, releaseName } from "@inkling/engine";
import { isLeftover, replaceFile, replaceJson, TEMPORARY } from "./atomic-file.ts";
import { fileStamp } from "./file-stamp.ts";
import { findHeld } from "./held.ts";
import { DATA_FOLDER } from "./layout.ts";
import { findFiles } from "./open.ts";
import {
  appendToOrder,
  currentName,
  findCurrent,
  openManifest,
  pinnedName,
  ReleaseError,
  releaseNames,
} from "./releases.ts";
import { hashFile } from "./sha256.ts";
import { markVerified } from "./verified.ts";

/** Releases that stay for rollback, the current one included. */
export const KEPT_RELEASES = 5;

/** Puts a segment in the folder under the hash of its content; one that is there already is left alone. */
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
    const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
    replaceFile(path, chunks);
    markIfPossible(dataDir, sha256, fileStamp(path));
  }
  return { sha256, bytes };
}

/** Is a segment there, and undamaged? Reads all of it: a disk that lost a bit must not be built upon. */
export function hasSegment(dataDir: string, sha256: string): boolean {
  const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
  if (!existsSync(path)) return false;
  const stamp = fileStamp(path);
  if (hashFile(path).sha256 !== sha256) return false;
  markIfPossible(dataDir, sha256, stamp);
  return true;
}

/** A segment with the right hash is what a build wrote: the build verifies it, and publishes nothing where that fails. */
function markIfPossible(dataDir: string, sha256: string, stamp: string): void {
  try {
    markVerified(dataDir, sha256, stamp);
  } catch {
    // without a mark the server verifies the release before it answers from it, and reports why there is none
  }
}

/** Makes `manifest` a release, and the current one unless another is pinned. @returns its name */
export function publish(dataDir: string, manifest: Release): string {
  const name = releaseName(manifest);
  appendToOrder(dataDir, name);
  replaceJson(join(dataDir, DATA_FOLDER.releaseFile(name)), manifest);
  makeCurrent(dataDir, name);
  sweep(dataDir);
  return name;
}

/**
 * Points `current` at a release, unless another is pinned and in use.
 * @returns did it point elsewhere before?
 */
export function makeCurrent(dataDir: string, name: string): boolean {
  const current = currentName(dataDir);
  if (current === name) return false;
  if (current !== undefined && current === pinnedName(dataDir) && isInUse(dataDir, current)) return false;
  pointTo(dataDir, DATA_FOLDER.current, name);
  return true;
}

/** Can its manifest be read? One that cannot be read for now says nothing about the release. */
function isInUse(dataDir: string, name: string): boolean {
  try {
    openManifest(dataDir, name);
    return true;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return error.isRetryable;
  }
}

/** Puts the name of a release into `current` or `pinned`. */
export function pointTo(
  dataDir: string,
  pointer: typeof DATA_FOLDER.current | typeof DATA_FOLDER.pinned,
  name: string,
): void {
  replaceFile(join(dataDir, pointer), [`${name}\n`]);
}

/**
 * Removes releases beyond the kept ones (the last published, the one in use, the pinned one), segments that neither those
 * nor the one that waits name, and what killed processes left. Call it with the folder locked: segments of a build under
 * way have no release yet.
 * @param served the release that a server of this folder answers from, which may not be the current one
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

/** @returns files of the segments that the kept releases name; undefined while a manifest cannot be read for now */
function removeOldReleases(
  dataDir: string,
  kept: number,
  served: string | undefined,
): Set<string> | undefined {
  const inUse = [findCurrent(dataDir)?.name, pinnedName(dataDir), served];
  const needed = new Set<string>();
  const need = ({ segments }: Pick<Release, "segments">) => {
    for (const segment of Object.values(segments)) {
      if (segment === undefined) continue;
      needed.add(DATA_FOLDER.segmentFile(segment.sha256)).add(DATA_FOLDER.verifiedMark(segment.sha256));
    }
  };
  const held = findHeld(dataDir);
  if (held !== undefined) need(held);
  let sound = 0;
  for (const name of releaseNames(dataDir)) {
    const isKept = sound < kept || inUse.includes(name);
    if (!isKept) rmSync(join(dataDir, DATA_FOLDER.releaseFile(name)), { force: true });
    else {
      try {
        need(openManifest(dataDir, name));
        findFiles(dataDir, name);
        sound++;
      } catch (error) {
        // It cannot be rolled back to, so it counts for nothing; without a manifest it keeps no segment alive either.
        if (!(error instanceof ReleaseError)) throw error;
        if (error.isRetryable) return undefined;
      }
    }
  }
  return needed;
}

/** Removes temporary files of processes that have ended; others may still be written. */
function removeLeftovers(dataDir: string): void {
  const feeds = join(dataDir, DATA_FOLDER.feeds);
  const folders = readdirSync(feeds, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const all = [DATA_FOLDER.segments, DATA_FOLDER.releases, DATA_FOLDER.feeds, "."].map((part) =>
    join(dataDir, part),
  );
  for (const folder of [...all, ...folders.map(({ name }) => join(feeds, name))]) {
    for (const file of readdirSync(folder).filter(isLeftover)) rmSync(join(folder, file), { force: true });
  }
}
