// release.ts: where the files of a data folder's current release are.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, type Release, release, type SegmentKind } from "@inkling/engine";

export interface CurrentRelease {
  readonly name: string;
  readonly manifest: Release;
  /** @throws Error when the release has no such segment */
  segmentPath(kind: SegmentKind): string;
}

/** @throws Error when there is none */
export function openCurrent(dataDir: string): CurrentRelease {
  const name = readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim();
  const manifest = release.parse(
    JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8")),
  );
  return {
    name,
    manifest,
    segmentPath: (kind) => {
      const segment = manifest.segments[kind];
      if (segment === undefined) throw new Error(`the release in ${dataDir} has no ${kind} segment`);
      return join(dataDir, DATA_FOLDER.segmentFile(segment.sha256));
    },
  };
}

/** The id that answers of the current release carry. */
export const currentId = (dataDir: string): string => openCurrent(dataDir).manifest.id;
