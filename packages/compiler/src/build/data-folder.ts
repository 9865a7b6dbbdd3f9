// data-folder.ts: how a build leaves its mark on the data folder: segments, then the manifest, then `current`.
//
// Each file is written under a temporary name, flushed and renamed, so a killed build leaves nothing half-published:
// a segment that no manifest names, or a temporary file, is swept away by the next build.
// err  what node:fs throws (EACCES, ENOSPC …), with the path in it; BuildBusy when another build is at work

import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DATA_FOLDER, type Release, release, releaseName } from "@inkling/engine";

/** Releases that stay for rollback, the current one included. */
export const KEPT_RELEASES = 5;
/** What files are called while they are written: nobody reads these. */
export const TEMPORARY = ".tmp-";
const LOCK = "build.lock";

export class BuildBusy extends Error {
  override readonly name = "BuildBusy";
}

/** Makes the folder and what belongs in it. */
export function prepareDataFolder(dataDir: string): void {
  for (const part of [DATA_FOLDER.feeds, DATA_FOLDER.segments, DATA_FOLDER.releases]) {
    mkdirSync(join(dataDir, part), { recursive: true });
  }
}

/**
 * Takes the folder for one build. A lock whose process is gone is taken over.
 * @returns gives the folder back
 * @throws BuildBusy when another build is at work in it
 */
export function lockDataFolder(dataDir: string): () => void {
  const path = join(dataDir, LOCK);
  // Linked into place with its content, so that nobody ever sees a lock that names no process.
  const own = join(dataDir, `${TEMPORARY}${process.pid}-${LOCK}`);
  writeFileSync(own, `${process.pid} ${startOf(process.pid) ?? ""}`);
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        linkSync(own, path);
        return () => rmSync(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || attempt === 1) throw error;
        const [pid = "", started = ""] = readFileSync(path, "utf8").split(" ");
        if (isAtWork(Number(pid), started)) {
          throw new BuildBusy(
            `another build is at work in ${dataDir} (process ${pid}; if it is not, delete ${path})`,
          );
        }
        rmSync(path, { force: true });
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** Is it alive, and the process that it was? Numbers are given again, at once in a container that starts anew. */
function isAtWork(pid: number, started: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const start = startOf(pid);
  return start === undefined || (start !== ENDED && (started === "" || start === started));
}

/** A process that has ended, and that nobody has asked for its exit status yet. */
const ENDED = "ended";

/** When a process started, in ticks since the machine did; undefined where the system has no /proc. */
function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // not Linux, or gone between two questions: then kill() has said so, or will the next time
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  return fields[0] === "Z" || fields[0] === "X" ? ENDED : fields[19];
}

/** Writes `chunks` so that `path` is either absent, as before, or whole. */
export function writeWhole(path: string, chunks: readonly (Uint8Array | string)[]): void {
  const temporary = join(dirname(path), `${TEMPORARY}${process.pid}-${basename(path)}`);
  try {
    const file = openSync(temporary, "w", 0o644);
    try {
      for (const chunk of chunks) writeAll(file, typeof chunk === "string" ? Buffer.from(chunk) : chunk);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  flushFolder(dirname(path));
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; )
    at += writeSync(file, bytes, at, Math.min(bytes.length - at, 1 << 26));
}

/** A rename survives a power cut only once its folder is flushed. */
function flushFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Puts a segment in the folder under the hash of its content; one that is there already is left alone. */
export function writeSegmentFile(
  dataDir: string,
  chunks: readonly Uint8Array[],
): { sha256: string; bytes: number } {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  const sha256 = hash.digest("hex");
  if (!hasSegment(dataDir, sha256)) writeWhole(join(dataDir, DATA_FOLDER.segmentFile(sha256)), chunks);
  return { sha256, bytes };
}

/** Is a segment there, and undamaged? Reads all of it: a disk that lost a bit must not be built upon. */
export function hasSegment(dataDir: string, sha256: string): boolean {
  const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
  if (!existsSync(path)) return false;
  const file = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const block = new Uint8Array(1 << 20);
    for (let read = readSync(file, block); read > 0; read = readSync(file, block))
      hash.update(block.subarray(0, read));
    return hash.digest("hex") === sha256;
  } finally {
    closeSync(file);
  }
}

