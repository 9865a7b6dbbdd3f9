// releases.ts: finds the releases in a data folder, including the current and the pinned release, and reads their
// manifests.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  RELEASE_ID_DIGITS,
  type Release,
  releaseContent,
  releaseName,
  release as releaseSchema,
  type SegmentReport,
  unfoundedAnswers,
} from "@inkling/engine";
import { replaceFile } from "./atomic-file.ts";
import { messageOf, remedyFor } from "./errors.ts";
import { sha256Hex } from "./fingerprints.ts";
import { accessHint, DATA_FOLDER, isDenied } from "./layout.ts";

/** A release that cannot be used. The message and hint are for the operator. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
  /** What the operator can do about it, if there is a known remedy. */
  readonly hint: string | undefined;
  /** The release could not be read, but it may be sound. A retry may succeed. */
  readonly isRetryable: boolean;
  /** Segment files that were read, but whose content does not match their names. */
  readonly damaged: readonly string[];
  constructor(message: string, hint?: string, options?: ErrorOptions & Partial<Faults>) {
    super(message, options);
    this.hint = hint;
    this.isRetryable = options?.isRetryable ?? isRetryable(options?.cause);
    this.damaged = options?.damaged ?? [];
  }
}

type Faults = Pick<ReleaseError, "isRetryable" | "damaged">;

const LASTING_CODES: readonly unknown[] = ["ENOENT", "ENOTDIR", "EISDIR", "ELOOP"];

/** Returns whether this is a fault of the machine (EIO, EMFILE, no memory, no permission) rather than of the file. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ReleaseError) return error.isRetryable;
  if (error instanceof RangeError && /memory/i.test(error.message)) return true;
  return (
    error instanceof Error && "errno" in error && !LASTING_CODES.includes((error as { code?: unknown }).code)
  );
}

export interface NamedRelease {
  readonly name: string;
  readonly manifest: Release;
}

/**
 * Matches the names that the engine's `releaseName` creates. Any other text in `current` is refused before it becomes a
 * path.
 */
const RELEASE_NAME = /^\d{8}T\d{6,9}Z-[0-9a-f]{12}$/;

export function isReleaseName(text: string): boolean {
  return RELEASE_NAME.test(text);
}

/** Returns whether `text` is this release's name, or its id, which is the last part of the name. */
export const isNameOrId = (text: string, name: string) => text === name || name.endsWith(`-${text}`);

/** Reads the name of the release to which `current` points; undefined if nothing has been published yet. */
export function currentName(dataDir: string): string | undefined {
  return readPointer(dataDir, DATA_FOLDER.current);
}

/** Reads the name of the release that the operator has pinned; undefined if none is pinned. */
export function pinnedName(dataDir: string): string | undefined {
  return readPointer(dataDir, DATA_FOLDER.pinned);
}

function readPointer(dataDir: string, pointer: string): string | undefined {
  const path = join(dataDir, pointer);
  try {
    return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw new ReleaseError(`${path}: permission denied`, accessHint(dataDir), { cause: error });
  }
}

/**
 * Lists all releases in a data folder, with the last published release first. The times in their names are ignored,
 * because a clock may have been wrong. Releases of an earlier version are not in the list of publications, so they come
 * last, sorted by name.
 */
export function releaseNames(dataDir: string): string[] {
  const folder = join(dataDir, DATA_FOLDER.releases);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return names
    .map((file) => file.slice(0, -".json".length))
    .filter(isReleaseName)
    .sort(newestFirst(published(dataDir)));
}

/**
 * Finds the stored release with this name or id, and returns its name. If several releases have the id, the newest of
 * them counts.
 * @throws ReleaseError with the stored releases, if none has this name or id
 */
export function requireKeptName(dataDir: string, text: string): string {
  const names = releaseNames(dataDir);
  const name = names.find((each) => isNameOrId(text, each));
  if (name !== undefined) return name;
  if (names.length === 0) throw noRelease(dataDir);
  throw new ReleaseError(
    `there is no release ${text} in ${dataDir}`,
    `the stored releases are ${names.join(", ")}`,
  );
}

/** Lists the releases published before this one, newest first; all releases if this name has never been published. */
export function releasesBefore(dataDir: string, name: string): string[] {
  const names = releaseNames(dataDir);
  const order = published(dataDir);
  if (!names.includes(name) && !order.includes(name)) return names;
  return names.filter((each) => newestFirst(order)(each, name) > 0);
}

function newestFirst(order: readonly string[]) {
  const at = new Map(order.map((name, index) => [name, index]));
  const rank = (name: string) => at.get(name) ?? -1;
  return (a: string, b: string) => rank(b) - rank(a) || (a < b ? 1 : a > b ? -1 : 0);
}

/** Reads the names of releases in the order of publication. Some of these releases may no longer exist. */
function published(dataDir: string): string[] {
  const path = join(dataDir, DATA_FOLDER.published);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(isReleaseName) : [];
}

