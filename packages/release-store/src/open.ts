// open.ts: from the files of a release to segments that answer.
//
// in   a data folder, the name of a release
// out  ReleaseFiles: what there is, nothing or little of it read; LoadedRelease: mapped, cheaply opened
// err  ReleaseError, naming the release and the place at fault
// note mapped files are only ever replaced by rename, so a view remains as it is until it is collected. Where one is cut
//      short all the same, touching what was mapped kills the process: one that supervises others maps nothing

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
import { fileStamp } from "./file-stamp.ts";
import { DATA_FOLDER } from "./layout.ts";
import { loadFfi, openLibc } from "./libc.ts";
import { explained, type NamedRelease, openManifest, ReleaseError } from "./releases.ts";
import { type Stamps, stampsOf } from "./verified.ts";

/** A release whose files are there, each of its size. */
export interface ReleaseFiles extends NamedRelease {
  readonly stamps: Stamps;
}

/** Looks at the files of a release without reading them. @throws ReleaseError */
export function findFiles(dataDir: string, name: string): ReleaseFiles {
  const manifest = openManifest(dataDir, name);
  return explained(dataDir, name, () => {
    for (const segment of Object.values(manifest.segments)) {
      if (segment !== undefined) checkSize(dataDir, segment);
    }
    return { name, manifest, stamps: stampsOf(dataDir, manifest) };
  });
}

/** As {@link findFiles}, and reads the start of each segment: is it one of this version? @throws ReleaseError */
export function checkFiles(dataDir: string, name: string): ReleaseFiles {
  const files = findFiles(dataDir, name);
  return explained(dataDir, name, () => {
    for (const [kind, segment] of Object.entries(files.manifest.segments)) {
      if (segment === undefined) continue;
      const path = join(dataDir, DATA_FOLDER.segmentFile(segment.sha256));
      checkSegmentStart(readStart(path), segment.bytes, kind as SegmentKind);
    }
    return files;
  });
}

/** Its header and section table. */
export function readStart(path: string): Uint8Array {
  const file = openSync(path, "r");
  try {
    const start = new Uint8Array(SEGMENT_START_BYTES);
    return start.subarray(0, readSync(file, start));
  } finally {
    closeSync(file);
  }
}

/**
 * Opens a release: manifest, sizes, headers and bounds, not contents.
 * @param verified the stamps of the files that were read in full: others are refused
 * @throws ReleaseError
 */
export function openRelease(dataDir: string, name: string, verified?: Stamps): LoadedRelease {
  return openNamed(dataDir, { name, manifest: openManifest(dataDir, name) }, verified);
}

/** As {@link openRelease}, with the manifest that was read: to check one takes a tenth of a lookup's start. */
export function openNamed(
  dataDir: string,
  { name, manifest }: NamedRelease,
  verified?: Stamps,
): LoadedRelease {
  return explained(dataDir, name, () =>
    loadRelease(name, manifest, (segment) => mapSegment(dataDir, segment, verified)),
  );
}

/**
 * A release from the bytes of its segments.
 * @param bytesOf the bytes of one segment; they must not change
 * @throws SegmentError when header or bounds of a segment are wrong
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

/** The bytes of a segment's file as it was verified. @throws ReleaseError when it is another by now */
export function mapSegment(
  dataDir: string,
  segment: SegmentReport,
  verified: Stamps | undefined,
): Uint8Array {
  const file = DATA_FOLDER.segmentFile(segment.sha256);
  checkSize(dataDir, segment);
  const bytes = mapFile(join(dataDir, file));
  if (verified !== undefined && fileStamp(join(dataDir, file)) !== verified[segment.sha256]) {
    throw new ReleaseError(`${file}: changed since it was verified`);
  }
  return bytes;
}

function checkSize(dataDir: string, { sha256, bytes }: SegmentReport): void {
  const file = DATA_FOLDER.segmentFile(sha256);
  const size = statSync(join(dataDir, file), { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new ReleaseError(`its segment ${file} is not there`);
  if (size !== bytes) throw new ReleaseError(`${file}: has ${size} bytes, the manifest says ${bytes}`);
}

/** Can this runtime map files? Node cannot. */
export const MAPS_FILES = typeof Bun !== "undefined";

/**
 * Maps a file's bytes, privately: writes would not reach the file.
 * Bun.mmap opens a file for writing all the same. What may only be read is mapped by the C library, and where that is not
 * possible, it is read into memory, as on Node.
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

/** PROT_READ | PROT_WRITE, as Bun.mmap */
const PROTECTION = 3;
const MAP_PRIVATE = 2;

/** @returns undefined if it is not possible; the mapping ends when the array is collected */
function mapReadOnly(path: string): Uint8Array | undefined {
  mapper ??= openMapper();
  if (mapper === undefined) return undefined;
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const address = mapper.mmap(null, size, PROTECTION, MAP_PRIVATE, file, 0);
    // MAP_FAILED, the highest address, is a bigint.
    return Number.isSafeInteger(address) ? mapper.arrayOf(address as Pointer, size) : undefined;
  } finally {
    closeSync(file);
  }
}

let mapper: ReturnType<typeof openMapper>;

/** By https://bun.sh/docs/api/ffi#memory-management, whose last two parameters the types lack. */
type ToArrayBuffer = (at: Pointer, from: number, size: number, context: number, free: Pointer) => ArrayBuffer;

function openMapper() {
  const toArrayBuffer = loadFfi()?.toArrayBuffer as ToArrayBuffer | undefined;
  const libc = openLibc({
    mmap: { args: ["ptr", "u64", "int", "int", "int", "i64"], returns: "ptr" },
    munmap: { args: ["ptr", "u64"], returns: "int" },
  });
  if (toArrayBuffer === undefined || libc === undefined) return undefined;
  const { ptr: munmap } = libc.munmap as unknown as { readonly ptr: Pointer };
  // An array is freed by a call with its address and a word of our choice, for which munmap takes the size.
  const arrayOf = (at: Pointer, size: number) => new Uint8Array(toArrayBuffer(at, 0, size, size, munmap));
  return { mmap: libc.mmap, arrayOf };
}

/** A file in its own memory, which can be transferred to another thread: that of a small Buffer is shared. */
function readWhole(path: string): Uint8Array<ArrayBuffer> {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(fstatSync(file).size);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, Math.min(bytes.length - at, MAX_READ), at);
      if (read === 0) throw new ReleaseError(`${basename(path)} was cut short while it was read`);
      at += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Bytes of one read: Linux reads at most 2 GiB at once. */
const MAX_READ = 1 << 26;
