// make-segments.ts: builds and verifies the segment files from the loaded feeds. If an earlier release has a segment
// with the same inputs, that segment is reused.

import { join } from "node:path";
import { ACCEPT_RELEASE } from "@inkling/contract";
import { DATA_FOLDER, hasSegment, mapFile, openSegmentOf, writeSegmentFile } from "@inkling/data";
import { FEED_SETS, type Release, type SegmentKind, type SegmentReport } from "@inkling/engine";
import { segmentChunks } from "../segments/segment-writer.ts";
import { findProblems } from "../validate/release-gate.ts";
import type { BuildEffects, BuildEvent } from "./events.ts";
import { belongsTo, decides, inputsDigest, isLoaded } from "./inputs.ts";
import type { LoadedFeed } from "./load.ts";
import { collectGarbage, type Decided, SEGMENT_BUILDERS } from "./segment-builders.ts";

interface SegmentOrder {
  readonly dataDir: string;
  /** Digest of the compiler's code. */
  readonly code: string;
  /** The newest release. Its segments may be reused. */
  readonly before: Release | undefined;
  /** See `BuildRequest`. */
  readonly keepGeo: boolean | undefined;
  /** What the operator accepts: ids of feeds, or {@link ACCEPT_RELEASE}. */
  readonly accept: readonly string[];
  readonly effects: BuildEffects;
}

interface Made {
  readonly segments: Release["segments"];
  readonly decided: Decided;
}

/**
 * The order in which segments are built. The check of the release needs the first two. Segments that share feeds follow
 * each other, so that each feed is read once.
 */
const BUILD_ORDER = ["email", "reputation", "network", "geo"] as const satisfies readonly SegmentKind[];

/**
 * The release fails its check, and no new copy is the cause: Inkling was upgraded, feeds were turned on or off, or a
 * last good copy is lost.
 */
export class ReleaseUnlikely extends Error {}

/** A segment cannot be built, or the release fails its check. The new copies of `kinds` may be the cause. */
class Obstacle extends Error {
  readonly kinds: readonly SegmentKind[];
  constructor(why: string, kinds: readonly SegmentKind[], cause: Error) {
    super(why, { cause });
    this.kinds = kinds;
  }
}

/**
 * Builds all segments. If a segment cannot be built, or the release fails its check, it holds all new copies of that
 * segment's feeds and builds again.
 * @throws the cause if there are no new copies
 */
export async function makeSegments(
  loaded: readonly LoadedFeed[],
  order: SegmentOrder,
): Promise<Made & { readonly feeds: readonly LoadedFeed[] }> {
  const { emit } = order.effects;
  let feeds = loaded;
  const notes: string[] = [];
  for (;;) {
    const said: BuildEvent[] = [];
    const effects: BuildEffects = {
      ...order.effects,
      emit: (event) => (event.type === "progress" ? emit(event) : said.push(event)),
    };
    try {
      const made = makeAll(feeds, { ...order, effects });
      for (const one of feeds) if (!loaded.includes(one)) emit({ type: "feed", feed: one.report });
      for (const text of notes) emit({ type: "note", text });
      for (const event of said) emit(event);
      return { ...made, feeds };
    } catch (error) {
      if (!(error instanceof Obstacle)) throw error;
      const { message, kinds, cause } = error;
      const isSpared = (one: LoadedFeed) => one.isAccepted && cause instanceof ReleaseUnlikely;
      const isSuspect = (one: LoadedFeed) =>
        one.isChanged && !isSpared(one) && kinds.some((kind) => belongsTo(kind, one));
      const ids = feeds.filter(isSuspect).map(({ feed }) => feed.id);
      if (ids.length === 0) throw cause;
      feeds = await Promise.all(feeds.map((one) => (isSuspect(one) ? one.hold(message) : one)));
      notes.push(`the new copies of ${ids.join(", ")} are held: ${message}`);
    }
  }
}

/** @throws Obstacle */
function makeAll(feeds: readonly LoadedFeed[], order: SegmentOrder): Made {
  const segments: { -readonly [Kind in SegmentKind]?: SegmentReport } = {};
  let decided: Decided = {};
  const later = new Set<SegmentKind>(BUILD_ORDER);
  for (const kind of BUILD_ORDER) {
    later.delete(kind);
    try {
      const made = makeSegment(kind, feeds, later, order);
      if (made !== undefined) {
        segments[kind] = { sha256: made.sha256, bytes: made.bytes, inputs: made.inputs };
        decided = { ...decided, ...decidedIn(kind, made) };
      }
    } catch (error) {
      // An error of the operating system, such as a full disk, has a code.
      if (!(error instanceof Error) || "code" in error) throw error;
      throw new Obstacle(`the ${kind} segment cannot be built: ${error.message}`, [kind], error);
    }
    if (kind === "reputation") requireLikely(feeds, decided, order);
  }
  return { segments, decided };
}

/** @throws Obstacle */
function requireLikely(
  feeds: readonly LoadedFeed[],
  decided: Decided,
  { before, accept }: SegmentOrder,
): void {
  if (accept.includes(ACCEPT_RELEASE)) return;
  const next = { ...decided, feeds: feeds.map(({ report }) => report) };
  const problems = findProblems(next, before, accept);
  if (problems.length === 0) return;
  const why = `the release fails its check: ${problems.map((problem) => problem.why).join("; ")}`;
  const hint = `\`inkling data update --accept ${ACCEPT_RELEASE}\` publishes it anyway`;
  const kinds = problems.map(({ kind }) => kind);
  throw new Obstacle(why, kinds, new ReleaseUnlikely(`${why}. ${hint}`));
}

/**
 * Builds and verifies one segment, or reuses a segment with the same inputs from an earlier release. Returns undefined
 * if no feed contributes to the segment.
 */
function makeSegment(
  kind: SegmentKind,
  feeds: readonly LoadedFeed[],
  later: ReadonlySet<SegmentKind>,
  { dataDir, code, before, keepGeo, effects }: SegmentOrder,
): (SegmentReport & Decided) | undefined {
  if (kind === "geo" && keepGeo && before?.code === code) {
    // The report keeps the inputs that the segment was built from, so the next build notices the new ones.
    const kept = before.segments.geo;
    if (kept !== undefined && hasSegment(dataDir, kept.sha256)) return kept;
  }
  const parts = feeds.filter((loaded) => belongsTo(kind, loaded));
  if (!parts.some((loaded) => isLoaded(loaded) && decides(loaded, FEED_SETS[kind].deciding)))
    return undefined;
  const reports = parts.map((loaded) => loaded.report);
  const inputs = inputsDigest(code, kind, reports);
  const same = isReusable(dataDir, before?.segments[kind], inputs) ? before : undefined;
  const made: Written = same?.segments[kind] ?? writeSegment(dataDir, kind, parts, effects);
  for (const part of parts) if (![...later].some((next) => belongsTo(next, part))) part.forget();
  if (same === undefined) verifySegment(dataDir, kind, made, effects);
  const { sha256, bytes } = made;
  return { sha256, bytes, inputs, ...decidedIn(kind, same ?? made) };
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
