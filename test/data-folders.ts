// data-folders.ts: the mirror of real feeds and the conformance vectors, for `npm run test:data`.
//
// Both are large and belong to other publishers, so they are not part of the repository. Only files named *.data.test.ts
// may import this module: `npm test` reads nothing outside the repository.
//
// err  an Error that says what to set, if INKLING_MIRROR or INKLING_VECTORS does not name a folder

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "../scripts/tests/data-folders.mjs";
import { builtRelease, temporaryFolder } from "./release.ts";

/** Folder of one file per feed, named after the feed's id. */
export const MIRROR = dataFolder("INKLING_MIRROR");
/** MaxMind's conformance files (`maxmind-db/`), opt-in feed samples (`opt-in/`), never-flag lists (`guards/`). */
export const VECTORS = dataFolder("INKLING_VECTORS");

/** A copy of the mirror as if it had been downloaded today: the compiler drops most address lists of an old one. */
export function copyMirror(): string {
  const copy = temporaryFolder();
  for (const file of readdirSync(MIRROR)) writeFileSync(join(copy, file), readFileSync(join(MIRROR, file)));
  return copy;
}

/** A fresh data folder with the release of the whole mirror. Never write to its files. */
export const mirrorRelease = (): Promise<string> => builtRelease("mirror-release", [MIRROR], copyMirror);