/** Records that `name` is the last published release. The name has no effect until its manifest exists. */
export function appendToOrder(dataDir: string, name: string): void {
  const others = releaseNames(dataDir).filter((other) => other !== name);
  const text = [...others.reverse(), name].map((each) => `${each}\n`);
  replaceFile(join(dataDir, DATA_FOLDER.published), text);
}

/**
 * Reads a release's manifest. Checks its format, id and name, and that the segment for every answer is listed.
 * @throws ReleaseError
 */
export function openManifest(dataDir: string, name: string): Release {
  return explained(dataDir, name, () => {
    if (!isReleaseName(name)) throw new ReleaseError("this is not a release name");
    return parseManifest(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8"), name);
  });
}

/** Parses a manifest, with all checks that do not need the segments. @throws ReleaseError; errors of JSON and zod */
export function parseManifest(text: string, name: string): Release {
  const manifest = releaseSchema.parse(JSON.parse(text));
  const id = releaseId(manifest);
  if (id !== manifest.id) throw new ReleaseError(`the manifest is damaged: its content has the id ${id}`);
  if (releaseName(manifest) !== name) {
    throw new ReleaseError(`the manifest belongs to the release ${releaseName(manifest)}`);
  }
  const [unfounded] = unfoundedAnswers(manifest);
  if (unfounded !== undefined) throw new ReleaseError(`the manifest has no segment for ${unfounded}`);
  return manifest;
}

/** Does the same as {@link openManifest}, but returns undefined if the manifest cannot be read. */
export function findManifest(dataDir: string, name: string): Release | undefined {
  try {
    return openManifest(dataDir, name);
  } catch (error) {
    if (error instanceof ReleaseError) return undefined;
    throw error;
  }
}

/** Finds the release that `current` points to; undefined if there is none, or if the manifest cannot be read. */
export function findCurrent(dataDir: string): NamedRelease | undefined {
  const name = currentName(dataDir);
  const manifest = name === undefined ? undefined : findManifest(dataDir, name);
  return manifest && { name: name!, manifest };
}

/** Returns the stored releases, newest first, without those whose manifest cannot be read. */
export function keptManifests(dataDir: string): NamedRelease[] {
  return releaseNames(dataDir).flatMap((name) => {
    const manifest = findManifest(dataDir, name);
    return manifest === undefined ? [] : [{ name, manifest }];
  });
}

/** Reads the name of the current release. @throws ReleaseError if there is no release yet */
export function requireCurrentName(dataDir: string): string {
  const name = currentName(dataDir);
  if (name === undefined) throw noRelease(dataDir);
  return name;
}

/** Explains why no release was found: the folder is not readable for this user, does not exist, or has no release. */
function noRelease(dataDir: string): ReleaseError {
  const denied = findDenied(dataDir);
  if (denied !== undefined) return denied;
  if (!existsSync(dataDir))
    return new ReleaseError(
      `${dataDir} does not exist`,
      "check the path (--data-dir or INKLING_DATA_DIR), or build a release there with `inkling data update`",
    );
  return new ReleaseError(`there is no release in ${dataDir}`, remedyFor("none", dataDir));
}

/** Returns an error if this user may not read the data folder; undefined if the folder is readable or missing. */
export function findDenied(dataDir: string): ReleaseError | undefined {
  try {
    readdirSync(dataDir);
    statSync(join(dataDir, DATA_FOLDER.current), { throwIfNoEntry: false });
  } catch (error) {
    if (isDenied(error))
      return new ReleaseError(`the data folder ${dataDir}: permission denied`, accessHint(dataDir), {
        cause: error,
      });
  }
  return undefined;
}

export const segmentsOf = ({ segments }: Pick<Release, "segments">): SegmentReport[] =>
  Object.values(segments).filter((segment) => segment !== undefined);

/** Lists the segment files named in a release's manifest; none if the manifest cannot be read. */
export function segmentFiles(dataDir: string, name: string): string[] {
  const manifest = findManifest(dataDir, name);
  return manifest === undefined
    ? []
    : segmentsOf(manifest).map(({ sha256 }) => join(dataDir, DATA_FOLDER.segmentFile(sha256)));
}

/** Computes the id of a release from the content of its manifest. */
export function releaseId(manifest: Omit<Release, "id">): string {
  return sha256Hex(releaseContent(manifest)).slice(0, RELEASE_ID_DIGITS);
}

/** Runs `read`, and turns every error into a ReleaseError with the release's name and a one-line message. */
export function explained<T>(dataDir: string, name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    // Local paths are removed, because /v1/status shows this message to every key.
    const reason = messageOf(error).replaceAll(`${dataDir}/`, "").replace(/\s+/g, " ");
    const own = error instanceof ReleaseError ? error.hint : undefined;
    const hint = isDenied(error) ? accessHint(dataDir) : own;
    throw new ReleaseError(`release ${name.slice(0, 80)}: ${reason.slice(0, 500)}`, hint, { cause: error });
  }
}
