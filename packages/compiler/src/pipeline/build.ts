// build.ts: one build, from feeds to a published release.
//
// in   a BuildRequest, the clock, and where events go
// out  "done": published, found equal to what is there, or held for the operator; refused feeds are in the release
// err  throws when nothing was published: the folder cannot be written, another build is at work, a broken invariant
//
// feeds -> claims -> policy -> tables -> segment files -> (rename) -> manifest -> (rename) -> current

import { join } from "node:path";
import {
  ANSWERS,
  type Answer,
  FEED_SETS,
  type FeedsReport,
  type HeldRelease,
  type Release,
  type SegmentKind,
  type SegmentReport,
} from "@inkling/engine";
import {
  brokenSegments,
  currentName,
  DATA_FOLDER,
  findHeld,
  findNewest,
  hasSegment,
  lockDataFolder,
  makeCurrent,
  mapFile,
  messageOf,
  openSegmentOf,
  prepareDataFolder,
  publish,
  readFeedsReport,
  releaseId,
  removeHeld,
  replaceJson,
  sweep,
  writeHeld,
  writeSegmentFile,
} from "@inkling/release-store";
import { segmentChunks } from "../segments/segment-writer.ts";
import { whyHeld } from "../validate/release-gate.ts";
import { ACCEPT_RELEASE, type BuildEffects, type BuildRequest } from "./events.ts";
import { codeDigest, inputsDigest } from "./inputs.ts";
import { type LoadedFeed, loadFeeds } from "./load.ts";
import { collectGarbage, type Decided, MAKERS } from "./makers.ts";
import { belongsTo, canSet, decides, isLoaded } from "./parts.ts";

/** On a line of 1 Mbit/s all default feeds but DB-IP's arrive in 80 s; what is there by now is enough for a release. */
const PATIENCE_MS = 90_000;

export interface Build {
  readonly name: string;
  readonly release: Release;
  /** false when the newest release has the same content already. */
  readonly published: boolean;
  /** The release that stays in use because it is pinned, whatever was built. */
  readonly pinned?: string;
  /** Feeds of which a copy was refused, whether or not an older one is in use. */
  readonly refused: readonly string[];
  /** Feeds whose source could not be reached. */
  readonly unreached: readonly string[];
  /** Other feeds without a copy that can be used, of those that have a source. */
  readonly missing: readonly string[];
  /** The release that was built and waits for the operator; `name` and `release` are those of the one before. */
  readonly held?: HeldRelease;
  /** When the next feed is due; absent when none has a remote source. */
  readonly nextDue?: string;
}

/** Segments that share feeds follow each other, so that these are read once; the largest is the last. */
const BUILD_ORDER = ["reputation", "network", "email", "geo"] as const satisfies readonly SegmentKind[];

export async function build(request: BuildRequest, effects: BuildEffects): Promise<Build> {
  prepareDataFolder(request.dataDir);
  const unlock = lockDataFolder(request.dataDir);
  try {
    const deadline = performance.now() + (effects.patienceMs ?? PATIENCE_MS);
    const { feeds, ...first } = await buildLocked(request, effects, deadline);
    const late = feeds.filter((loaded) => loaded.late).map(({ feed }) => feed.id);
    if (late.length === 0) return first;
    // What is there is published; then what is late has all the time that a download may take.
    const text = `still waiting for ${late.join(", ")}`;
    effects.emit({ type: "note", text, ...(first.published && { published: first.name }) });
    const arrived = feeds.filter((loaded) => !loaded.late);
    const { feeds: _, ...second } = await buildLocked(request, effects, undefined, arrived);
    return { ...second, published: first.published || second.published };
  } catch (error) {
    if (!(error instanceof NothingToServe)) reportFailure(request.dataDir, messageOf(error), effects);
    throw error;
  } finally {
    unlock();
  }
}

/** Nothing is published, and nothing was before. */
export class NothingToServe extends Error {}

/**
 * @param deadline when it goes on without the feeds that have not arrived
 * @param arrived feeds that are loaded already
 */
