// reports.ts: what other processes read about the last build and the channel: the state of the feeds, even if the build
// created no release, and the result of the last attempt to follow the channel. The server, doctor and
// `inkling channel status` show them.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FailedBuild, type FeedReport, type FeedsReport, feedsNow, feedsReport } from "@inkling/engine";
import { z } from "zod";
import { replaceJson } from "./atomic-file.ts";
import { CHANNEL_FAULT_KINDS } from "./channel/channel-error.ts";
import { StampedFile } from "./fingerprints.ts";
import { DATA_FOLDER, makeFolder } from "./layout.ts";
import type { NamedRelease } from "./releases.ts";

const time = z.iso.datetime();

export const channelReport = z.object({
  channel: z.string(),
  /** When the channel was last read and found valid; null if that has not happened yet. */
  followed_at: time.nullable(),
  /** The last version that was taken completely. The next two fields are from its statement. */
  version: z.number().int().nullable(),
  release: z.string().nullable(),
  expires_at: time.nullable(),
  /** Why the channel cannot be followed now. */
  fault: z.strictObject({ kind: z.enum(CHANNEL_FAULT_KINDS), reason: z.string(), since: time }).nullable(),
});
export type ChannelReport = Readonly<z.infer<typeof channelReport>>;

/** Creates a reader of a report, which returns undefined if the report does not exist or cannot be read. */
const readerOf =
  <T>(file: string, schema: z.ZodType<T>) =>
  (dataDir: string): T | undefined => {
    try {
      return schema.parse(JSON.parse(readFileSync(join(dataDir, file), "utf8")));
    } catch {
      return undefined;
    }
  };

export const readFeedsReport = readerOf<FeedsReport>(DATA_FOLDER.feedsReport, feedsReport);
export const readChannelReport = readerOf<ChannelReport>(DATA_FOLDER.channelReport, channelReport);

export const feedsReportFile = (dataDir: string) =>
  new StampedFile(join(dataDir, DATA_FOLDER.feedsReport), () => readFeedsReport(dataDir));
export const channelReportFile = (dataDir: string) =>
  new StampedFile(join(dataDir, DATA_FOLDER.channelReport), () => readChannelReport(dataDir));

export function writeChannelReport(dataDir: string, report: ChannelReport): void {
  replaceJson(join(dataDir, DATA_FOLDER.channelReport), report);
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

/**
 * Returns the state of the feeds in a release after the last build: attempts, stale copies and held copies. Without a
 * readable report, these are the release's own.
 */
export function feedsOf(dataDir: string, { manifest }: NamedRelease): readonly FeedReport[] {
  return feedsNow(manifest, readFeedsReport(dataDir));
}
