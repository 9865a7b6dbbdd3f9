// feeds-report.ts: the state of feeds after the last build, which need not have made a release.
//
// in   feeds/report.json of the data folder, which each build replaces by rename
// out  FeedsReport, read again only when the file has changed
// err  none: without a readable report, the release's own feed reports are used

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type FailedBuild,
  type FeedReport,
  type FeedsReport,
  feedsNow,
  feedsReport,
  type HeldRelease,
} from "@inkling/engine";
import { fileStamp } from "./file-stamp.ts";
import { DATA_FOLDER } from "./layout.ts";
import type { NamedRelease } from "./releases.ts";

/** @returns undefined if there is none, or none that can be read */
export function readFeedsReport(dataDir: string): FeedsReport | undefined {
  try {
    return feedsReport.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.feedsReport), "utf8")));
  } catch {
    return undefined;
  }
}

export class FeedsReportFile {
  private readonly dataDir: string;
  private stamp: string | undefined;
  private report: FeedsReport | undefined;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  get current(): FeedsReport | undefined {
    const stamp = fileStamp(join(this.dataDir, DATA_FOLDER.feedsReport));
    if (stamp !== this.stamp) this.report = readFeedsReport(this.dataDir);
    this.stamp = stamp;
    return this.report;
  }

  /** The release that was built and waits for the operator. */
  get held(): HeldRelease | undefined {
    return this.current?.held;
  }

  /** The latest build, if it failed. */
  get failed(): FailedBuild | undefined {
    return this.current?.failed;
  }

  /** The feeds of a release in their present state: checks and failures since the build included. */
  feedsOf(release: Pick<NamedRelease, "manifest"> | undefined): readonly FeedReport[] {
    return release === undefined ? [] : feedsNow(release.manifest, this.current);
  }
}

/** The feeds of a release in their state after the last build: attempts, stale and pending copies. */
export function feedsOf(dataDir: string, { manifest }: NamedRelease): readonly FeedReport[] {
  return feedsNow(manifest, readFeedsReport(dataDir));
}
