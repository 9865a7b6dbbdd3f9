// release.ts: where the files of a data folder's current release are, what it was made of, and what it answers.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dataStates, type FeedReport, type Release, release, type SegmentKind } from "@inkling/engine";
import { DATA_FOLDER } from "@inkling/release-store";
import type { Scope } from "@inkling/server";

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

/** Why look-ups of a kind get no answer but 503 with a release; undefined when they are answered. */
export function whyRefused(manifest: Pick<Release, "missing" | "partial">, scope: Scope): string | undefined {
  const { missing } = dataStates(manifest)[scope];
  return missing.length === 0 ? undefined : `the data says nothing of ${missing.join(" and ")}`;
}

type Source = FeedReport["source"];
/** In words, in the order that they are told. */
const SOURCES: readonly (readonly [word: string, sources: readonly Source[]])[] = [
  ["from a mirror", ["mirror"]],
  ["fetched", ["fetched", "last-good"]],
  ["from npm packages (seeds)", ["seed"]],
  ["Inkling's own", ["own"]],
];

/** Where the data of a release came from, in one line. */
export function sourcesLine({ feeds, missing }: Pick<Release, "feeds" | "missing">): string {
  const loaded = feeds.filter(({ state }) => state === "loaded");
  const counts = SOURCES.map(
    ([word, sources]) => [word, loaded.filter(({ source }) => sources.includes(source)).length] as const,
  ).filter(([, count]) => count > 0);
  const parts = counts.map(([word, count]) => `${count} ${word}`);
  const without = missing.length === 0 ? "" : `; none says anything of ${missing.join(" and ")}`;
  return `feeds: ${parts.join(", ")}${without}`;
}
