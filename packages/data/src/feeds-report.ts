// feeds-report.ts: the state of feeds after the last build, even if that build created no release.
//
// If there is no readable report, the release's own feed reports are used.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FailedBuild, type FeedReport, type FeedsReport, feedsNow, feedsReport } from "@inkling/engine";
import { replaceJson } from "./atomic-file.ts";
import { StampedFile } from "./fingerprints.ts";
import { DATA_FOLDER, makeFolder } from "./layout.ts";
import type { NamedRelease } from "./releases.ts";

/** @returns undefined if the report does not exist or cannot be read */
export function readFeedsReport(dataDir: string): FeedsReport | undefined {
  try {
    return feedsReport.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.feedsReport), "utf8")));
  } catch {
    return undefined;
  }
}

/**
 * Records a failed build next to the report of the previous build, until a build succeeds.
 * @param failed undefined removes a failure of the channel's builder, whose reports this host does not have
 * @throws errors of node:fs
 */
export function recordFailedBuild(dataDir: string, failed: FailedBuild | undefined): void {
  const report = readFeedsReport(dataDir);
  if (report?.failed?.at === failed?.at && report?.failed?.why === failed?.why) return;
  const before = report ?? { format: 1 as const, at: failed?.at, feeds: [] };
  const path = join(dataDir, DATA_FOLDER.feedsReport);
  makeFolder(dirname(path));
  replaceJson(path, { ...before, failed });
}

export const feedsReportFile = (dataDir: string) =>
  new StampedFile(join(dataDir, DATA_FOLDER.feedsReport), () => readFeedsReport(dataDir));

/** Returns the state of the feeds in a release after the last build: attempts, stale copies and held copies. */
export function feedsOf(dataDir: string, { manifest }: NamedRelease): readonly FeedReport[] {
  return feedsNow(manifest, readFeedsReport(dataDir));
}
