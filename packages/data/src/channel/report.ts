// report.ts: the result of the last attempt to follow a channel, for status, metrics and `inkling channel status`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceJson } from "../atomic-file.ts";
import { StampedFile } from "../fingerprints.ts";
import { DATA_FOLDER } from "../layout.ts";
import { CHANNEL_FAULT_KINDS } from "./channel-error.ts";

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

export function writeChannelReport(dataDir: string, report: ChannelReport): void {
  replaceJson(join(dataDir, DATA_FOLDER.channelReport), report);
}

export function readChannelReport(dataDir: string): ChannelReport | undefined {
  try {
    return channelReport.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.channelReport), "utf8")));
  } catch {
    return undefined;
  }
}

export const channelReportFile = (dataDir: string) =>
  new StampedFile(join(dataDir, DATA_FOLDER.channelReport), () => readChannelReport(dataDir));
