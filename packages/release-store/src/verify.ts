// verify.ts: reads every byte of a release: each segment's size, SHA-256 against the manifest, and all that it holds.
//
// out  a mark for each segment that is sound (verified.ts)
// cost 0.9 s of CPU with 280 MB of segments: not for the process that answers
// mem  190 MB, private to the process: a file is read in pieces, then mapped, and what was looked at is the kernel's to drop
// why  only a file that was read to its end, and has its hash, is mapped: touching one that is cut short kills the process

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
import { messageOf } from "./error-message.ts";
import { fileStamp, NO_FILE } from "./file-stamp.ts";
import { DATA_FOLDER } from "./layout.ts";
import { mapFile, readStart } from "./open.ts";
import { findCurrent, isRetryable, isUnreadable, openManifest, ReleaseError } from "./releases.ts";
import { hashFile } from "./sha256.ts";
import { markVerified, removeMark, type Stamps } from "./verified.ts";

/** The problem of one segment, if any. */
interface SegmentVerdict {
  readonly kind: SegmentKind;
  readonly file: string;
  readonly bytes: number;
  /** The place at fault. */
  readonly problem?: string;
  /** It has a problem although its hash is right: another version of Inkling wrote it, for example. */
  readonly isIntact?: true;
  /** It is sound, but of another kind or size than the manifest says: the manifest is wrong, the file is not. */
  readonly isMisnamed?: true;
  /** There is no such file. */
  readonly isGone?: true;
  /** It could not be read: another try may end differently. */
  readonly isRetryable?: true;
  /** The disk could not read it. */
  readonly isUnreadable?: true;
}

type Problem = Omit<SegmentVerdict, "kind" | "file" | "bytes">;

export interface Verification {
  /** Of all of its files, those that were known included. */
  readonly stamps: Stamps;
  /** Why there is no mark, where none could be written: the next start verifies again. */
  readonly unmarked?: string;
}

/** @throws SegmentError when header or bounds are wrong; `verify` of the segment reads the rest */
export function openSegmentOf(kind: SegmentKind, bytes: Uint8Array): IpSegment | EmailSegment {
  return kind === "email" ? EmailSegment.open(bytes) : IpSegment.open(bytes, kind);
}

const NEW_RELEASE = "make a new one with `npx @inkling/cli data update`";
const OTHER_VERSION_HINT = `another version of Inkling made it: ${NEW_RELEASE}`;

/**
 * @param known stamps of files that were verified already: they are not read again
 * @throws ReleaseError when the manifest cannot be read, or a segment is corrupt, missing, or of another version;
 * `isRetryable` when something could not be read
 */
export function verifyRelease(dataDir: string, name: string, known: Stamps = {}): Verification {
  const manifest = openManifest(dataDir, name);
  const stamps: Record<string, string> = {};
  let unmarked: string | undefined;
  const broken = eachSegment(dataDir, manifest, (kind, report, path) => {
    const stamp = fileStamp(path);
    stamps[report.sha256] = stamp;
    const problem =
      known[report.sha256] === stamp ? startProblem(path, kind, report) : findProblem(path, kind, report);
    if (problem.problem !== undefined) return problem;
    try {
      markVerified(dataDir, report.sha256, stamp); // whatever the others are: another release may have it too
    } catch (error) {
      unmarked ??= messageOf(error);
    }
    return problem;
  }).filter(isBroken);
  if (broken.length > 0) {
    throw new ReleaseError(describeBroken(name, broken), hintFor(broken), {
      isRetryable: broken.every((verdict) => verdict.isRetryable),
      isUnreadable: broken.some((verdict) => verdict.isUnreadable),
      damaged: broken.filter(isDamaged).map(({ file }) => file),
    });
  }
  return { stamps, ...(unmarked !== undefined && { unmarked }) };
}

/** One verdict for each segment of a release. */
export function verifySegments(dataDir: string, manifest: Release): SegmentVerdict[] {
  return eachSegment(dataDir, manifest, (kind, report, path) => findProblem(path, kind, report));
}

/** @param judge given the path of each segment; those that are unsound lose their marks */
function eachSegment(
  dataDir: string,
  { segments }: Release,
  judge: (kind: SegmentKind, report: SegmentReport, path: string) => Problem,
): SegmentVerdict[] {
  return (Object.keys(SEGMENT_KINDS) as SegmentKind[]).flatMap((kind) => {
    const report = segments[kind];
    if (report === undefined) return [];
    const file = DATA_FOLDER.segmentFile(report.sha256);
    const problem = judge(kind, report, join(dataDir, file));
    const isOfFile = !problem.isMisnamed && (!problem.isRetryable || problem.isUnreadable);
    if (problem.problem !== undefined && isOfFile) removeMark(dataDir, report.sha256);
    return [{ kind, file, bytes: report.bytes, ...problem }];
  });
}

