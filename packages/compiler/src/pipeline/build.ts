// build.ts: runs one build, from feeds to a published release.
//
// Nothing new is published if the newest release has the same content. Held feeds are listed in the Build and its
// release. A build throws if the folder is not writable, another build is running, or feeds.json or an own feed is
// invalid. If it waits for slow feeds, it may fail after it has published a first release.
//
// feeds -> claims -> policy -> tables -> segment files -> (rename) -> manifest -> (rename) -> current

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ACCEPT_RELEASE, recordOf } from "@inkling/contract";
import {
  currentName,
  DATA_FOLDER,
  keptManifests,
  lockDataFolder,
  makeCurrent,
  messageOf,
  prepareDataFolder,
  publish,
  recordFailedBuild,
  releaseId,
  replaceJson,
  sweep,
} from "@inkling/data";
import { ANSWERS, type Answer, type FeedsReport, type Release } from "@inkling/engine";
import { type BuildEffects, type BuildEvent, type BuildRequest, TROUBLES } from "./events.ts";
import { canSet, codeDigest, decides, isLoaded } from "./inputs.ts";
import { type LoadedFeed, loadFeeds } from "./load.ts";
import { makeSegments } from "./make-segments.ts";
import type { Decided } from "./segment-builders.ts";

/**
 * Milliseconds to wait for feeds. On a 1 Mbit/s line, all default feeds except DB-IP's arrive in 80 s. The feeds that
 * have arrived by then are enough for a release.
 */
const PATIENCE_MS = 90_000;

/** The result of a build, as its last event reports it. */
export type Build = Omit<Extract<BuildEvent, { type: "done" }>, "type" | "seconds" | "peakBytes">;

export async function build(request: BuildRequest, effects: BuildEffects): Promise<Build> {
  prepareDataFolder(request.dataDir);
  const unlock = lockDataFolder(request.dataDir);
  try {
    const deadline = performance.now() + (effects.patienceMs ?? PATIENCE_MS);
    const { feeds, ...first } = await buildLocked(request, effects, deadline);
    const late = feeds.filter((loaded) => loaded.isLate).map(({ feed }) => feed.id);
    if (late.length === 0) return first;
    // The first release contains the feeds that have arrived. The slow feeds now get the full time that a download may
    // take.
    const text = `still waiting for ${late.join(", ")}`;
    effects.emit({ type: "note", text, ...(first.published && { published: first.name }) });
    const arrived = feeds.filter((loaded) => !loaded.isLate);
    const { feeds: _, ...second } = await buildLocked(request, effects, undefined, arrived);
    return { ...second, published: first.published || second.published };
  } catch (error) {
    reportFailure(request.dataDir, messageOf(error), effects);
    throw error;
  } finally {
    unlock();
  }
}

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
  const { dataDir, accept, keepGeo } = request;
  removeHeldRelease(dataDir, effects);
  sweep(dataDir); // done now, because this build may publish nothing, or be killed
  const code = codeDigest();
  const newest = keptManifests(dataDir)[0];
  const before = newest?.manifest;
  const trusted = before?.code === code ? before : undefined;
  const loaded = await loadFeeds(request, trusted, effects, deadline, arrived);
  const { feeds, segments, decided } = await makeSegments(loaded, {
    dataDir,
    code,
    before,
    keepGeo,
    // If the operator accepted a copy other than the one that is held now, the feed is checked as usual.
    accept: accept.includes(ACCEPT_RELEASE)
      ? [ACCEPT_RELEASE]
      : loaded.flatMap(({ feed, isAccepted }) => (isAccepted ? feed.id : [])),
    effects,
  });
  const manifest = describe(segments, feeds, { code, ...decided }, effects.now());
  const same = before?.id === manifest.id ? newest : undefined;
  const name = same?.name ?? publish(dataDir, manifest);
  // `current` may have pointed to another release.
  const isMoved = same !== undefined && makeCurrent(dataDir, name);
  for (const one of feeds) one.settle();
  const report: FeedsReport = {
    format: 1,
    at: effects.now().toISOString(),
    release: name,
    feeds: feeds.map((loaded) => loaded.report),
  };
  replaceJson(join(dataDir, DATA_FOLDER.feedsReport), report);
  const troubled = recordOf(TROUBLES, (trouble) =>
    feeds.filter((one) => one.trouble === trouble).map(({ feed }) => feed.id),
  );
  const current = currentName(dataDir);
  return {
    name,
    release: same?.manifest ?? manifest,
    published: same === undefined || isMoved,
    ...(current !== undefined && current !== name && { pinned: current }),
    ...troubled,
    ...nextDue(feeds, effects.now()),
    feeds,
  };
}

/**
 * Removes a whole release that an earlier version held for the operator. Its copies are the last good ones, so this
 * build checks them again.
 */
function removeHeldRelease(dataDir: string, { emit }: BuildEffects): void {
  const path = join(dataDir, DATA_FOLDER.releases, "held.json");
  if (!existsSync(path)) return;
  rmSync(path);
  emit({
    type: "note",
    text: "removed the release that an earlier version held: this build checks its copies again",
  });
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
  const times = feeds.flatMap(({ report }) => report.next_check_at ?? []).map(Date.parse);
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
  const missing = ANSWERS.filter((answer) => !feeds.some((one) => decides(one, [answer]) && isLoaded(one)));
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

function whyPartial(answer: Answer, feeds: readonly LoadedFeed[]): Release["partial"] {
  const absent = feeds.filter((loaded) => canSet(answer, loaded) && !isLoaded(loaded));
  return absent.length === 0
    ? []
    : [{ answer, why: `without ${absent.map(({ feed }) => feed.id).join(", ")}` }];
}
