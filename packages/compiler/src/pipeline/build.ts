// build.ts: runs one build, from feeds to a published release.
//
// in   a BuildRequest; BuildEffects, such as the clock and a function that receives events
// out  a Build, which describes the newest release. Nothing new is published if the newest release has the same
//      content, or if the new release is held for the operator. Refused feeds are listed in the Build and its release
// err  NothingToServe if the very first release is held. Other errors if the folder is not writable, another build is
//      running, feeds.json or an own feed is invalid, or an invariant is broken. A build that waits for slow feeds may
//      fail after it has published a first release
//
// feeds -> claims -> policy -> tables -> segment files -> (rename) -> manifest -> (rename) -> current

import { join } from "node:path";
import { ANSWERS, type Answer, type FeedsReport, type HeldRelease, type Release } from "@inkling/engine";
import {
  brokenSegments,
  currentName,
  DATA_FOLDER,
  findHeld,
  findNewest,
  lockDataFolder,
  makeCurrent,
  messageOf,
  prepareDataFolder,
  publish,
  readFeedsReport,
  recordFailedBuild,
  releaseId,
  removeHeld,
  replaceJson,
  sweep,
  writeBuildProgress,
  writeHeld,
} from "@inkling/release-store";
import { whyHeld } from "../validate/release-gate.ts";
import { ACCEPT_RELEASE, type BuildEffects, type BuildRequest } from "./events.ts";
import { codeDigest } from "./inputs.ts";
import { type LoadedFeed, loadFeeds } from "./load.ts";
import { makeSegments } from "./make-segments.ts";
import { canSet, decides, isLoaded } from "./parts.ts";
import type { Decided } from "./segment-builders.ts";

/**
 * Milliseconds to wait for feeds. On a 1 Mbit/s line, all default feeds except DB-IP's arrive in 80 s. The feeds that
 * have arrived by then are enough for a release.
 */
const PATIENCE_MS = 90_000;

export interface Build {
  readonly name: string;
  readonly release: Release;
  /**
   * Whether this build published a release, or moved `current` to the newest release. Otherwise, the new release has
   * the same content as the newest release, or is held.
   */
  readonly published: boolean;
  /** The release that remains in use because it is pinned, regardless of what this build published. */
  readonly pinned?: string;
  /** Feeds that had a copy refused, whether or not an older copy is in use. */
  readonly refused: readonly string[];
  /** Feeds whose source could not be reached. */
  readonly unreached: readonly string[];
  /** Other feeds that have a source but no usable copy. */
  readonly missing: readonly string[];
  /** The release that was built and waits for the operator. `name` and `release` then describe the previous release. */
  readonly held?: HeldRelease;
  /** When the next feed is due. Absent if no feed has a remote source. */
  readonly nextDue?: string;
}

