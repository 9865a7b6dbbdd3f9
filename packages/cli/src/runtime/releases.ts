// releases.ts: the releases of a data folder, as the command line shows, verifies and switches them.
//
// in   the data folder
// out  names, manifests, the places at fault
// err  CliError with a hint; node:fs errors with the path in them

import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  DATA_FOLDER,
  EmailSegment,
  type FeedReport,
  feedsNow,
  IpSegment,
  type LoadedRelease,
  type Release,
  SEGMENT_KINDS,
  type SegmentKind,
} from "@inkling/engine";
import {
  currentName,
  releaseNames as newestFirst,
  openManifest,
  openRelease,
  ReleaseError,
} from "@inkling/release-store";
import { readFeedsReport } from "@inkling/server";
import { CliError } from "../terminal/errors.ts";

export interface NamedRelease {
  readonly name: string;
  readonly manifest: Release;
}

const BUILD_HINT = "make one with `npx inkling data update`";

/** Names of all releases, oldest first; a name begins with its time. */
export const releaseNames = (dataDir: string) => newestFirst(dataDir).reverse();

/** @throws CliError when the manifest is missing or is none */
export function readRelease(dataDir: string, name: string): NamedRelease {
  try {
    return { name, manifest: openManifest(dataDir, name) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new CliError(
      error.message,
      "go back to an earlier one with `npx inkling data rollback`, or make a new one with `npx inkling data update`",
    );
  }
}

/** The release in use, or undefined when there is none yet. @throws CliError when it cannot be read */
export function findCurrent(dataDir: string): NamedRelease | undefined {
  const name = currentName(dataDir);
  return name === undefined ? undefined : readRelease(dataDir, name);
}

/** As {@link findCurrent}. @throws CliError also when there is none */
export function openCurrent(dataDir: string): NamedRelease {
  const current = findCurrent(dataDir);
  if (current === undefined) throw new CliError(`there is no release in ${dataDir}`, BUILD_HINT);
  return current;
}

/** The feeds of a release as they stand after the last build: what was tried, what is stale, what waits. */
export function feedsOf(dataDir: string, { manifest }: NamedRelease): readonly FeedReport[] {
  return feedsNow(manifest, readFeedsReport(dataDir));
}

/** One segment's verdict. */
export interface SegmentVerdict {
  readonly kind: SegmentKind;
  readonly file: string;
  readonly bytes: number;
  /** The place at fault. */
  readonly problem?: string;
  /** It has a problem, but is what its name says: another version of Inkling wrote it, for one. */
  readonly isIntact?: true;
  /** There is no such file. */
  readonly isGone?: true;
}

const isOfOtherVersion = (broken: readonly SegmentVerdict[]) =>
  broken.length > 0 && broken.every(({ isIntact }) => isIntact);

/** What to do about segments that have a problem. */
export function wayOut(broken: readonly SegmentVerdict[]): string {
  if (isOfOtherVersion(broken)) return OTHER_VERSION_HINT;
  return broken.every(({ isIntact, isGone }) => isIntact || isGone)
    ? "go back with `npx inkling data rollback`, or make a new one with `npx inkling data update`"
    : "go back with `npx inkling data rollback`, or delete the segment at fault and run `npx inkling data update`";
}

const OTHER_VERSION_HINT =
  "another version of Inkling made it: make a new one with `npx inkling data update`";

/** Why a release cannot be used, in words. @param broken the segments of it that have a problem */
export function unsoundWords(name: string, broken: readonly SegmentVerdict[]): string {
  const told = broken.map(({ kind, problem }) => `${kind}: ${problem}`).join("; ");
  if (isOfOtherVersion(broken)) return `release ${name} was made by another version of Inkling: ${told}`;
  const gone = broken.find(({ isGone }) => isGone);
  return gone === undefined
    ? `release ${name} is corrupt: ${told}`
    : `release ${name} is not whole: its segment ${gone.file} (${gone.kind}) is not there`;
}

/** Reads every byte of every segment of a release: size, SHA-256 against the manifest, then all that it says. */
export function verifySegments(dataDir: string, { manifest }: NamedRelease): SegmentVerdict[] {
  const verdicts: SegmentVerdict[] = [];
  for (const kind of Object.keys(SEGMENT_KINDS) as SegmentKind[]) {
    const report = manifest.segments[kind];
    if (report === undefined) continue;
    const file = DATA_FOLDER.segmentFile(report.sha256);
    verdicts.push({ kind, file, bytes: report.bytes, ...segmentProblem(join(dataDir, file), kind, report) });
  }
  return verdicts;
}

function segmentProblem(
  path: string,
  kind: SegmentKind,
  report: { sha256: string; bytes: number },
): Pick<SegmentVerdict, "problem" | "isIntact" | "isGone"> {
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      return { problem: "is not there", isGone: true };
    const bytes = mapFile(path);
    if (bytes.length !== report.bytes) return { problem: `has ${bytes.length} bytes, want ${report.bytes}` };
    const places: string[] = [];
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const isIntact = sha256 === report.sha256;
    if (!isIntact) places.push(`SHA-256 is ${sha256.slice(0, 12)}…, not what its name says`);
    try {
      VERIFY[kind](bytes);
    } catch (error) {
      places.unshift((error as Error).message);
    }
    if (places.length === 0) return {};
    return { problem: places.join("; "), ...(isIntact && { isIntact }) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** A file's bytes without reading them. Private: writing to them would not reach the file, and nobody does. */
export function mapFile(path: string): Uint8Array {
  return Bun.mmap(path, { shared: false });
}

const VERIFY: Record<SegmentKind, (bytes: Uint8Array) => void> = {
  geo: (bytes) => IpSegment.open(bytes, "geo").verify(),
  reputation: (bytes) => IpSegment.open(bytes, "reputation").verify(),
  email: (bytes) => EmailSegment.open(bytes).verify(),
};

/** Makes `name` the current release, by rename: whoever reads sees the old one or the new one. */
export function switchTo(dataDir: string, name: string): void {
  point(dataDir, DATA_FOLDER.current, name);
}

/** Keeps `name` in use, whatever is built, until {@link unpin}. To be written before the switch to it. */
export function pin(dataDir: string, name: string): void {
  point(dataDir, DATA_FOLDER.pinned, name);
}

/** The release that is pinned, if any. */
export function findPinned(dataDir: string): string | undefined {
  const path = join(dataDir, DATA_FOLDER.pinned);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

export function unpin(dataDir: string): void {
  rmSync(join(dataDir, DATA_FOLDER.pinned), { force: true });
}

function point(dataDir: string, pointer: string, name: string): void {
  const temporary = join(dataDir, `.tmp-${process.pid}-${pointer}`);
  writeFileSync(temporary, `${name}\n`);
  renameSync(temporary, join(dataDir, pointer));
}

/** What a roll-back finds. */
export interface WayBack {
  /** The release in use, or what `current` holds in place of one. */
  readonly from: string;
  /** Where it leads. */
  readonly previous: NamedRelease;
  /** Newer ones that it passed over, each with what is wrong with it. */
  readonly passedOver: readonly string[];
}

/**
 * The newest sound release before the current one; before none at all when `current` does not name one.
 * @throws CliError when there is none
 */
export function previousRelease(dataDir: string): WayBack {
  const from = currentName(dataDir);
  if (from === undefined) throw new CliError(`there is no release in ${dataDir}`, BUILD_HINT);
  const names = releaseNames(dataDir);
  const earlier = names.includes(from) ? names.filter((name) => name < from) : names;
  const passedOver: string[] = [];
  for (const name of earlier.reverse()) {
    try {
      const previous = readRelease(dataDir, name);
      requireSound(dataDir, previous);
      return { from, previous, passedOver };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      passedOver.push(error.message);
    }
  }
  throw passedOver.length > 0
    ? new CliError(`no release before ${from} is sound: ${passedOver.join("; ")}`, BUILD_HINT)
    : new CliError(
        `there is no release before ${from}`,
        "`npx inkling data status` lists the releases; the newest 5 are kept",
      );
}

/**
 * The way to a release of the operator's choosing.
 * @param name of any release that is kept, older or newer than the one in use
 * @throws CliError when there is none of that name, or it is not sound
 */
export function chosenRelease(dataDir: string, name: string): WayBack {
  const names = releaseNames(dataDir);
  if (!names.includes(name)) {
    throw new CliError(
      `there is no release ${name} in ${dataDir}`,
      names.length === 0 ? BUILD_HINT : `kept are ${names.join(", ")}`,
    );
  }
  const previous = readRelease(dataDir, name);
  requireSound(dataDir, previous);
  return { from: currentName(dataDir) ?? "", previous, passedOver: [] };
}

const brokenSegments = (dataDir: string, release: NamedRelease) =>
  verifySegments(dataDir, release).filter(({ problem }) => problem !== undefined);

/** @throws CliError when a segment of it is corrupt, is not there, or is of another version of Inkling */
export function requireSound(dataDir: string, release: NamedRelease): void {
  const broken = brokenSegments(dataDir, release);
  if (broken.length === 0) return;
  throw new CliError(
    unsoundWords(release.name, broken),
    "make a new one with `npx inkling data update`; nothing was switched",
  );
}

/** A release that can be served, or why the one in use cannot. */
export interface Usable {
  readonly release: LoadedRelease | undefined;
  readonly problem: string | undefined;
}

/** Opens the release in use, cheaply: bounds are checked, contents are not. */
export function findUsable(dataDir: string): Usable {
  const name = currentName(dataDir);
  if (name === undefined) return { release: undefined, problem: undefined };
  try {
    return { release: openRelease(dataDir, name), problem: undefined };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { release: undefined, problem: error.message };
  }
}

/**
 * Deletes the segments of the release in use that are not what their names say: a build would take them for the
 * right ones. Those of another version of Inkling stay, for whoever goes back to it.
 */
export function dropBrokenSegments(dataDir: string): void {
  const name = currentName(dataDir);
  if (name === undefined) return;
  let current: NamedRelease;
  try {
    current = readRelease(dataDir, name);
  } catch {
    return; // without a manifest a build starts from nothing
  }
  for (const { file, problem, isIntact } of verifySegments(dataDir, current)) {
    if (problem !== undefined && !isIntact) rmSync(join(dataDir, file), { force: true });
  }
}

/**
 * Makes sure that there is something to serve: the release in use, or an older one that the server falls back to,
 * telling in its log which and why.
 * @throws CliError when there is neither
 */
export function requireRelease(dataDir: string): void {
  if (findUsable(dataDir).release !== undefined) return;
  const opens = (name: string) => {
    try {
      openRelease(dataDir, name);
      return true;
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      return false;
    }
  };
  if (!releaseNames(dataDir).some(opens)) openServable(dataDir);
}

/** As {@link findUsable}. @throws CliError when there is no release, or it cannot be used */
export function openServable(dataDir: string): LoadedRelease {
  const { release, problem } = findUsable(dataDir);
  if (release !== undefined) return release;
  if (problem === undefined) throw new CliError(`there is no release in ${dataDir}`, BUILD_HINT);
  throw new CliError(
    problem,
    isCurrentOfOtherVersion(dataDir)
      ? OTHER_VERSION_HINT
      : "`npx inkling data update` makes a new one, with `--offline` from the copies that are here; `npx inkling data rollback` goes back to the release before",
  );
}

/** Then those before it are most likely of that version too, and no way back. */
function isCurrentOfOtherVersion(dataDir: string): boolean {
  try {
    return isOfOtherVersion(brokenSegments(dataDir, openCurrent(dataDir)));
  } catch {
    return false; // its manifest cannot be read: what is wrong was said already
  }
}
