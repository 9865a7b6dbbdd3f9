// build.ts: one build, from feeds to a published release.
//
// in   a BuildRequest, the clock, and where events go
// out  "done": published, or found equal to what is there; refused feeds are in the release
// err  throws when nothing was published: the folder cannot be written, another build is at work, a broken invariant
//
// feeds -> claims -> policy -> tables -> segment files -> (rename) -> manifest -> (rename) -> current

import { join } from "node:path";
import {
  ANSWERS,
  type Answer,
  type FeedsReport,
  type Release,
  type SegmentKind,
  type SegmentReport,
} from "@inkling/engine";
import {
  DATA_FOLDER,
  findCurrent,
  findNewest,
  hasSegment,
  lockDataFolder,
  makeCurrent,
  mapFile,
  openSegmentOf,
  prepareDataFolder,
  publish,
  releaseId,
  replaceJson,
  sweep,
  writeSegmentFile,
} from "@inkling/release-store";
import type { Feed } from "../catalog/feed.ts";
import { chosenFeeds, readFeedChoice } from "../catalog/feed-choice.ts";
import { FEEDS } from "../catalog/feeds.ts";
import type { FetchTimes } from "../fetch/fetch.ts";
import { segmentChunks } from "../segments/segment-writer.ts";
import type { BuildEvent, BuildRequest } from "./events.ts";
import { codeDigest, inputsDigest } from "./inputs.ts";
import { type LoadedFeed, loadFeed } from "./load.ts";
import { collectGarbage, MAKERS } from "./makers.ts";
import { belongsTo, decides, isLoaded, PARTS } from "./parts.ts";

export interface BuildEffects {
  readonly now: () => Date;
  readonly emit: (event: BuildEvent) => void;
  /** From 0 to 1, as Math.random: spreads requests. */
  readonly chance: () => number;
  /** For tests: another feed table, other time limits. */
  readonly feeds?: readonly Feed[];
  readonly times?: FetchTimes;
}

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
  /** When the next feed is due; absent when none has a remote source. */
  readonly nextDue?: string;
}

/** Feeds loaded at once, so that a slow publisher does not delay the others. */
const CONCURRENT_LOADS = 4;

export async function build(request: BuildRequest, effects: BuildEffects): Promise<Build> {
  prepareDataFolder(request.dataDir);
  const unlock = lockDataFolder(request.dataDir);
  try {
    return await buildLocked(request, effects);
  } finally {
    unlock();
  }
}

async function buildLocked(request: BuildRequest, effects: BuildEffects): Promise<Build> {
  sweep(request.dataDir); // now, as this build may publish nothing, or be killed
  const code = codeDigest();
  const newest = findNewest(request.dataDir);
  const before = newest?.manifest;
  const trusted = before?.code === code ? before : undefined;
  const feeds = await loadFeeds(request, trusted, effects);
  const segments: { -readonly [Kind in SegmentKind]?: SegmentReport } = {};
  for (const kind of ["reputation", "email", "geo"] as const) {
    const parts = feeds.filter((loaded) => belongsTo(kind, loaded));
    if (!parts.some((loaded) => isLoaded(loaded) && decides(loaded, PARTS[kind].deciding))) continue;
    const inputs = inputsDigest(
      code,
      kind,
      parts.map((loaded) => loaded.report),
    );
    segments[kind] =
      reusable(request.dataDir, before?.segments[kind], inputs) ??
      writeSegment(request.dataDir, kind, parts, inputs, effects);
    for (const part of parts) part.forget();
  }
  const manifest = describe(segments, feeds, code, effects.now());
  const same = newest?.manifest.id === manifest.id ? newest : undefined;
  const name = same?.name ?? publish(request.dataDir, manifest);
  const isMoved = same !== undefined && makeCurrent(request.dataDir, name); // another was pinned, or it was damaged
  writeFeedsReport(request.dataDir, name, feeds, effects.now());
  const pinned = findCurrent(request.dataDir)?.name;
  return {
    name,
    release: same?.manifest ?? manifest,
    published: same === undefined || isMoved,
    ...(pinned !== undefined && pinned !== name && { pinned }),
    refused: feeds.filter((loaded) => loaded.refused).map(({ feed }) => feed.id),
    unreached: feeds.filter((loaded) => loaded.unreached).map(({ feed }) => feed.id),
    ...nextDue(feeds),
  };
}

