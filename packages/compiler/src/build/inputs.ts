// inputs.ts: a digest of all that a segment is made from, so that equal inputs are not compiled again.
//
// in   the feeds of a segment, and this program's own files
// out  SHA-256, hex
// The digest covers code and pinned dependencies, so a new version of Inkling builds everything anew.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { FeedReport, SegmentKind } from "@inkling/engine";
import { sha256Hex } from "@inkling/release-store";

const compilerDir = resolve(import.meta.dir, "../..");
const engineDir = dirname(fileURLToPath(import.meta.resolve("@inkling/engine/package.json")));
/** Everything that can change what a build makes of the same feeds. */
const CODE = [
  join(compilerDir, "package.json"),
  join(compilerDir, "src"),
  join(compilerDir, "data"),
  join(engineDir, "package.json"),
  join(engineDir, "src"),
];

/** Digest of the compiler's and the engine's own files, tests left out. */
export function codeDigest(): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const root of CODE) {
    for (const file of filesBelow(root)) {
      if (file.endsWith(".test.ts")) continue;
      hash
        .update(`${file.slice(root.length)}\0`)
        .update(readFileSync(file))
        .update("\0");
    }
  }
  return hash.digest("hex");
}

function filesBelow(path: string): string[] {
  if (path.endsWith(".json")) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Digest of a segment's inputs: the code, and the copies of the feeds that were loaded for it. */
export function inputsDigest(code: string, kind: SegmentKind, feeds: readonly FeedReport[]): string {
  const loaded = feeds.filter((feed) => feed.state === "loaded").map((feed) => `${feed.id}=${feed.sha256}`);
  return sha256Hex([kind, code, ...loaded.sort()].join("\n"));
}
