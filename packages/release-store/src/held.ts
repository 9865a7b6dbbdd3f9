// held.ts: the release that was built and waits for the operator, who accepts it (`inkling data update --accept release`).
//
// in   a manifest whose segments are in the data folder
// out  releases/held.json, which is no release: nothing serves it, or goes back to it
// err  what node:fs throws

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Release, release } from "@inkling/engine";
import { replaceJson } from "./atomic-file.ts";
import { DATA_FOLDER } from "./layout.ts";

export function writeHeld(dataDir: string, manifest: Release): void {
  replaceJson(join(dataDir, DATA_FOLDER.heldRelease), manifest);
}

/** Undefined if no release waits, or its manifest cannot be read: the next build makes it again. */
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
