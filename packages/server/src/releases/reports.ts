// reports.ts: reads the data folder's reports about a release's feeds, the latest build and the channel, in the primary
// and in the workers.

import { type ChannelReport, channelReportFile, feedsReportFile, type NamedRelease } from "@inkling/data";
import { type FailedBuild, type FeedReport, feedsNow } from "@inkling/engine";

export abstract class Reports {
  private readonly report: ReturnType<typeof feedsReportFile>;
  private readonly channelReport: ReturnType<typeof channelReportFile>;

  constructor(dataDir: string) {
    this.report = feedsReportFile(dataDir);
    this.channelReport = channelReportFile(dataDir);
  }

  /** The release in use. Read it once for each request. */
  abstract get current(): NamedRelease | undefined;

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
