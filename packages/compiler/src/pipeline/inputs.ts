// inputs.ts: decides which feeds each segment is built from, according to the engine's FEED_SETS, and computes a digest
// of everything that goes into the segment, so that equal inputs are not compiled again.
//
// The digest covers the code, data and pinned dependencies of the compiler, the engine and the contract.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "@inkling/data";
import { programFile } from "@inkling/data/program";
import { type Answer, FEED_SETS, type FeedReport, type SegmentKind } from "@inkling/engine";
import type { Format } from "../catalog/feed.ts";
import { ANONYMOUS_FLAGS } from "../parse/anonymous-ip.ts";
import { isDomainFormat } from "../parse/index.ts";
import { isAnycast } from "../policy/labels.ts";
import type { LoadedFeed } from "./load.ts";

const STATE_PLACES: ReadonlySet<Format> = new Set<Format>(["geofeed-csv", "gluetun-json"]);

export function isLoaded({ report }: LoadedFeed): boolean {
  return report.state === "loaded";
}

/**
 * Returns whether a feed belongs to a segment. The `sets` of both network and domain feeds can be `relay`, so the
 * format decides. Geofeeds, VPN servers and anycast networks contribute places, and doubtful entries contribute
 * services, whatever else the feed contributes.
 */
export function belongsTo(kind: SegmentKind, { feed }: LoadedFeed): boolean {
  const { deciding, other } = FEED_SETS[kind];
  if (kind === "network" && feed.doubtful !== undefined) return true;
  if (kind === "geo" && (STATE_PLACES.has(feed.format) || isAnycast(feed.label))) return true;
  if (feed.sets === "relay") return (kind === "email") === isDomainFormat(feed.format) && kind !== "geo";
  return deciding.includes(feed.sets) || other.includes(feed.sets);
}

/** Returns whether the feed can provide one of these answers, rather than only supplement other feeds. */
export function decides({ feed }: LoadedFeed, sets: readonly string[]): boolean {
  return sets.includes(feed.sets) && feed.supplement !== true;
}

/**
 * Returns whether the answer may be wrong without the feed. Geofeeds only correct places, but every feed for a flag can
 * set that flag.
 */
export function canSet(answer: Answer, { feed }: LoadedFeed): boolean {
  if (answer === "geolocation") return feed.sets === answer && feed.supplement !== true;
  if (feed.sets === answer) return true;
  return feed.format === "mmdb" && ANONYMOUS_FLAGS.has(feed.sets) && ANONYMOUS_FLAGS.has(answer);
}

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
