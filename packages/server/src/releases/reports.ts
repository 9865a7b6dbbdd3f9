// reports.ts: defines the state of the release in use and of the release that should be. It reads the data folder's
// reports about feeds, the latest build and the channel. The primary and each thread that answers requests have one.

import { type ChannelReport, channelReportFile, feedsReportFile, type NamedRelease } from "@inkling/data";
import { type FailedBuild, type FeedReport, feedsNow } from "@inkling/engine";
import type { EpochMs } from "@inkling/store/keys/key";

/** Why the wanted release is not in use. */
export interface Refusal {
  readonly name: string;
  readonly reason: string;
  readonly at: EpochMs;
}

export abstract class Reports {
  private readonly report: ReturnType<typeof feedsReportFile>;
  private readonly channelReport: ReturnType<typeof channelReportFile>;

  constructor(dataDir: string) {
    this.report = feedsReportFile(dataDir);
    this.channelReport = channelReportFile(dataDir);
  }

  /** The release in use. Read it once for each request. */
  abstract get current(): NamedRelease | undefined;
  /** When the server began to use this release; undefined if there is none. */
  abstract get since(): EpochMs | undefined;
  /** The release that should be in use: the name in the data folder's `current`. */
  wanted: string | undefined;
  /** Why the wanted release is not in use; undefined while it is. */
  refused: Refusal | undefined;

  /** The current state of the release's feeds, including checks and failures since the build. */
  get feeds(): readonly FeedReport[] {
    const { current } = this;
    return current === undefined ? [] : feedsNow(current.manifest, this.report.current);
  }

  /** The latest build, if it failed; otherwise undefined. */
  get failedBuild(): FailedBuild | undefined {
    return this.report.current?.failed;
  }

  /** The result of the last check of the channel; undefined without a channel. */
  get channel(): ChannelReport | undefined {
    return this.channelReport.current;
  }
}
