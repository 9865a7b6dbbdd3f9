// inputs.ts: computes a digest of everything from which a segment is built, so that equal inputs are not compiled
// again.
//
// The digest covers the code, data and pinned dependencies of the compiler, the engine and the contract.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "@inkling/data";
import { programFile } from "@inkling/data/program";
import type { FeedReport, SegmentKind } from "@inkling/engine";

/** Defined only in a bundle, because a bundle does not contain the files in CODE. */
declare const CODE_DIGEST: string | undefined;

/** The code and data that determine the result of a build from the same feeds. The contract has the feeds' labels. */
const CODE = [
  "compiler/package.json",
  "compiler/src",
  "compiler/data",
  "engine/package.json",
  "engine/src",
  "contract/package.json",
  "contract/src",
].map(programFile);

/** Returns a digest of the files in CODE, without tests. */
export function codeDigest(): string {
  if (typeof CODE_DIGEST !== "undefined") return CODE_DIGEST;
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

/** Returns a digest of a segment's inputs: the code, and the loaded copies of its feeds. */
export function inputsDigest(code: string, kind: SegmentKind, feeds: readonly FeedReport[]): string {
  const loaded = feeds.filter((feed) => feed.state === "loaded").map((feed) => `${feed.id}=${feed.sha256}`);
  return sha256Hex([kind, code, ...loaded.sort()].join("\n"));
}
