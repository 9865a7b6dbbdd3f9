// shared.ts: where tests find the offline mirror and the conformance vectors, and what happens without them.
//
// Both are large and belong to other publishers, so they live beside the repository, not in it.
// INKLING_MIRROR and INKLING_VECTORS override where. Without them the tests that need them are skipped, and named.

import { describe, test } from "bun:test";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "..");

/** Folder of one file per feed, named after the feed's id. */
export const MIRROR = resolve(process.env.INKLING_MIRROR ?? join(root, "../shared/mirror"));
/** MaxMind's conformance files (`maxmind-db/`), opt-in feed samples, never-flag lists (`guards/`). */
export const VECTORS = resolve(process.env.INKLING_VECTORS ?? join(root, "../shared/vectors"));

/**
 * `describe` when every path exists. Otherwise a skipped test that names what is missing.
 * @param paths absolute, made from MIRROR or VECTORS
 */
export function describeWith(paths: readonly string[], name: string, body: () => void): void {
  const missing = paths.filter((path) => !existsSync(path));
  if (missing.length === 0) {
    describe(name, body);
    return;
  }
  test.skip(`${name}: needs ${missing.join(", ")} (set INKLING_MIRROR / INKLING_VECTORS)`, () => {});
}