/** The release that `current` names, or undefined when there is none or it cannot be read. */
export function readCurrent(dataDir: string): { name: string; manifest: Release } | undefined {
  try {
    const name = readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim();
    return { name, manifest: readManifest(dataDir, name) };
  } catch {
    return undefined; // a build makes a new one; what serves reports a broken one itself
  }
}

function readManifest(dataDir: string, name: string): Release {
  return release.parse(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8")));
}

/** The newest release that can be read: the current one, unless an older one is pinned. */
export function readNewest(dataDir: string): { name: string; manifest: Release } | undefined {
  for (const name of releaseNames(dataDir).reverse()) {
    try {
      return { name, manifest: readManifest(dataDir, name) };
    } catch {
      // As above: what cannot be read is no base to build upon.
    }
  }
  return undefined;
}

/** The release that the operator pinned, if any. */
export function findPinned(dataDir: string): string | undefined {
  const path = join(dataDir, DATA_FOLDER.pinned);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

/** Makes `manifest` a release, and the current one unless another is pinned. */
export function publish(dataDir: string, manifest: Release): string {
  const name = releaseName(manifest);
  writeWhole(join(dataDir, DATA_FOLDER.releaseFile(name)), [`${JSON.stringify(manifest, null, 2)}\n`]);
  makeCurrent(dataDir, name);
  sweep(dataDir, name);
  return name;
}

/**
 * Points `current` at a release, unless another is pinned and in use.
 * @returns did it point elsewhere before?
 */
export function makeCurrent(dataDir: string, name: string): boolean {
  const current = readCurrent(dataDir)?.name;
  if (current === name || (current !== undefined && current === findPinned(dataDir))) return false;
  writeWhole(join(dataDir, DATA_FOLDER.current), [`${name}\n`]);
  return true;
}

/** Oldest first: a name begins with its time. */
function releaseNames(dataDir: string): string[] {
  const folder = join(dataDir, DATA_FOLDER.releases);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json") && !file.startsWith(TEMPORARY))
    .map((file) => file.slice(0, -".json".length))
    .sort();
}

/** Removes releases beyond the kept ones (the newest, the one in use, the pinned one), segments that none of those names, and what killed builds left. */
export function sweep(dataDir: string, published: string): void {
  const names = releaseNames(dataDir);
  const newest = names.filter((name) => name !== published).slice(-(KEPT_RELEASES - 1));
  const inUse = [readCurrent(dataDir)?.name, findPinned(dataDir)].filter((name) => name !== undefined);
  const kept = new Set([...newest, published, ...inUse.filter((name) => names.includes(name))]);
  const needed = new Set<string>();
  for (const name of names) {
    if (!kept.has(name)) rmSync(join(dataDir, DATA_FOLDER.releaseFile(name)), { force: true });
  }
  for (const name of kept) {
    try {
      for (const segment of Object.values(readManifest(dataDir, name).segments)) {
        if (segment !== undefined) needed.add(`${segment.sha256}.seg`);
      }
    } catch {
      // A manifest that cannot be read keeps nothing alive: it cannot be rolled back to either.
    }
  }
  for (const part of [DATA_FOLDER.segments, DATA_FOLDER.releases, DATA_FOLDER.feeds, "."]) {
    for (const file of readdirSync(join(dataDir, part))) {
      const left = file.startsWith(TEMPORARY) || (part === DATA_FOLDER.segments && !needed.has(file));
      if (left) rmSync(join(dataDir, part, file), { force: true });
    }
  }
}
