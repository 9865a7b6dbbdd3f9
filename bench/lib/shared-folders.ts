// shared-folders.ts: where benchmarks find the offline mirror and the conformance vectors.
//
// Both are large and belong to other publishers, so they live beside the repository, not in it.

import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

/** Folder of one file per feed, named after the feed's id. */
export const MIRROR = resolve(process.env.INKLING_MIRROR ?? join(root, "../shared/mirror"));
/** Never-flag lists (`guards/`) and other projects' files. */
export const VECTORS = resolve(process.env.INKLING_VECTORS ?? join(root, "../shared/vectors"));
