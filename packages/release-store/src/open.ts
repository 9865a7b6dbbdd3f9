// open.ts: from the files of a release to segments that answer.
//
// in   a data folder, the name of a release
// out  LoadedRelease: mapped, cheaply opened
// err  ReleaseError, naming the release and the place at fault
// note mapped files are only ever replaced by rename, so a view stays as it is until it is collected

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  dataStates,
  EmailSegment,
  evidenceTails,
  IpSegment,
  type LoadedRelease,
  type SegmentReport,
} from "@inkling/engine";
import { DATA_FOLDER } from "./layout.ts";
import { explained, openManifest, ReleaseError } from "./releases.ts";

/**
 * Opens a release: manifest, sizes, headers and bounds, not contents.
 * @throws ReleaseError
 */
export function openRelease(dataDir: string, name: string): LoadedRelease {
  const manifest = openManifest(dataDir, name);
  const { segments, feeds } = manifest;
  return explained(dataDir, name, () => {
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

function mapSegment(dataDir: string, { sha256, bytes }: SegmentReport): Uint8Array {
  const file = DATA_FOLDER.segmentFile(sha256);
  const path = join(dataDir, file);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new ReleaseError(`its segment ${file} is not there`);
  if (size !== bytes) throw new ReleaseError(`${file}: has ${size} bytes, the manifest says ${bytes}`);
  return mapFile(path);
}

/**
 * Maps a file's bytes, privately: writes would not reach the file.
 * Bun.mmap opens a file for writing all the same: on a read-only volume it is read into memory instead.
 */
export function mapFile(path: string): Uint8Array {
  try {
    return Bun.mmap(path, { shared: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EROFS" && code !== "EPERM") throw error;
    return readFileSync(path);
  }
}
