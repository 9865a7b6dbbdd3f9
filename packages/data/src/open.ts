// open.ts: opens the files of a release as segments that can answer lookups.
//
// Mapped files are only ever replaced by rename, so a view does not change until it is collected. If a file is
// truncated nevertheless, touching the mapped memory kills the process, and the next start refuses the release.

import type { Pointer } from "bun:ffi";
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import {
  checkSegmentStart,
  dataStates,
  EmailSegment,
  evidenceTails,
  IpSegment,
  type LoadedRelease,
  type Release,
  SEGMENT_START_BYTES,
  type SegmentKind,
  type SegmentReport,
} from "@inkling/engine";
import { DATA_FOLDER } from "./layout.ts";
import { loadFfi, openLibc } from "./libc.ts";
import { explained, type NamedRelease, openManifest, ReleaseError, segmentsOf } from "./releases.ts";

/** Checks that the files of a release exist and have the right size, without reading them. @throws ReleaseError */
export function checkSizes(dataDir: string, name: string): NamedRelease {
  const manifest = openManifest(dataDir, name);
  return explained(dataDir, name, () => {
    for (const segment of segmentsOf(manifest)) checkSize(dataDir, segment);
    return { name, manifest };
  });
}

/** Does the same as {@link checkSizes}, and checks each segment's kind and version. @throws ReleaseError */
export function checkFiles(dataDir: string, name: string): NamedRelease {
  const release = checkSizes(dataDir, name);
  return explained(dataDir, name, () => {
    for (const [kind, segment] of Object.entries(release.manifest.segments)) {
      if (segment === undefined) continue;
      const path = join(dataDir, DATA_FOLDER.segmentFile(segment.sha256));
      checkSegmentStart(readStart(path), segment.bytes, kind as SegmentKind);
    }
    return release;
  });
}

/** Reads a segment file's header and section table. */
export function readStart(path: string): Uint8Array {
  const file = openSync(path, "r");
  try {
    const start = new Uint8Array(SEGMENT_START_BYTES);
    return start.subarray(0, readSync(file, start));
  } finally {
    closeSync(file);
  }
}

/** Opens a release. Checks the manifest, sizes, headers and bounds, but not the contents. @throws ReleaseError */
export function openRelease(dataDir: string, name: string): LoadedRelease {
  return openNamed(dataDir, { name, manifest: openManifest(dataDir, name) });
}

/**
 * Does the same as {@link openRelease}, with a manifest that has already been read. Checking the manifest again would
 * take a tenth of the time that a program needs to start and make one lookup.
 */
export function openNamed(dataDir: string, { name, manifest }: NamedRelease): LoadedRelease {
  return explained(dataDir, name, () =>
    loadRelease(name, manifest, (segment) => mapSegment(dataDir, segment)),
  );
}

/**
 * Builds a release from the bytes of its segments.
 * @param bytesOf returns the bytes of one segment, which must not change
 * @throws SegmentError if the header or the bounds of a segment are wrong
 */
export function loadRelease(
  name: string,
  manifest: Release,
  bytesOf: (segment: SegmentReport) => Uint8Array,
): LoadedRelease {
  const { segments, feeds } = manifest;
  const geo = segments.geo && IpSegment.open(bytesOf(segments.geo), "geo");
  const reputation = segments.reputation && IpSegment.open(bytesOf(segments.reputation), "reputation");
  const email = segments.email && EmailSegment.open(bytesOf(segments.email));
  const network = segments.network && IpSegment.open(bytesOf(segments.network), "network");
  const evidence = evidenceTails(
    {
      geolocate: geo?.evidenceFeeds,
      reputation: reputation?.evidenceFeeds,
      email: email?.evidenceFeeds,
      network: network?.evidenceFeeds,
    },
    feeds,
  );
  const states = dataStates(manifest);
  const etag = `"${manifest.id}"`;
  return { name, manifest, geo, reputation, email, network, states, etag, evidence };
}

/** Maps a segment file. @throws ReleaseError if the file is missing or has a different size */
export function mapSegment(dataDir: string, segment: SegmentReport): Uint8Array {
  checkSize(dataDir, segment);
  return mapFile(join(dataDir, DATA_FOLDER.segmentFile(segment.sha256)));
}

function checkSize(dataDir: string, { sha256, bytes }: SegmentReport): void {
  const file = DATA_FOLDER.segmentFile(sha256);
  const size = statSync(join(dataDir, file), { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new ReleaseError(`its segment ${file} is missing`);
  if (size !== bytes) throw new ReleaseError(`${file}: has ${size} bytes, but the manifest lists ${bytes}`);
}

/** Can this runtime map files? Node cannot. */
export const MAPS_FILES = typeof Bun !== "undefined";

/**
 * Maps a file's bytes privately, so that writes to memory do not reach the file. Bun.mmap nevertheless opens the file
 * for writing, so the C library maps read-only files. If that is not possible, the file is read into memory, as on
 * Node.
 */
export function mapFile(path: string): Uint8Array {
  if (!MAPS_FILES) return readWhole(path);
  try {
    return Bun.mmap(path, { shared: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EROFS" && code !== "EPERM") throw error;
    return mapReadOnly(path) ?? readWhole(path);
  }
}

/** PROT_READ | PROT_WRITE, like Bun.mmap. */
const PROTECTION = 3;
const MAP_PRIVATE = 2;

/** @returns the mapped bytes, which are unmapped when the array is collected; undefined if the file cannot be mapped */
function mapReadOnly(path: string): Uint8Array | undefined {
  mapper ??= openMapper();
  if (mapper === undefined) return undefined;
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const address = mapper.mmap(null, size, PROTECTION, MAP_PRIVATE, file, 0);
    // MAP_FAILED is the highest address, which arrives as a bigint.
    return Number.isSafeInteger(address) ? mapper.arrayOf(address as Pointer, size) : undefined;
  } finally {
    closeSync(file);
  }
}

let mapper: ReturnType<typeof openMapper>;

/** See https://bun.sh/docs/api/ffi#memory-management. The last two parameters are missing from Bun's types. */
type ToArrayBuffer = (at: Pointer, from: number, size: number, context: number, free: Pointer) => ArrayBuffer;

function openMapper() {
  const toArrayBuffer = loadFfi()?.toArrayBuffer as ToArrayBuffer | undefined;
  const libc = openLibc({
    mmap: { args: ["ptr", "u64", "int", "int", "int", "i64"], returns: "ptr" },
    munmap: { args: ["ptr", "u64"], returns: "int" },
  });
  if (toArrayBuffer === undefined || libc === undefined) return undefined;
  const { ptr: munmap } = libc.munmap as unknown as { readonly ptr: Pointer };
  // Bun frees the array by calling munmap with the address and a word of our choice. We pass the size, which munmap
  // needs.
  const arrayOf = (at: Pointer, size: number) => new Uint8Array(toArrayBuffer(at, 0, size, size, munmap));
  return { mmap: libc.mmap, arrayOf };
}

/** Reads a file into separate memory, which can be transferred to another thread. Small Buffers share their memory. */
function readWhole(path: string): Uint8Array<ArrayBuffer> {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(fstatSync(file).size);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, Math.min(bytes.length - at, MAX_READ), at);
      if (read === 0) throw new ReleaseError(`${basename(path)} was truncated while it was being read`);
      at += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Maximum number of bytes per read. Linux reads at most 2 GiB in one call. */
const MAX_READ = 1 << 26;
