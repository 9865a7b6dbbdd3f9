// layout.ts: where everything stands in the data folder (docs/operations.md).

import { mkdirSync } from "node:fs";
import { join } from "node:path";

export const DATA_FOLDER = {
  feeds: "feeds",
  segments: "segments",
  releases: "releases",
  current: "current",
  /** Names the release that stays in use, whatever is built, as long as the file is there. */
  pinned: "pinned",
  lock: "build.lock",
  feedsReport: "feeds/report.json",
  lastBuild: "last-build.json",
  database: "inkling.db",
  segmentFile: (sha256: string) => `segments/${sha256}.seg`,
  releaseFile: (name: string) => `releases/${name}.json`,
} as const;

/** Makes the folder and what belongs in it. */
export function prepareDataFolder(dataDir: string): void {
  for (const part of [DATA_FOLDER.feeds, DATA_FOLDER.segments, DATA_FOLDER.releases]) {
    mkdirSync(join(dataDir, part), { recursive: true });
  }
}
