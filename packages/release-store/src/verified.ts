// verified.ts: marks segment files as sound. A mark is stored next to its file, and is valid only for exactly that
// file. A marked file was read in full and verified, or has the hash of a segment that a build wrote and verifies
// before it publishes (publish.ts).
//
// in   the file's stamp (inode, size, modification time) from before it was read, or from after it was written
// out  the stamps of a release whose files have not changed since their verification
// err  markVerified: errors of node:fs; a release without marks is verified before it is used
// why  A mark is valid only for one version of the segment format, because another version's checks may be stricter.

import { readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Release, SEGMENT_VERSION, type SegmentKind } from "@inkling/engine";
import { replaceFile } from "./atomic-file.ts";
import { fileStamp } from "./file-stamp.ts";
import { DATA_FOLDER } from "./layout.ts";

/** File stamps, keyed by the segment's SHA-256. */
export type Stamps = Readonly<Record<string, string>>;

const markOf = (stamp: string) => `${SEGMENT_VERSION} ${stamp}\n`;

/** @param stamp the file's stamp from before it was read, or from after it was written */
export function markVerified(dataDir: string, sha256: string, stamp: string): void {
  if (!isMarked(dataDir, sha256, stamp)) {
    replaceFile(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), [markOf(stamp)]);
  }
  rmSync(join(dataDir, DATA_FOLDER.suspendedMark(sha256)), { force: true });
}

/**
 * Hides a release's marks until the files are marked again or {@link resumeMarks} is called. If touching a file kills
 * the process, the next start finds no marks.
 */
export function suspendMarks(dataDir: string, stamps: Stamps): void {
  renameMarks(dataDir, stamps, DATA_FOLDER.verifiedMark, DATA_FOLDER.suspendedMark);
}

/** Restores the suspended marks, except for marks that were removed in the meantime. */
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
      // there is no mark, or the folder is not writable
    }
  }
}

/** Removes the mark of a file that was found unsound. The next start then verifies the file before using it. */
export function removeMark(dataDir: string, sha256: string): void {
  try {
    for (const mark of [DATA_FOLDER.verifiedMark, DATA_FOLDER.suspendedMark])
      rmSync(join(dataDir, mark(sha256)), { force: true });
  } catch {
    // the folder is not writable, so the mark remains, and each start verifies the file while already answering
  }
}

function isMarked(dataDir: string, sha256: string, stamp: string): boolean {
  try {
    return readFileSync(join(dataDir, DATA_FOLDER.verifiedMark(sha256)), "utf8") === markOf(stamp);
  } catch {
    return false; // there is no mark, or it cannot be read
  }
}

/** Reads the current stamps of the files in a release. */
export function stampsOf(dataDir: string, { segments }: Pick<Release, "segments">): Stamps {
  const all = Object.values(segments).filter((segment) => segment !== undefined);
  return Object.fromEntries(
    all.map(({ sha256 }) => [sha256, fileStamp(join(dataDir, DATA_FOLDER.segmentFile(sha256)))]),
  );
}

/** Returns whether each of these files has its mark. */
export function areMarked(dataDir: string, stamps: Stamps): boolean {
  return Object.entries(stamps).every(([sha256, stamp]) => isMarked(dataDir, sha256, stamp));
}

/** Returns the stamps of the files among these that have a mark. */
export function markedOf(dataDir: string, stamps: Stamps): Stamps {
  const marked = Object.entries(stamps).filter(([sha256, stamp]) => isMarked(dataDir, sha256, stamp));
  return Object.fromEntries(marked);
}

/**
 * Finds the segments whose files were changed or replaced after they were verified, according to their stamps. This
 * does not read the files. A server that refuses a file removes its mark, so a file without a mark is compared with the
 * manifest, which is written after the segments.
 */
export function changedSegments(
  dataDir: string,
  { name, manifest }: { readonly name: string; readonly manifest: Pick<Release, "segments"> },
): SegmentKind[] {
  const kinds = Object.keys(manifest.segments) as SegmentKind[];
  return kinds.filter((kind) => {
    const { sha256 } = manifest.segments[kind] ?? {};
    if (sha256 === undefined) return false;
    try {
      const file = join(dataDir, DATA_FOLDER.segmentFile(sha256));
      const { mtimeMs } = statSync(file);
      const stamp = markedStamp(dataDir, sha256);
      if (stamp !== undefined) return stamp !== fileStamp(file);
      return mtimeMs > statSync(join(dataDir, DATA_FOLDER.releaseFile(name))).mtimeMs;
    } catch {
      return false; // a file cannot be inspected; checkFiles reports that
    }
  });
}

/** Reads the stamp in a file's mark, of any version; undefined if there is no mark. */
function markedStamp(dataDir: string, sha256: string): string | undefined {
  for (const mark of [DATA_FOLDER.verifiedMark, DATA_FOLDER.suspendedMark]) {
    try {
      return (
        readFileSync(join(dataDir, mark(sha256)), "utf8")
          .trim()
          .split(" ")[1] ?? ""
      );
    } catch {
      // there is no such mark
    }
  }
  return undefined;
}
