// releases.ts: which releases a data folder has, which one is current or pinned, and their manifests.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  RELEASE_ID_DIGITS,
  type Release,
  releaseContent,
  releaseName,
  release as releaseSchema,
  unfoundedAnswers,
} from "@inkling/engine";
import { replaceFile } from "./atomic-file.ts";
import { messageOf } from "./error-message.ts";
import { DATA_FOLDER } from "./layout.ts";
import { sha256Hex } from "./sha256.ts";

/** A release that cannot be used. Message and hint are for the operator. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
  /** What to do about it, where something is known to help. */
  readonly hint: string | undefined;
  /** It could not be read, which says nothing about it: another try may end differently. */
  readonly isRetryable: boolean;
  /** The disk could not read a part of it: a process that maps that part dies of it. */
  readonly isUnreadable: boolean;
  /** Segment files that were read, and are not what their names say. */
  readonly damaged: readonly string[];
  constructor(message: string, hint?: string, options?: ErrorOptions & Partial<Faults>) {
    super(message, options);
    this.hint = hint;
    this.isRetryable = options?.isRetryable ?? isRetryable(options?.cause);
    this.isUnreadable = options?.isUnreadable ?? isUnreadable(options?.cause);
    this.damaged = options?.damaged ?? [];
  }
}

type Faults = Pick<ReleaseError, "isRetryable" | "isUnreadable" | "damaged">;

const LASTING_CODES: readonly unknown[] = ["ENOENT", "ENOTDIR", "EISDIR", "ELOOP"];

/** A fault of the machine (EIO, EMFILE, no memory, no permission), not of what was read. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ReleaseError) return error.isRetryable;
  if (error instanceof RangeError && /memory/i.test(error.message)) return true;
  return (
    error instanceof Error && "errno" in error && !LASTING_CODES.includes((error as { code?: unknown }).code)
  );
}

const DISK_CODES: readonly unknown[] = ["EIO", "EUCLEAN", "EBADMSG"];

/** A fault of the disk or its file system, not of memory, descriptors or permissions. */
export function isUnreadable(error: unknown): boolean {
  if (error instanceof ReleaseError) return error.isUnreadable;
  return error instanceof Error && DISK_CODES.includes((error as { code?: unknown }).code);
}

export const BUILD_HINT = "make one with `npx @inkling/cli data update`";

export interface NamedRelease {
  readonly name: string;
  readonly manifest: Release;
}

/** What `releaseName` of the engine makes; anything else in `current` is refused before it becomes a path. */
export const RELEASE_NAME_PATTERN = "\\d{8}T\\d{6,9}Z-[0-9a-f]{12}";
const RELEASE_NAME = new RegExp(`^${RELEASE_NAME_PATTERN}$`);

export function isReleaseName(text: string): boolean {
  return RELEASE_NAME.test(text);
}

/** The release that `current` points at; undefined if nothing was published yet. */
export function currentName(dataDir: string): string | undefined {
  return readPointer(dataDir, DATA_FOLDER.current);
}

/** The release that the operator pinned, if any. */
export function pinnedName(dataDir: string): string | undefined {
  return readPointer(dataDir, DATA_FOLDER.pinned);
}

