// open.ts: from the data folder's files to segments that answer.
//
// in   a data folder, the name of a release
// out  LoadedRelease: mapped, cheaply opened; verifyRelease reads every byte of it
// err  ReleaseError, naming the release and the place at fault
// note mapped files are only ever replaced by rename, so a view stays as it is until it is collected

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  DATA_FOLDER,
  dataStates,
  EmailSegment,
  evidenceTails,
  IpSegment,
  type LoadedRelease,
  RELEASE_ID_DIGITS,
  type Release,
  releaseContent,
  releaseName,
  release as releaseSchema,
  unfoundedAnswers,
} from "@inkling/engine";

/** A release that cannot be used; the message is for the operator. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}

/** What `releaseName` of the engine makes; anything else in `current` is refused before it becomes a path. */
const RELEASE_NAME = /^\d{8}T\d{6,9}Z-[0-9a-f]{12}$/;

export function isReleaseName(text: string): boolean {
  return RELEASE_NAME.test(text);
}

/** The release that `current` points at; undefined when nothing was published yet. */
export function currentName(dataDir: string): string | undefined {
  const path = join(dataDir, DATA_FOLDER.current);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

/** All releases of a data folder, newest first. */
export function releaseNames(dataDir: string): string[] {
  const folder = join(dataDir, DATA_FOLDER.releases);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return names
    .map((file) => file.slice(0, -".json".length))
    .filter(isReleaseName)
    .sort()
    .reverse();
}

/**
 * Opens a release: manifest, sizes, headers and bounds, not contents.
 * @throws ReleaseError
 */
export function openRelease(dataDir: string, name: string): LoadedRelease {
  return explained(dataDir, name, () => {
    const manifest = readManifest(dataDir, name);
    const { segments, feeds } = manifest;
    const geo = segments.geo && IpSegment.open(mapSegment(dataDir, segments.geo), "geo");
    const reputation =
      segments.reputation && IpSegment.open(mapSegment(dataDir, segments.reputation), "reputation");
    const email = segments.email && EmailSegment.open(mapSegment(dataDir, segments.email));
    const evidence = evidenceTails(
      {
        geolocate: geo?.evidenceFeeds,
        reputation: reputation?.evidenceFeeds,
        email: email?.evidenceFeeds,
      },
      feeds,
    );
    const states = dataStates(manifest);
    return { name, manifest, geo, reputation, email, states, etag: `"${manifest.id}"`, evidence };
  });
}

/**
 * Reads a release's manifest: its form, its id, its name, and that every answer has its segment.
 * @throws ReleaseError
 */
export function openManifest(dataDir: string, name: string): Release {
  return explained(dataDir, name, () => readManifest(dataDir, name));
}

/**
 * Opens a release and reads every byte of it: the files' hashes, and each segment's own checks.
 * Takes 0.5 s for 280 MB: not for the thread that answers.
 * @throws ReleaseError
 */
export function verifyRelease(dataDir: string, name: string): void {
  const opened = openRelease(dataDir, name);
  explained(dataDir, name, () => {
    for (const segment of Object.values(opened.manifest.segments)) {
      if (segment !== undefined) checkHash(mapSegment(dataDir, segment), segment.sha256);
    }
    const isIntact = true;
    opened.geo?.verify(isIntact);
    opened.reputation?.verify(isIntact);
    opened.email?.verify(isIntact);
  });
}

/** The segment files that a release's manifest names; none when the manifest cannot be read. */
export function segmentFiles(dataDir: string, name: string): string[] {
  try {
    const segments = Object.values(readManifest(dataDir, name).segments);
    return segments.flatMap((segment) =>
      segment === undefined ? [] : [join(dataDir, DATA_FOLDER.segmentFile(segment.sha256))],
    );
  } catch {
    return []; // opening the release says what is wrong with it
  }
}

interface SegmentRow {
  readonly sha256: string;
  readonly bytes: number;
}

/** The id that a manifest's content makes. */
export function releaseId(manifest: Omit<Release, "id">): string {
  return new Bun.CryptoHasher("sha256")
    .update(releaseContent(manifest))
    .digest("hex")
    .slice(0, RELEASE_ID_DIGITS);
}

function readManifest(dataDir: string, name: string): Release {
  if (!isReleaseName(name)) throw new ReleaseError("this is not the name of a release");
  const text = readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8");
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

function mapSegment(dataDir: string, segment: SegmentRow): Uint8Array {
  const file = DATA_FOLDER.segmentFile(segment.sha256);
  const path = join(dataDir, file);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new ReleaseError(`its segment ${file} is not there`);
  if (size !== segment.bytes) {
    throw new ReleaseError(`${file}: has ${size} bytes, the manifest says ${segment.bytes}`);
  }
  return mapOrRead(path);
}

/** Bun.mmap opens a file for writing even where nothing is shared: on a read-only volume it is read instead. */
function mapOrRead(path: string): Uint8Array {
  try {
    return Bun.mmap(path, { shared: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EROFS" && code !== "EPERM") throw error;
    return readFileSync(path);
  }
}

function checkHash(bytes: Uint8Array, want: string): void {
  const got = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  if (got !== want) {
    throw new ReleaseError(`${DATA_FOLDER.segmentFile(want)}: its content hashes to ${got.slice(0, 16)}…`);
  }
}

/** Every error on the way becomes one that names the release; JSON's and zod's come on one line. */
function explained<T>(dataDir: string, name: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    // Holders of keys read this in /v1/status: where the folder lies is not theirs to know.
    const reason = (error instanceof Error ? error.message : String(error))
      .replaceAll(`${dataDir}/`, "")
      .replace(/\s+/g, " ");
    throw new ReleaseError(`release ${name.slice(0, 80)}: ${reason.slice(0, 500)}`, { cause: error });
  }
}
