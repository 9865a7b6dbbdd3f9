// verified.ts: which segment files are sound: a mark beside each, for these exact files. They were read in full and
// verified, or have the hash of what a build wrote, which it verifies before it publishes (publish.ts).
//
// in   the stamp (inode, size, time of modification) that a file had before it was read, or after it was written
// out  the stamps of a release whose files are still those that were verified
// err  markVerified: errors of node:fs; without a mark a release is verified before it is used
// why  a mark is of one version of the format: another version's checks may be stricter

import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Release, SEGMENT_VERSION } from "@inkling/engine";
import { replaceFile } from "./atomic-file.ts";
import { fileStamp } from "./file-stamp.ts";
import { DATA_FOLDER } from "./layout.ts";

/** For each segment's SHA-256 the stamp of its file. */
export type Stamps = Readonly<Record<string, string>>;

const markOf = (stamp: string) => `${SEGMENT_VERSION} ${stamp}\n`;

/** @param stamp of the file before it was read, or after it was written */
export function markVerified(dataDir: string, sha256: string, stamp: string): void {
  if (!isMarked(dataDir, sha256, stamp)) {
    replaceFile(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), [markOf(stamp)]);
  }
  rmSync(join(dataDir, DATA_FOLDER.suspendedMark(sha256)), { force: true });
}

/**
 * Takes the marks of a release away until it is marked again, or {@link resumeMarks}: of a process that dies of touching
 * a file, the next start finds no marks.
 */
export function suspendMarks(dataDir: string, stamps: Stamps): void {
  renameMarks(dataDir, stamps, DATA_FOLDER.verifiedMark, DATA_FOLDER.suspendedMark);
}

/** Puts them back, but for those that were removed meanwhile. */
export function resumeMarks(dataDir: string, stamps: Stamps): void {
  renameMarks(dataDir, stamps, DATA_FOLDER.suspendedMark, DATA_FOLDER.verifiedMark);
}

function renameMarks(
  dataDir: string,
  stamps: Stamps,
  from: (sha256: string) => string,
  to: (sha256: string) => string,
): void {
  for (const sha256 of Object.keys(stamps)) {
    try {
      renameSync(join(dataDir, from(sha256)), join(dataDir, to(sha256)));
    } catch {
      // there is none, or the folder cannot be written: then Bun reads its files instead of mapping them
    }
  }
}

/** Of a file that was found unsound: the next start does not answer from it before it is verified again. */
export function removeMark(dataDir: string, sha256: string): void {
  try {
    for (const mark of [DATA_FOLDER.verifiedMark, DATA_FOLDER.suspendedMark])
      rmSync(join(dataDir, mark(sha256)), { force: true });
  } catch {
    // a folder that cannot be written: the mark remains, and each start verifies behind its answers
  }
}

function isMarked(dataDir: string, sha256: string, stamp: string): boolean {
  try {
    return readFileSync(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), "utf8") === markOf(stamp);
  } catch {
    return false; // there is none, or none that can be read
  }
}

/** The stamps that the files of a release have now. */
export function stampsOf(dataDir: string, { segments }: Pick<Release, "segments">): Stamps {
  const all = Object.values(segments).filter((segment) => segment !== undefined);
  return Object.fromEntries(
    all.map(({ sha256 }) => [sha256, fileStamp(join(dataDir, DATA_FOLDER.segmentFile(sha256)))]),
  );
}

/** Has every one of these files its mark? */
export function areMarked(dataDir: string, stamps: Stamps): boolean {
  return Object.entries(stamps).every(([sha256, stamp]) => isMarked(dataDir, sha256, stamp));
}

/** Those of these files that have their marks. */
export function markedOf(dataDir: string, stamps: Stamps): Stamps {
  const marked = Object.entries(stamps).filter(([sha256, stamp]) => isMarked(dataDir, sha256, stamp));
  return Object.fromEntries(marked);
}
