// verified.ts: which segment files were read in full and found sound: a mark beside each, for these exact files.
//
// in   the stamp (inode, size, time of modification) that a file had when its SHA-256 was computed
// out  the stamps of a release whose files are still those that were verified
// err  markVerified: those of node:fs; without a mark a release is verified before it is used
// why  a mark is of one version of the format: another version's checks may be stricter

import { readFileSync, rmSync } from "node:fs";
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
  if (isMarked(dataDir, sha256, stamp)) return;
  replaceFile(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), [markOf(stamp)]);
}

/** Of a file that was found unsound: the next start does not answer from it before it is verified again. */
export function removeMark(dataDir: string, sha256: string): void {
  try {
    rmSync(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), { force: true });
  } catch {
    // a folder that cannot be written: the mark stays, and each start verifies behind its answers
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