function writeFeedsReport(dataDir: string, release: string, feeds: readonly LoadedFeed[], now: Date): void {
  const report: FeedsReport = {
    format: 1,
    at: now.toISOString(),
    release,
    feeds: feeds.map((loaded) => loaded.report),
  };
  replaceJson(join(dataDir, DATA_FOLDER.feedsReport), report);
}

function nextDue(feeds: readonly LoadedFeed[]): Pick<Build, "nextDue"> {
  const times = feeds.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt.getTime()]));
  return times.length === 0 ? {} : { nextDue: new Date(Math.min(...times)).toISOString() };
}

async function loadFeeds(
  request: BuildRequest,
  trusted: Release | undefined,
  { now, emit, chance, feeds = FEEDS, times }: BuildEffects,
): Promise<LoadedFeed[]> {
  const chosen = chosenFeeds(feeds, readFeedChoice(request.dataDir));
  const loaded: LoadedFeed[] = [];
  const waiting = [...chosen.entries()];
  let done = 0;
  const report = () => emit({ type: "progress", step: "reading feeds", done, total: chosen.length });
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, feed] = next;
      const accept = request.accept.includes(feed.id);
      const options = { ...request, accept, now: now(), chance, ...(times && { times }) };
      loaded[index] = await loadFeed(feed, options, trusted);
      emit({ type: "feed", feed: loaded[index].report });
      done++;
      report();
    }
  };
  report();
  await Promise.all(Array.from({ length: CONCURRENT_LOADS }, work));
  return loaded;
}

/** The previous release's segment, when its inputs are the same and its file is intact. */
function reusable(
  dataDir: string,
  before: SegmentReport | undefined,
  inputs: string,
): SegmentReport | undefined {
  if (before === undefined || before.inputs !== inputs) return undefined;
  return hasSegment(dataDir, before.sha256) ? before : undefined;
}

function writeSegment(
  dataDir: string,
  kind: SegmentKind,
  parts: readonly LoadedFeed[],
  inputs: string,
  { emit }: BuildEffects,
): SegmentReport {
  emit({ type: "progress", step: `building ${kind}`, done: 0 });
  const meta = {
    feeds: parts.filter(isLoaded).map(({ report }) => ({ id: report.id, sha256: report.sha256 })),
  };
  const written = writeSegmentFile(dataDir, segmentChunks(kind, MAKERS[kind](parts, emit), meta));
  collectGarbage();
  emit({ type: "progress", step: `verifying ${kind}`, done: 0 });
  openSegmentOf(kind, mapFile(join(dataDir, DATA_FOLDER.segmentFile(written.sha256)))).verify();
  return { ...written, inputs };
}

function describe(
  segments: Release["segments"],
  feeds: readonly LoadedFeed[],
  code: string,
  now: Date,
): Release {
  const reports = feeds.map((loaded) => loaded.report);
  const manifest: Omit<Release, "id"> = {
    format: 1,
    created_at: now.toISOString(),
    code,
    segments,
    feeds: reports,
    missing: ANSWERS.filter((answer) => !decidingFeeds(answer, feeds).some(isLoaded)),
    partial: ANSWERS.flatMap((answer) => whyPartial(answer, decidingFeeds(answer, feeds))),
  };
  return { id: releaseId(manifest), ...manifest };
}

function decidingFeeds(answer: Answer, feeds: readonly LoadedFeed[]): LoadedFeed[] {
  return feeds.filter((loaded) => decides(loaded, [answer]));
}

function whyPartial(answer: Answer, feeds: readonly LoadedFeed[]): Release["partial"] {
  const absent = feeds.filter((loaded) => !isLoaded(loaded)).map(({ feed }) => feed.id);
  if (absent.length === 0 || absent.length === feeds.length) return [];
  return [{ answer, why: `without ${absent.join(", ")}` }];
}