function readPointer(dataDir: string, pointer: string): string | undefined {
  const path = join(dataDir, pointer);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

/**
 * All releases of a data folder, the one published last first: never by the times in their names, as a clock may have
 * been wrong. Those that the list of publications lacks, which an earlier version made, are the oldest, by name.
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

/** The releases published before this one, newest first; all when it was never one. */
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

/** Names in the order of publication; some may be gone. */
function published(dataDir: string): string[] {
  const path = join(dataDir, DATA_FOLDER.published);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(isReleaseName) : [];
}

/** Notes that `name` is published after all others. Before its manifest is there the name has no effect. */
export function appendToOrder(dataDir: string, name: string): void {
  const others = releaseNames(dataDir).filter((other) => other !== name);
  const text = [...others.reverse(), name].map((each) => `${each}\n`);
  replaceFile(join(dataDir, DATA_FOLDER.published), text);
}

/**
 * Reads a release's manifest: its form, its id, its name, and that every answer has its segment.
 * @throws ReleaseError
 */
export function openManifest(dataDir: string, name: string): Release {
  return explained(dataDir, name, () => {
    if (!isReleaseName(name)) throw new ReleaseError("this is not the name of a release");
    return parseManifest(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8"), name);
  });
}

/** Everything that can be checked of a manifest without its segments. @throws ReleaseError; errors of JSON and zod */
export function parseManifest(text: string, name: string): Release {
  const manifest = releaseSchema.parse(JSON.parse(text));
  const id = releaseId(manifest);
  if (id !== manifest.id) throw new ReleaseError(`the manifest is damaged: its content makes the id ${id}`);
  if (releaseName(manifest) !== name) {
    throw new ReleaseError(`the manifest is that of the release ${releaseName(manifest)}`);
  }
  const [unfounded] = unfoundedAnswers(manifest);
  if (unfounded !== undefined) throw new ReleaseError(`the manifest has no segment for ${unfounded}`);
  return manifest;
}

/** As {@link openManifest}; undefined if it cannot be read. */
export function findManifest(dataDir: string, name: string): Release | undefined {
  try {
    return openManifest(dataDir, name);
  } catch (error) {
    if (error instanceof ReleaseError) return undefined;
    throw error;
  }
}

/** The release that `current` names; undefined if there is none or its manifest cannot be read. */
export function findCurrent(dataDir: string): NamedRelease | undefined {
  const name = currentName(dataDir);
  const manifest = name === undefined ? undefined : findManifest(dataDir, name);
  return manifest && { name: name!, manifest };
}

/** The release published last that can be read: the current one, unless an older one is pinned. */
export function findNewest(dataDir: string): NamedRelease | undefined {
  for (const name of releaseNames(dataDir)) {
    const manifest = findManifest(dataDir, name);
    if (manifest !== undefined) return { name, manifest };
  }
  return undefined;
}

/** @throws ReleaseError when there is no release yet */
export function requireCurrentName(dataDir: string): string {
  const name = currentName(dataDir);
  if (name === undefined) throw new ReleaseError(`there is no release in ${dataDir}`, BUILD_HINT);
  return name;
}

/** The current release, or undefined if there is none yet. @throws ReleaseError when its manifest cannot be read */
export function openCurrent(dataDir: string): NamedRelease | undefined {
  const name = currentName(dataDir);
  if (name === undefined) return undefined;
  try {
    return { name, manifest: openManifest(dataDir, name) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new ReleaseError(
      error.message,
      "make a new one with `npx @inkling/cli data update`; `npx @inkling/cli data rollback` goes back to an earlier one",
    );
  }
}

/** As {@link openCurrent}. @throws ReleaseError also when there is none */
export function requireCurrent(dataDir: string): NamedRelease {
  requireCurrentName(dataDir);
  return openCurrent(dataDir)!; // it has a name
}

/** The segment files that a release's manifest names; none when the manifest cannot be read. */
export function segmentFiles(dataDir: string, name: string): string[] {
  const segments = Object.values(findManifest(dataDir, name)?.segments ?? {});
  return segments.flatMap((segment) =>
    segment === undefined ? [] : [join(dataDir, DATA_FOLDER.segmentFile(segment.sha256))],
  );
}

/** The id that a manifest's content makes. */
export function releaseId(manifest: Omit<Release, "id">): string {
  return sha256Hex(releaseContent(manifest)).slice(0, RELEASE_ID_DIGITS);
}

/** Every error on the way becomes one that names the release; JSON's and zod's come on one line. */
export function explained<T>(dataDir: string, name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    // /v1/status shows this to every key: without local paths.
    const reason = messageOf(error).replaceAll(`${dataDir}/`, "").replace(/\s+/g, " ");
    const hint = error instanceof ReleaseError ? error.hint : undefined;
    throw new ReleaseError(`release ${name.slice(0, 80)}: ${reason.slice(0, 500)}`, hint, { cause: error });
  }
}
