// verify.ts: reads every byte of a release. Checks the size and the SHA-256 of each segment against the manifest, then
// its contents.
//
// Cost: 0.9 s of CPU time for 280 MB of segments, so a server runs this in a thread (verify-thread.ts). Only a file
// that was read to its end and has the right hash is mapped, because touching a truncated one kills the process.
//
// mem  190 MB of private memory. A file is read in pieces and then mapped, so the kernel can drop its pages.

import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  checkSegmentStart,
  EmailSegment,
  IpSegment,
  type Release,
  SEGMENT_KINDS,
  SegmentError,
  type SegmentKind,
  type SegmentReport,
} from "@inkling/engine";
import { messageOf, otherVersionHint, rebuildHint } from "./errors.ts";
import { hashFile } from "./fingerprints.ts";
import { DATA_FOLDER } from "./layout.ts";
import { mapFile, readStart } from "./open.ts";
import { findCurrent, isRetryable, openManifest, ReleaseError, releasesBefore } from "./releases.ts";

/** The result of checking one segment. */
interface SegmentVerdict {
  readonly kind: SegmentKind;
  readonly file: string;
  readonly bytes: number;
  /** What is wrong with the segment; undefined if it is sound. */
  readonly problem?: string;
  /** The hash is correct, but there is a problem, for example because another version of Inkling wrote the file. */
  readonly isIntact?: true;
  /** The file is sound, but its kind or size differs from the manifest. The manifest is wrong, not the file. */
  readonly isMisnamed?: true;
  /** The file does not exist. */
  readonly isGone?: true;
  /** The file could not be read. A retry may succeed. */
  readonly isRetryable?: true;
}

type Problem = Omit<SegmentVerdict, "kind" | "file" | "bytes">;

/** Opens a segment without reading its contents. @throws SegmentError if the header or the bounds are wrong */
export function openSegmentOf(kind: SegmentKind, bytes: Uint8Array): IpSegment | EmailSegment {
  return kind === "email" ? EmailSegment.open(bytes) : IpSegment.open(bytes, kind);
}

/**
 * Verifies a release.
 * @throws ReleaseError if the manifest cannot be read, or if a segment is corrupt, missing or of another version;
 *   `isRetryable` if all problems are read errors
 */
export function verifyRelease(dataDir: string, name: string): void {
  const broken = brokenSegments(dataDir, openManifest(dataDir, name));
  if (broken.length === 0) return;
  throw new ReleaseError(describeBroken(name, broken), hintFor(dataDir, broken), {
    isRetryable: broken.every((verdict) => verdict.isRetryable),
    damaged: broken.filter(isDamaged).map(({ file }) => file),
  });
}

/** @returns one verdict for each segment in a release */
export function verifySegments(dataDir: string, { segments }: Release): SegmentVerdict[] {
  return (Object.keys(SEGMENT_KINDS) as SegmentKind[]).flatMap((kind) => {
    const report = segments[kind];
    if (report === undefined) return [];
    const file = DATA_FOLDER.segmentFile(report.sha256);
    return [{ kind, file, bytes: report.bytes, ...findProblem(join(dataDir, file), kind, report) }];
  });
}

export const isBroken = ({ problem }: SegmentVerdict): boolean => problem !== undefined;

export function brokenSegments(dataDir: string, manifest: Release): SegmentVerdict[] {
  return verifySegments(dataDir, manifest).filter(isBroken);
}

const misnamed = (problem: string): Problem => ({ problem, isIntact: true, isMisnamed: true });

function findProblem(path: string, kind: SegmentKind, report: SegmentReport): Problem {
  try {
    if (typeof Bun !== "undefined") Bun.gc(true); // frees the memory of the previous segment
    const { sha256, bytes } = hashFile(path);
    const isIntact = sha256 === report.sha256;
    if (bytes !== report.bytes) {
      const problem = `has ${bytes} bytes instead of ${report.bytes}`;
      return isIntact ? misnamed(problem) : { problem };
    }
    const problems: string[] = [];
    try {
      if (isIntact) openSegmentOf(kind, mapFile(path)).verify(isIntact);
      else checkSegmentStart(readStart(path), bytes, kind);
    } catch (error) {
      if (isIntact && error instanceof SegmentError && error.place === "kind") return misnamed(error.message);
      problems.push(messageOf(error));
    }
    if (!isIntact) problems.push(`SHA-256 is ${sha256.slice(0, 12)}…, which does not match its name`);
    return problems.length === 0 ? {} : { problem: problems.join("; "), ...(isIntact && { isIntact }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { problem: "is missing", isGone: true };
    return { problem: messageOf(error), ...(isRetryable(error) && { isRetryable: true }) };
  }
}

export const isOfOtherVersion = (broken: readonly SegmentVerdict[]) =>
  broken.length > 0 && broken.every(({ isIntact, isMisnamed }) => isIntact && !isMisnamed);

/** Describes why a release cannot be used. @param broken its segments that have a problem */
export function describeBroken(name: string, broken: readonly SegmentVerdict[]): string {
  const problems = broken.map(({ kind, problem }) => `${kind}: ${problem}`).join("; ");
  if (isOfOtherVersion(broken)) return `release ${name} was built by another version of Inkling: ${problems}`;
  if (broken.every(({ isRetryable }) => isRetryable)) return `release ${name} cannot be read: ${problems}`;
  if (broken.some(({ isMisnamed }) => isMisnamed))
    return `release ${name} has segments that do not match its manifest: ${problems}`;
  const gone = broken.find(({ isGone }) => isGone);
  return gone === undefined
    ? `release ${name} is corrupt: ${problems}`
    : `release ${name} is incomplete: its segment ${gone.file} (${gone.kind}) is missing`;
}

/** @param damageHint what to do if files are damaged */
export function hintFor(
  dataDir: string,
  broken: readonly SegmentVerdict[],
  damageHint = rebuildHint(dataDir),
): string {
  if (isOfOtherVersion(broken)) return otherVersionHint(dataDir);
  if (broken.every(({ isRetryable }) => isRetryable))
    return "check this machine's disk and memory, and the permissions of these files, then try again";
  return damageHint;
}

/** Explains what to do about a damaged release. A rollback finds out whether an earlier release is sound. */
export function damageHint(dataDir: string, name: string): string {
  const rebuild = rebuildHint(dataDir);
  return releasesBefore(dataDir, name).length === 0
    ? rebuild
    : `${rebuild}; until then, \`inkling data rollback\` goes back to an earlier release if one is sound`;
}

/** Returns whether the file was read, and its content does not match its name. */
const isDamaged = ({ isIntact, isGone, isRetryable }: SegmentVerdict) => !isIntact && !isGone && !isRetryable;

/**
 * Deletes the segments of the current release that have a wrong hash, because a build would reuse them. Segments
 * written by another version of Inkling remain, so that the operator can return to that version.
 */
export function dropBrokenSegments(dataDir: string): void {
  const current = findCurrent(dataDir);
  if (current === undefined) return; // without a manifest, a build reuses nothing
  for (const { file } of brokenSegments(dataDir, current.manifest).filter(isDamaged))
    rmSync(join(dataDir, file), { force: true });
}
