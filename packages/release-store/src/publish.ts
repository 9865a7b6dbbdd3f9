// publish.ts: how a release gets into the data folder and becomes the current one: segments, the manifest, `current`.
//
// Each file is written whole or not at all, so a killed build leaves nothing half-published: a segment that no
// manifest names, or a temporary file, is removed by the next build.
// err  what node:fs throws (EACCES, ENOSPC …), with the path in it

import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { type Release, releaseName } from "@inkling/engine";
import { replaceFile, replaceJson, TEMPORARY } from "./atomic-file.ts";
import { findHeld } from "./held.ts";
import { DATA_FOLDER } from "./layout.ts";
import { findCurrent, pinnedName, releaseNames, segmentFiles } from "./releases.ts";

/** Releases that stay for rollback, the current one included. */
export const KEPT_RELEASES = 5;

/** Puts a segment in the folder under the hash of its content; one that is there already is left alone. */
export function writeSegmentFile(
  dataDir: string,
  chunks: readonly Uint8Array[],
): { sha256: string; bytes: number } {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  const sha256 = hash.digest("hex");
  if (!hasSegment(dataDir, sha256)) replaceFile(join(dataDir, DATA_FOLDER.segmentFile(sha256)), chunks);
  return { sha256, bytes };
}

/** Is a segment there, and undamaged? Reads all of it: a disk that lost a bit must not be built upon. */
export function hasSegment(dataDir: string, sha256: string): boolean {
  const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
  if (!existsSync(path)) return false;
  const file = openSync(path, "r");
  try {
    const hash = new Bun.CryptoHasher("sha256");
    const block = new Uint8Array(1 << 20);
    for (let read = readSync(file, block); read > 0; read = readSync(file, block))
      hash.update(block.subarray(0, read));
    return hash.digest("hex") === sha256;
  } finally {
    closeSync(file);
  }
}

/** Makes `manifest` a release, and the current one unless another is pinned. @returns its name */
export function publish(dataDir: string, manifest: Release): string {
  const name = releaseName(manifest);
  replaceJson(join(dataDir, DATA_FOLDER.releaseFile(name)), manifest);
  makeCurrent(dataDir, name);
  sweep(dataDir, name);
  return name;
}

/**
 * Points `current` at a release, unless another is pinned and in use.
 * @returns did it point elsewhere before?
 */
export function makeCurrent(dataDir: string, name: string): boolean {
  const current = findCurrent(dataDir)?.name;
  if (current === name || (current !== undefined && current === pinnedName(dataDir))) return false;
  pointTo(dataDir, DATA_FOLDER.current, name);
  return true;
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
 * Removes releases beyond the kept ones (the newest, the one in use, the pinned one), segments that neither those nor the
 * one that waits name, and what killed builds left.
 */
export function sweep(dataDir: string, published: string): void {
  const names = releaseNames(dataDir);
  const newest = names.filter((name) => name !== published).slice(0, KEPT_RELEASES - 1);
  const inUse = [findCurrent(dataDir)?.name, pinnedName(dataDir)];
  const kept = new Set([published, ...newest, ...names.filter((name) => inUse.includes(name))]);
  for (const name of names) {
    if (!kept.has(name)) rmSync(join(dataDir, DATA_FOLDER.releaseFile(name)), { force: true });
  }
  // A manifest that cannot be read keeps nothing alive: it cannot be rolled back to either.
  const needed = new Set(
    [...kept].flatMap((name) => segmentFiles(dataDir, name).map((path) => basename(path))),
  );
  for (const segment of Object.values(findHeld(dataDir)?.segments ?? {}))
    if (segment !== undefined) needed.add(basename(DATA_FOLDER.segmentFile(segment.sha256)));
  for (const part of [DATA_FOLDER.segments, DATA_FOLDER.releases, DATA_FOLDER.feeds, "."]) {
    for (const file of readdirSync(join(dataDir, part))) {
      const isLeft = file.startsWith(TEMPORARY) || (part === DATA_FOLDER.segments && !needed.has(file));
      if (isLeft) rmSync(join(dataDir, part, file), { force: true });
    }
  }
}