export const isBroken = ({ problem }: SegmentVerdict): boolean => problem !== undefined;

export function brokenSegments(dataDir: string, manifest: Release): SegmentVerdict[] {
  return verifySegments(dataDir, manifest).filter(isBroken);
}

/** Of a file that was verified: it may have been as another kind, or with another size, in another manifest. */
function startProblem(path: string, kind: SegmentKind, { bytes }: SegmentReport): Problem {
  try {
    checkSegmentStart(readStart(path), bytes, kind);
    return {};
  } catch (error) {
    const isMisnamed = error instanceof SegmentError && ["kind", "file length"].includes(error.place);
    return isMisnamed ? misnamed(error.message) : faultOf(error);
  }
}

const misnamed = (problem: string): Problem => ({ problem, isIntact: true, isMisnamed: true });

function faultOf(error: unknown): Problem {
  return {
    problem: messageOf(error),
    ...(isRetryable(error) && { isRetryable: true }),
    ...(isUnreadable(error) && { isUnreadable: true }),
  };
}

function findProblem(path: string, kind: SegmentKind, report: SegmentReport): Problem {
  try {
    const stamp = fileStamp(path);
    if (stamp === NO_FILE) return { problem: "is not there", isGone: true };
    if (typeof Bun !== "undefined") Bun.gc(true); // what is left of the segment before
    const { sha256, bytes } = hashFile(path);
    if (fileStamp(path) !== stamp) return { problem: "changed while it was read", isRetryable: true };
    const isIntact = sha256 === report.sha256;
    if (bytes !== report.bytes) {
      const problem = `has ${bytes} bytes, want ${report.bytes}`;
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
    if (!isIntact) problems.push(`SHA-256 is ${sha256.slice(0, 12)}…, not what its name says`);
    return problems.length === 0 ? {} : { problem: problems.join("; "), ...(isIntact && { isIntact }) };
  } catch (error) {
    return faultOf(error);
  }
}

export const isOfOtherVersion = (broken: readonly SegmentVerdict[]) =>
  broken.length > 0 && broken.every(({ isIntact, isMisnamed }) => isIntact && !isMisnamed);

/** Why a release cannot be used. @param broken the segments of it that have a problem */
export function describeBroken(name: string, broken: readonly SegmentVerdict[]): string {
  const problems = broken.map(({ kind, problem }) => `${kind}: ${problem}`).join("; ");
  if (isOfOtherVersion(broken)) return `release ${name} was made by another version of Inkling: ${problems}`;
  if (broken.every(({ isRetryable }) => isRetryable)) return `release ${name} cannot be read: ${problems}`;
  if (broken.some(({ isMisnamed }) => isMisnamed))
    return `release ${name} names segments that are not what its manifest says: ${problems}`;
  const gone = broken.find(({ isGone }) => isGone);
  return gone === undefined
    ? `release ${name} is corrupt: ${problems}`
    : `release ${name} is incomplete: its segment ${gone.file} (${gone.kind}) is not there`;
}

/** What to do about segments that have a problem: only those that were read, and are damaged, are to be deleted. */
export function hintFor(broken: readonly SegmentVerdict[]): string {
  if (isOfOtherVersion(broken)) return OTHER_VERSION_HINT;
  if (broken.every(({ isRetryable }) => isRetryable))
    return "check the disk and the memory of this machine, and who may read these files, then try again";
  const damaged = broken.filter(isDamaged).map(({ file }) => file);
  return damaged.length === 0
    ? `go back with \`npx @inkling/cli data rollback\`, or ${NEW_RELEASE}`
    : `go back with \`npx @inkling/cli data rollback\`, or delete ${damaged.join(", ")} and run \`npx @inkling/cli data update\``;
}

/** It was read, and is not what its name says. */
const isDamaged = ({ isIntact, isGone, isRetryable }: SegmentVerdict) => !isIntact && !isGone && !isRetryable;

/**
 * Deletes the segments of the current release with a wrong hash, which a build would reuse. Those of another version of
 * Inkling remain, for a return to it.
 */
export function dropBrokenSegments(dataDir: string): void {
  const current = findCurrent(dataDir);
  if (current === undefined) return; // without a manifest a build starts from nothing
  for (const { file } of brokenSegments(dataDir, current.manifest).filter(isDamaged))
    rmSync(join(dataDir, file), { force: true });
}