export async function build(request: BuildRequest, outer: BuildEffects): Promise<Build> {
  prepareDataFolder(request.dataDir);
  const unlock = lockDataFolder(request.dataDir);
  const effects: BuildEffects = {
    ...outer,
    emit: (event) => {
      if (event.type === "progress") writeBuildProgress(request.dataDir, event);
      outer.emit(event);
    },
  };
  try {
    const deadline = performance.now() + (effects.patienceMs ?? PATIENCE_MS);
    const { feeds, ...first } = await buildLocked(request, effects, deadline);
    const late = feeds.filter((loaded) => loaded.late).map(({ feed }) => feed.id);
    if (late.length === 0) return first;
    // The first release contains the feeds that have arrived. The slow feeds now get the full time that a download may
    // take.
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

/** No release was published, and there is no earlier release. */
export class NothingToServe extends Error {}

/**
 * @param deadline the time at which the build continues without the feeds that have not arrived
 * @param arrived feeds that are already loaded
 */
async function buildLocked(
  request: BuildRequest,
  effects: BuildEffects,
  deadline?: number,
  arrived: readonly LoadedFeed[] = [],
): Promise<Build & { feeds: readonly LoadedFeed[] }> {
  const { dataDir } = request;
  sweep(dataDir); // done now, because this build may publish nothing, or be killed
  const found = findHeld(dataDir);
  const isAccepted = request.accept.includes(ACCEPT_RELEASE);
  const isForFound = isAccepted && request.accept.length === 1 && found !== undefined;
  const accepted = isForFound ? publishHeld(dataDir, found, effects.now()) : undefined;
  if (accepted !== undefined) return { ...accepted, feeds: [] };
  // If the accepted release could not be published, it is damaged or from another version. The build then uses none of
  // its parts.
  const waiting = isForFound ? undefined : found;
  const code = codeDigest();
  const newest = findNewest(dataDir);
  const before = newest?.manifest;
  const trusted = before?.code === code ? before : undefined;
  const feeds = await loadFeeds(request, trusted, code, effects, deadline, arrived);
  const { segments, decided } = await makeSegments(feeds, {
    dataDir,
    code,
    earlier: [before, waiting],
    effects,
  });
  const manifest = describe(segments, feeds, { code, ...decided }, effects.now());
  const same = before?.id === manifest.id ? newest : undefined;
  const why = same || isAccepted ? undefined : whyHeld(manifest, before, request.accept);
  const held = why === undefined ? undefined : hold(dataDir, manifest, waiting, why);
  const settle = (report: Partial<Pick<Build, "name" | "held">>) => {
    for (const loaded of feeds) loaded.settle();
    writeFeedsReport(dataDir, report, feeds, effects.now());
  };
  if (held === undefined) removeHeld(dataDir);
  else if (newest === undefined) {
    settle({ held });
    throw new NothingToServe(`the first release needs your approval: ${held.why}`);
  }
  const kept = held === undefined ? same : newest;
  const name = kept?.name ?? publish(dataDir, manifest);
  // `current` may have pointed to another release.
  const isMoved = kept !== undefined && makeCurrent(dataDir, name);
  if (held !== undefined) sweep(dataDir); // removes segments of a previously held release
  settle({ name, ...(held && { held }) });
  return {
    name,
    release: kept?.manifest ?? manifest,
    published: kept === undefined || isMoved,
    ...pinnedBeside(dataDir, name),
    ...(held && { held }),
    refused: feeds.filter((loaded) => loaded.refused).map(({ feed }) => feed.id),
    unreached: feeds.filter((loaded) => loaded.unreached).map(({ feed }) => feed.id),
    missing: feeds.filter((loaded) => isMissing(loaded, effects.now())).map(({ feed }) => feed.id),
    ...nextDue(feeds, effects.now()),
    feeds,
  };
}

/** Holds a release for the operator. If the release is already held, its time does not change. */
function hold(dataDir: string, manifest: Release, waiting: Release | undefined, why: string): HeldRelease {
  const at = waiting?.id === manifest.id ? waiting.created_at : manifest.created_at;
  writeHeld(dataDir, { ...manifest, created_at: at });
  return { id: manifest.id, at, why };
}

/**
 * Returns whether the feed has a source but no copy in use, and is neither refused nor unreached. A feed without a
 * source is available only from mirrors.
 */
function isMissing(loaded: LoadedFeed, now: Date): boolean {
  const { urls, seed, own, file } = loaded.feed;
  const hasSource = urls(now).length > 0 || [seed, own, file].some((source) => source !== undefined);
  return hasSource && !isLoaded(loaded) && !loaded.refused && !loaded.unreached;
}

/** Returns the release that remains in use because it is pinned. */
function pinnedBeside(dataDir: string, name: string): Pick<Build, "pinned"> {
  const pinned = currentName(dataDir);
  return pinned === undefined || pinned === name ? {} : { pinned };
}

/**
 * Publishes the held release as it was built. Returns undefined if it is damaged, or was built by another version of
 * Inkling.
 */
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

function reportFailure(dataDir: string, why: string, { now, emit }: BuildEffects): void {
  try {
    recordFailedBuild(dataDir, { at: now().toISOString(), why });
  } catch (error) {
    // Writing fails if the disk is full, for example.
    emit({ type: "note", text: `the failure cannot be recorded: ${messageOf(error)}` });
  }
}

/** Returns the time of the next check. It is never in the past: an overdue feed is due now. */
function nextDue(feeds: readonly LoadedFeed[], now: Date): Pick<Build, "nextDue"> {
  const times = feeds.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt.getTime()]));
  return times.length === 0
    ? {}
    : { nextDue: new Date(Math.max(now.getTime(), Math.min(...times))).toISOString() };
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
