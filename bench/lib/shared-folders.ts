// shared-folders.ts: returns the paths of the offline mirror and the conformance vectors.
//
// Both are large and belong to other publishers, so they are not part of the repository. INKLING_MIRROR and
// INKLING_VECTORS contain their paths; by default, they are in a folder beside the repository.

import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

/** Folder with one file per feed, named after the feed's id. */
export const MIRROR = resolve(process.env.INKLING_MIRROR ?? join(root, "../shared/mirror"));
/** Folder with never-flag lists (`guards/`) and other projects' files. */
export const VECTORS = resolve(process.env.INKLING_VECTORS ?? join(root, "../shared/vectors"));
