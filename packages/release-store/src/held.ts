// held.ts: a release that was built and waits until the operator accepts it (`inkling data update --accept release`).
//
// in   a manifest whose segments are in the data folder
// out  releases/held.json, which does not count as a release, so servers and rollbacks never use it
// err  errors of node:fs

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Release, release } from "@inkling/engine";
import { replaceJson } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";

export function writeHeld(dataDir: string, manifest: Release): void {
  replaceJson(join(dataDir, DATA_FOLDER.heldRelease), manifest);
}

/**
 * @returns undefined if no release is waiting, or if its manifest cannot be read; the next build then writes it again
 */
export function findHeld(dataDir: string): Release | undefined {
  try {
    return release.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.heldRelease), "utf8")));
  } catch {
    return undefined;
  }
}

export function removeHeld(dataDir: string): void {
  rmSync(join(dataDir, DATA_FOLDER.heldRelease), { force: true });
}
