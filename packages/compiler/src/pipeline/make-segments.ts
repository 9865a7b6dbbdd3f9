// make-segments.ts: builds and verifies the segment files from the loaded feeds. If an earlier release has a segment
// with the same inputs, that segment is reused.

import { join } from "node:path";
import { FEED_SETS, type Release, type SegmentKind, type SegmentReport } from "@inkling/engine";
import {
  DATA_FOLDER,
  hasSegment,
  mapFile,
  messageOf,
  openSegmentOf,
  writeSegmentFile,
} from "@inkling/release-store";
import { segmentChunks } from "../segments/segment-writer.ts";
import type { BuildEffects } from "./events.ts";
import { inputsDigest } from "./inputs.ts";
import type { LoadedFeed } from "./load.ts";
import { belongsTo, decides, isLoaded } from "./parts.ts";
import { collectGarbage, type Decided, SEGMENT_BUILDERS } from "./segment-builders.ts";

interface SegmentOrder {
  readonly dataDir: string;
  /** Digest of the compiler's code. */
  readonly code: string;
  /** The releases whose segments may be reused. */
  readonly earlier: readonly (Release | undefined)[];
  readonly effects: BuildEffects;
}

/**
 * The order in which segments are built. Segments that share feeds follow each other, so that each feed is read once.
 * The largest segment comes last.
 */
const BUILD_ORDER = ["reputation", "network", "email", "geo"] as const satisfies readonly SegmentKind[];

/**
 * @param feeds changed in place: a feed that breaks its segment reverts to its last good copy
 * @throws the error if no changed feed is to blame
 */
export async function makeSegments(
  feeds: LoadedFeed[],
  order: SegmentOrder,
): Promise<{ readonly segments: Release["segments"]; readonly decided: Decided }> {
  const segments: { -readonly [Kind in SegmentKind]?: SegmentReport } = {};
  let decided: Decided = {};
  const later = new Set<SegmentKind>(BUILD_ORDER);
  for (const kind of BUILD_ORDER) {
    later.delete(kind);
    const made = await withoutCulprit(
      kind,
      feeds,
      () => makeSegment(kind, feeds, later, order),
      order.effects,
    );
    if (made === undefined) continue;
    segments[kind] = { sha256: made.sha256, bytes: made.bytes, inputs: made.inputs };
    decided = { ...decided, ...decidedIn(kind, made) };
  }
  return { segments, decided };
}

/**
 * Builds and verifies one segment, or reuses a segment with the same inputs from an earlier release. Returns undefined
 * if no feed contributes to the segment.
 */
function makeSegment(
  kind: SegmentKind,
  feeds: readonly LoadedFeed[],
  later: ReadonlySet<SegmentKind>,
  { dataDir, code, earlier, effects }: SegmentOrder,
): (SegmentReport & Decided) | undefined {
  const parts = feeds.filter((loaded) => belongsTo(kind, loaded));
  if (!parts.some((loaded) => isLoaded(loaded) && decides(loaded, FEED_SETS[kind].deciding)))
    return undefined;
  const reports = parts.map((loaded) => loaded.report);
  const inputs = inputsDigest(code, kind, reports);
  const same = earlier.find((made) => isReusable(dataDir, made?.segments[kind], inputs));
  const made: Written = same?.segments[kind] ?? writeSegment(dataDir, kind, parts, effects);
  for (const part of parts) if (![...later].some((next) => belongsTo(next, part))) part.forget();
  if (same === undefined) verifySegment(dataDir, kind, made, effects);
  const { sha256, bytes } = made;
  return { sha256, bytes, inputs, ...decidedIn(kind, same ?? made) };
}

/**
 * Builds a segment. If that fails, it retries without each changed feed in turn, then without all of them.
 * @param feeds changed in place: the feed to blame reverts to its last good copy
 * @throws the error of `make` if no changed feed is to blame
 */
async function withoutCulprit<T>(
  kind: SegmentKind,
  feeds: LoadedFeed[],
  make: () => T,
  { emit }: BuildEffects,
): Promise<T> {
  try {
    return make();
  } catch (error) {
    // This is an error of the operating system, such as a full disk.
    if (typeof (error as { code?: unknown }).code === "string") throw error;
    const why = messageOf(error);
    const changed = [...feeds.entries()].filter(([, one]) => belongsTo(kind, one) && one.isUntried);
    const sets = changed.length > 1 ? [...changed.map((one) => [one]), changed] : [changed];
    for (const set of sets) {
      if (set.length === 0) break;
      for (const [index, one] of set) feeds[index] = await one.withoutCandidate(why);
      try {
        const made = make();
        for (const [index] of set) emit({ type: "feed", feed: feeds[index]!.report });
        const ids = set.map(([, { feed }]) => feed.id).join(", ");
        emit({ type: "note", text: `the ${kind} segment cannot be built with ${ids}: ${why}` });
        return made;
      } catch {
        for (const [index, one] of set) feeds[index] = one; // this set is not to blame, or not by itself
      }
    }
    throw error;
  }
}

/** Returns whether an earlier segment has the same inputs and an intact file. */
const isReusable = (dataDir: string, earlier: SegmentReport | undefined, inputs: string): boolean =>
  earlier?.inputs === inputs && hasSegment(dataDir, earlier.sha256);

type Written = Omit<SegmentReport, "inputs"> & Decided;

/** Returns the policy's decisions for one segment, either from an earlier release or from the segment just built. */
function decidedIn(kind: SegmentKind, { flagged, disposable }: Decided): Decided {
  if (kind === "reputation") return flagged === undefined ? {} : { flagged };
  return kind === "email" && disposable !== undefined ? { disposable } : {};
}

function writeSegment(
  dataDir: string,
  kind: SegmentKind,
  parts: readonly LoadedFeed[],
  effects: BuildEffects,
): Written {
  effects.emit({ type: "progress", step: `building ${kind}`, done: 0 });
  const meta = {
    feeds: parts.filter(isLoaded).map(({ report }) => ({ id: report.id, sha256: report.sha256 })),
  };
  const { sections, ...decided } = SEGMENT_BUILDERS[kind](parts, effects);
  return { ...writeSegmentFile(dataDir, segmentChunks(kind, sections, meta)), ...decided };
}

/**
 * Verifies a segment file. By then, the inputs are garbage. They are collected first, because the feeds' mapped files
 * count as memory, as does the segment file itself.
 */
function verifySegment(
  dataDir: string,
  kind: SegmentKind,
  { sha256 }: Pick<SegmentReport, "sha256">,
  { emit }: BuildEffects,
): void {
  emit({ type: "progress", step: `verifying ${kind}`, done: 0 });
  collectGarbage();
  openSegmentOf(kind, mapFile(join(dataDir, DATA_FOLDER.segmentFile(sha256)))).verify();
}
