// verify.ts: reads every byte of a release: each segment's size, SHA-256 against the manifest, and all that it holds.
//
// cost 0.5 s for 280 MB: not for the thread that answers

import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  EmailSegment,
  IpSegment,
  type Release,
  SEGMENT_KINDS,
  type SegmentKind,
  type SegmentReport,
} from "@inkling/engine";
import { messageOf } from "./error-message.ts";
import { DATA_FOLDER } from "./layout.ts";
import { mapFile } from "./open.ts";
import { findCurrent, openManifest, ReleaseError } from "./releases.ts";
import { sha256Hex } from "./sha256.ts";

/** The problem of one segment, if any. */
export interface SegmentVerdict {
  readonly kind: SegmentKind;
  readonly file: string;
  readonly bytes: number;
  /** The place at fault. */
  readonly problem?: string;
  /** It has a problem although its hash is right: another version of Inkling wrote it, for example. */
  readonly isIntact?: true;
  /** There is no such file. */
  readonly isGone?: true;
}

/** @throws SegmentError when header or bounds are wrong; `verify` of the segment reads the rest */
export function openSegmentOf(kind: SegmentKind, bytes: Uint8Array): IpSegment | EmailSegment {
  return kind === "email" ? EmailSegment.open(bytes) : IpSegment.open(bytes, kind);
}

const NEW_RELEASE = "make a new one with `npx inkling data update`";
const OTHER_VERSION_HINT = `another version of Inkling made it: ${NEW_RELEASE}`;

/**
 * @throws ReleaseError when the manifest cannot be read, or a segment is corrupt, missing, or of another version
 */
export function verifyRelease(dataDir: string, name: string): void {
  const broken = brokenSegments(dataDir, openManifest(dataDir, name));
  if (broken.length > 0) throw new ReleaseError(describeBroken(name, broken), hintFor(broken));
}

/** One verdict for each segment of a release. */
export function verifySegments(dataDir: string, { segments }: Release): SegmentVerdict[] {
  return (Object.keys(SEGMENT_KINDS) as SegmentKind[]).flatMap((kind) => {
    const report = segments[kind];
    if (report === undefined) return [];
    const file = DATA_FOLDER.segmentFile(report.sha256);
    return [{ kind, file, bytes: report.bytes, ...findProblem(join(dataDir, file), kind, report) }];
  });
}

export function brokenSegments(dataDir: string, manifest: Release): SegmentVerdict[] {
  return verifySegments(dataDir, manifest).filter(({ problem }) => problem !== undefined);
}

function findProblem(
  path: string,
  kind: SegmentKind,
  report: SegmentReport,
): Pick<SegmentVerdict, "problem" | "isIntact" | "isGone"> {
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      return { problem: "is not there", isGone: true };
    const bytes = mapFile(path);
    if (bytes.length !== report.bytes) return { problem: `has ${bytes.length} bytes, want ${report.bytes}` };
    const sha256 = sha256Hex(bytes);
    const isIntact = sha256 === report.sha256;
    const problems: string[] = [];
    try {
      openSegmentOf(kind, bytes).verify(isIntact);
    } catch (error) {
      problems.push(messageOf(error));
    }
    if (!isIntact) problems.push(`SHA-256 is ${sha256.slice(0, 12)}…, not what its name says`);
    return problems.length === 0 ? {} : { problem: problems.join("; "), ...(isIntact && { isIntact }) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

export const isOfOtherVersion = (broken: readonly SegmentVerdict[]) =>
  broken.length > 0 && broken.every(({ isIntact }) => isIntact);

/** Why a release cannot be used. @param broken the segments of it that have a problem */
export function describeBroken(name: string, broken: readonly SegmentVerdict[]): string {
  const problems = broken.map(({ kind, problem }) => `${kind}: ${problem}`).join("; ");
  if (isOfOtherVersion(broken)) return `release ${name} was made by another version of Inkling: ${problems}`;
  const gone = broken.find(({ isGone }) => isGone);
  return gone === undefined
    ? `release ${name} is corrupt: ${problems}`
    : `release ${name} is incomplete: its segment ${gone.file} (${gone.kind}) is not there`;
}

/** What to do about segments that have a problem. */
export function hintFor(broken: readonly SegmentVerdict[]): string {
  if (isOfOtherVersion(broken)) return OTHER_VERSION_HINT;
  return broken.every(({ isIntact, isGone }) => isIntact || isGone)
    ? `go back with \`npx inkling data rollback\`, or ${NEW_RELEASE}`
    : "go back with `npx inkling data rollback`, or delete the segment at fault and run `npx inkling data update`";
}

/**
 * Deletes the segments of the current release with a wrong hash, which a build would reuse. Those of another version of
 * Inkling stay, for a return to it.
 */
export function dropBrokenSegments(dataDir: string): void {
  const current = findCurrent(dataDir);
  if (current === undefined) return; // without a manifest a build starts from nothing
  for (const { file, isIntact } of brokenSegments(dataDir, current.manifest)) {
    if (!isIntact) rmSync(join(dataDir, file), { force: true });
  }
}
