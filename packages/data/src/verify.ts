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
import { messageOf, remedyFor } from "./errors.ts";
import { hashFile } from "./fingerprints.ts";
import { DATA_FOLDER } from "./layout.ts";
import { mapFile, readStart } from "./open.ts";
import { findCurrent, isRetryable, openManifest, ReleaseError, releasesBefore } from "./releases.ts";

/**
 * `damaged`: the content does not match the file's name. `foreign`: it does, but another version of Inkling wrote it.
 * `misnamed`: the file is sound, but its kind or size differs from the manifest, which is wrong. `unreadable`: reading
 * failed, and may succeed later.
 */
type SegmentState = "sound" | "damaged" | "foreign" | "misnamed" | "gone" | "unreadable";

/** The result of checking one segment. */
interface SegmentVerdict {
  readonly kind: SegmentKind;
  readonly file: string;
  readonly bytes: number;
  readonly state: SegmentState;
  /** What is wrong with the segment; undefined if it is sound. */
  readonly problem?: string;
}

type Checked = Pick<SegmentVerdict, "state" | "problem">;

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
    isRetryable: areAll(broken, "unreadable"),
    damaged: damagedFiles(broken),
  });
}

/** @returns one verdict for each segment in a release */
export function verifySegments(dataDir: string, { segments }: Release): SegmentVerdict[] {
  return (Object.keys(SEGMENT_KINDS) as SegmentKind[]).flatMap((kind) => {
    const report = segments[kind];
    if (report === undefined) return [];
    const file = DATA_FOLDER.segmentFile(report.sha256);
    return [{ kind, file, bytes: report.bytes, ...checkFile(join(dataDir, file), kind, report) }];
  });
}

export const isBroken = ({ state }: SegmentVerdict): boolean => state !== "sound";

export function brokenSegments(dataDir: string, manifest: Release): SegmentVerdict[] {
  return verifySegments(dataDir, manifest).filter(isBroken);
}

function checkFile(path: string, kind: SegmentKind, report: SegmentReport): Checked {
  try {
    if (typeof Bun !== "undefined") Bun.gc(true); // frees the memory of the previous segment
    const { sha256, bytes } = hashFile(path);
    const isIntact = sha256 === report.sha256;
    if (bytes !== report.bytes) {
      const problem = `has ${bytes} bytes instead of ${report.bytes}`;
      return { state: isIntact ? "misnamed" : "damaged", problem };
    }
    if (isIntact) return checkContent(path, kind);
    const problem = `SHA-256 is ${sha256.slice(0, 12)}…, which does not match its name`;
    return { state: "damaged", problem: [...startProblems(path, bytes, kind), problem].join("; ") };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { state: "gone", problem: "is missing" };
    return { state: isRetryable(error) ? "unreadable" : "damaged", problem: messageOf(error) };
  }
}

/** Checks a file that has the right hash. */
function checkContent(path: string, kind: SegmentKind): Checked {
  try {
    openSegmentOf(kind, mapFile(path)).verify(true);
    return { state: "sound" };
  } catch (error) {
    const isOtherKind = error instanceof SegmentError && error.place === "kind";
    return { state: isOtherKind ? "misnamed" : "foreign", problem: messageOf(error) };
  }
}

function startProblems(path: string, bytes: number, kind: SegmentKind): string[] {
  try {
    checkSegmentStart(readStart(path), bytes, kind);
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}

const areAll = (broken: readonly SegmentVerdict[], wanted: SegmentState) =>
  broken.length > 0 && broken.every(({ state }) => state === wanted);

const damagedFiles = (broken: readonly SegmentVerdict[]) =>
  broken.flatMap(({ state, file }) => (state === "damaged" ? file : []));

/** Describes why a release cannot be used. @param broken its segments that have a problem */
export function describeBroken(name: string, broken: readonly SegmentVerdict[]): string {
  const problems = broken.map(({ kind, problem }) => `${kind}: ${problem}`).join("; ");
  if (areAll(broken, "foreign"))
    return `release ${name} was built by another version of Inkling: ${problems}`;
  if (areAll(broken, "unreadable")) return `release ${name} cannot be read: ${problems}`;
  if (broken.some(({ state }) => state === "misnamed"))
    return `release ${name} has segments that do not match its manifest: ${problems}`;
  const gone = broken.find(({ state }) => state === "gone");
  return gone === undefined
    ? `release ${name} is corrupt: ${problems}`
    : `release ${name} is incomplete: its segment ${gone.file} (${gone.kind}) is missing`;
}

/**
 * @param broken the segments of a release that have a problem
 * @param damageHint what to do if files are damaged
 * @param follows whether the host follows a channel, if the settings show it
 */
export function hintFor(
  dataDir: string,
  broken: readonly SegmentVerdict[],
  damageHint?: string,
  follows?: boolean,
): string {
  // Earlier releases most likely have the same format version, so a rollback would not help.
  if (areAll(broken, "foreign")) return remedyFor("other version", dataDir, follows);
  if (areAll(broken, "unreadable"))
    return "check this machine's disk and memory, and the permissions of these files, then try again";
  return damageHint ?? remedyFor("damaged", dataDir, follows);
}

/** Explains what to do about a damaged release. A rollback finds out whether an earlier release is sound. */
export function damageHint(dataDir: string, name: string): string {
  const rebuild = remedyFor("damaged", dataDir);
  return releasesBefore(dataDir, name).length === 0
    ? rebuild
    : `${rebuild}; until then, \`inkling data rollback\` goes back to an earlier release if one is sound`;
}

/**
 * Deletes the segments of the current release that have a wrong hash, because a build would reuse them. Segments
 * written by another version of Inkling remain, so that the operator can return to that version.
 */
export function dropBrokenSegments(dataDir: string): void {
  const current = findCurrent(dataDir);
  if (current === undefined) return; // without a manifest, a build reuses nothing
  for (const file of damagedFiles(brokenSegments(dataDir, current.manifest)))
    rmSync(join(dataDir, file), { force: true });
}