async function buildLocked(
  request: BuildRequest,
  effects: BuildEffects,
  deadline?: number,
  arrived: readonly LoadedFeed[] = [],
): Promise<Build & { feeds: readonly LoadedFeed[] }> {
  sweep(request.dataDir); // now, as this build may publish nothing, or be killed
  let waiting = findHeld(request.dataDir);
  const isAccepted = request.accept.includes(ACCEPT_RELEASE);
  if (isAccepted && request.accept.length === 1 && waiting !== undefined) {
    const accepted = publishHeld(request.dataDir, waiting, effects.now());
    if (accepted !== undefined) return { ...accepted, feeds: [] };
    waiting = undefined; // nothing of it is used
  }
  const code = codeDigest();
  const newest = findNewest(request.dataDir);
  const before = newest?.manifest;
  const trusted = before?.code === code ? before : undefined;
  const feeds = await loadFeeds(request, trusted, code, effects, deadline, arrived);
  const segments: { -readonly [Kind in SegmentKind]?: SegmentReport } = {};
  let decided: Decided = {};
  for (const [index, kind] of BUILD_ORDER.entries()) {
    const later = BUILD_ORDER.slice(index + 1);
    const make = () => makeSegment(request.dataDir, kind, feeds, [before, waiting], later, code, effects);
    const made = await withoutCulprit(kind, feeds, make, effects);
    if (made === undefined) continue;
    segments[kind] = { sha256: made.sha256, bytes: made.bytes, inputs: made.inputs };
    decided = { ...decided, ...decidedIn(kind, made) };
  }
  const manifest = describe(segments, feeds, { code, ...decided }, effects.now());
  const same = newest?.manifest.id === manifest.id ? newest : undefined;
  const why = same || isAccepted ? undefined : whyHeld(manifest, before, request.accept);
  const since = waiting?.id === manifest.id ? waiting.created_at : manifest.created_at;
  const held = why === undefined ? undefined : { id: manifest.id, at: since, why };
  if (held === undefined) removeHeld(request.dataDir);
  else writeHeld(request.dataDir, { ...manifest, created_at: since });
  if (held !== undefined && newest === undefined) {
    for (const loaded of feeds) loaded.settle();
    writeFeedsReport(request.dataDir, { held }, feeds, effects.now());
    throw new NothingToServe(`the first release waits for you: ${held.why}`);
  }
  const kept = held === undefined ? same : newest;
  const name = kept?.name ?? publish(request.dataDir, manifest);
  const isMoved = kept !== undefined && makeCurrent(request.dataDir, name); // another was pinned, or it was damaged
  if (held !== undefined) sweep(request.dataDir); // segments of an earlier one that waited
  for (const loaded of feeds) loaded.settle();
  writeFeedsReport(request.dataDir, { name, ...(held && { held }) }, feeds, effects.now());
  return {
    name,
    release: kept?.manifest ?? manifest,
    published: kept === undefined || isMoved,
    ...pinnedBeside(request.dataDir, name),
    ...(held && { held }),
    refused: feeds.filter((loaded) => loaded.refused).map(({ feed }) => feed.id),
    unreached: feeds.filter((loaded) => loaded.unreached).map(({ feed }) => feed.id),
    missing: feeds.filter((loaded) => isMissing(loaded, effects.now())).map(({ feed }) => feed.id),
    ...nextDue(feeds, effects.now()),
    feeds,
  };
}

/** One segment, made and verified, or that of an earlier release with the same inputs; undefined when no feed decides it. */
function makeSegment(
  dataDir: string,
  kind: SegmentKind,
  feeds: readonly LoadedFeed[],
  earlier: readonly (Release | undefined)[],
  later: readonly SegmentKind[],
  code: string,
  effects: BuildEffects,
): (SegmentReport & Decided) | undefined {
  const parts = feeds.filter((loaded) => belongsTo(kind, loaded));
  if (!parts.some((loaded) => isLoaded(loaded) && decides(loaded, FEED_SETS[kind].deciding)))
    return undefined;
  const reports = parts.map((loaded) => loaded.report);
  const inputs = inputsDigest(code, kind, reports);
  const same = earlier.find((made) => isReusable(dataDir, made?.segments[kind], inputs));
  const made: Written = same?.segments[kind] ?? writeSegment(dataDir, kind, parts, effects);
  for (const part of parts) if (!later.some((next) => belongsTo(next, part))) part.forget();
  if (same === undefined) verifySegment(dataDir, kind, made, effects);
  const { sha256, bytes } = made;
  return { sha256, bytes, inputs, ...decidedIn(kind, same ?? made) };
}

/**
 * Makes a segment; when that fails, again without each feed that has changed, one after the other, then without all.
 * @param feeds changed in place: the one to blame goes back to its last good copy
 * @throws what `make` throws when no changed feed is to blame
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
    if (typeof (error as { code?: unknown }).code === "string") throw error; // the system's, such as a full disk
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
        emit({ type: "note", text: `the ${kind} segment cannot be made with ${ids}: ${why}` });
        return made;
      } catch {
        for (const [index, one] of set) feeds[index] = one; // not to blame, or not alone
      }
    }
    throw error;
  }
}

/** Has it no copy in use, for another reason than those that are listed apart? Without a source it is for mirrors only. */
function isMissing(loaded: LoadedFeed, now: Date): boolean {
  const { urls, seed, own, file } = loaded.feed;
  const hasSource = urls(now).length > 0 || [seed, own, file].some((source) => source !== undefined);
  return hasSource && !isLoaded(loaded) && !loaded.refused && !loaded.unreached;
}

/** The release that stays in use because it is pinned. */
function pinnedBeside(dataDir: string, name: string): Pick<Build, "pinned"> {
  const pinned = currentName(dataDir);
  return pinned === undefined || pinned === name ? {} : { pinned };
}

/** Publishes the release that waits, as it was built; undefined when it is not sound, or another version built it. */
function publishHeld(dataDir: string, waiting: Release, now: Date): Build | undefined {
  if (waiting.code !== codeDigest() || releaseId(waiting) !== waiting.id) return undefined;
  if (brokenSegments(dataDir, waiting).length > 0) return undefined;
  const manifest = { ...waiting, created_at: now.toISOString() };
  const name = publish(dataDir, manifest);
  removeHeld(dataDir);
  const {
    held: _,
    failed: __,
    ...report
  } = readFeedsReport(dataDir) ?? { format: 1 as const, feeds: manifest.feeds };
  replaceJson(join(dataDir, DATA_FOLDER.feedsReport), { ...report, at: now.toISOString(), release: name });
  return {
    name,
    release: manifest,
    published: true,
    refused: [],
    unreached: [],
    missing: [],
    ...pinnedBeside(dataDir, name),
  };
}

function writeFeedsReport(
  dataDir: string,
  { name, held }: Partial<Pick<Build, "name" | "held">>,
  feeds: readonly LoadedFeed[],
  now: Date,
): void {
  const report: FeedsReport = {
    format: 1,
    at: now.toISOString(),
    ...(name !== undefined && { release: name }),
    feeds: feeds.map((loaded) => loaded.report),
    ...(held && { held }),
  };
  replaceJson(join(dataDir, DATA_FOLDER.feedsReport), report);
}

/** Keeps why the build failed, beside what the build before reported, until a build succeeds. */
function reportFailure(dataDir: string, why: string, { now, emit }: BuildEffects): void {
  const at = now().toISOString();
  const before = readFeedsReport(dataDir) ?? { format: 1 as const, at, feeds: [] };
  try {
    replaceJson(join(dataDir, DATA_FOLDER.feedsReport), { ...before, failed: { at, why } });
  } catch (error) {
    emit({ type: "note", text: `the failure cannot be recorded: ${messageOf(error)}` }); // as on a full disk
  }
}

/** Never in the past: a feed that is due already is due now. */
function nextDue(feeds: readonly LoadedFeed[], now: Date): Pick<Build, "nextDue"> {
  const times = feeds.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt.getTime()]));
  return times.length === 0
    ? {}
    : { nextDue: new Date(Math.max(now.getTime(), Math.min(...times))).toISOString() };
}

/** Has an earlier segment the same inputs, and is its file intact? */
const isReusable = (dataDir: string, earlier: SegmentReport | undefined, inputs: string): boolean =>
  earlier?.inputs === inputs && hasSegment(dataDir, earlier.sha256);

type Written = Omit<SegmentReport, "inputs"> & Decided;

/** What the policy decided for one segment, of a release or of what was just made. */
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
  const { sections, ...decided } = MAKERS[kind](parts, effects);
  return { ...writeSegmentFile(dataDir, segmentChunks(kind, sections, meta)), ...decided };
}

/** What the segment was made of is garbage by now: its feeds' mapped files and the file itself count as memory, too. */
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

function describe(
  segments: Release["segments"],
  feeds: readonly LoadedFeed[],
  { code, flagged, disposable }: Pick<Release, "code"> & Decided,
  now: Date,
): Release {
  const reports = feeds.map((loaded) => loaded.report);
  const missing = ANSWERS.filter((answer) => !decidingFeeds(answer, feeds).some(isLoaded));
  const manifest: Omit<Release, "id"> = {
    format: 1,
    created_at: now.toISOString(),
    code,
    segments,
    feeds: reports,
    ...(flagged && { flagged }),
    ...(disposable !== undefined && { disposable }),
    missing,
    partial: ANSWERS.filter((answer) => !missing.includes(answer)).flatMap((answer) =>
      whyPartial(answer, feeds),
    ),
  };
  return { id: releaseId(manifest), ...manifest };
}

function decidingFeeds(answer: Answer, feeds: readonly LoadedFeed[]): LoadedFeed[] {
  return feeds.filter((loaded) => decides(loaded, [answer]));
}

function whyPartial(answer: Answer, feeds: readonly LoadedFeed[]): Release["partial"] {
  const absent = feeds.filter((loaded) => canSet(answer, loaded) && !isLoaded(loaded));
  return absent.length === 0
    ? []
    : [{ answer, why: `without ${absent.map(({ feed }) => feed.id).join(", ")}` }];
}
