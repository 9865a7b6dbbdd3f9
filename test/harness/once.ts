// once.ts: creates an expensive resource once for all test processes, in node_modules/.cache.
//
// Cost: hashing the inputs.

import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

const CACHE = resolve(import.meta.dir, "../../node_modules/.cache/inkling-test");
/** Folders that builds write, which are no part of an input. */
const OUTPUTS: readonly string[] = ["dist", "dist-binary", "node_modules"];
/** Older results are created again, because data ages. */
const MAX_AGE_MS = 6 * 60 * 60_000;
/** Older locks are stale, because another process may have got the lock's process id. */
const LOCK_AGE_MS = 10 * 60_000;

/**
 * Returns the folder that `make` has filled, in this process or another. Never write to it.
 * @param inputs files and folders whose text is part of the cache key
 */
export async function once(
  name: string,
  inputs: readonly string[],
  make: (folder: string) => Promise<void>,
  cache = CACHE,
): Promise<string> {
  const folder = join(cache, `${name}-${hashOf(inputs)}`);
  const lock = `${folder}.lock`;
  mkdirSync(cache, { recursive: true });
  while (!isFresh(folder)) {
    if (!takeLock(lock)) {
      await Bun.sleep(100);
      continue;
    }
    try {
      if (isFresh(folder)) break; // created between the check and the lock
      for (const old of readdirSync(cache))
        if (old.startsWith(`${name}-`) && !old.endsWith(".lock") && !isFresh(join(cache, old)))
          rmSync(join(cache, old), { recursive: true, force: true });
      const half = `${folder}.${process.pid}`;
      rmSync(half, { recursive: true, force: true });
      mkdirSync(half);
      await make(half);
      if (!isFresh(folder)) renameSync(half, folder);
    } finally {
      rmSync(lock, { force: true });
    }
  }
  return folder;
}

const isFresh = (folder: string) => existsSync(folder) && Date.now() - statSync(folder).mtimeMs < MAX_AGE_MS;

/** Returns true if this process now holds the lock. Removes the lock of a process that is gone. */
function takeLock(lock: string): boolean {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, lock); // creates the lock together with its content
    return true;
  } catch {
    if (!isHeld(lock)) rmSync(lock, { force: true });
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Does a running process hold the lock? If two processes remove the same stale lock, both create the resource, and the
 * second result is dropped.
 */
function isHeld(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return Date.now() - statSync(lock).mtimeMs < LOCK_AGE_MS;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function hashOf(inputs: readonly string[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  const add = (path: string): void => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) {
      for (const entry of readdirSync(path).sort()) if (!OUTPUTS.includes(entry)) add(join(path, entry));
    } else {
      hash.update(`${path}\0${found?.size ?? "missing"}\0`);
      if (found !== undefined) hash.update(readFileSync(path));
    }
  };
  for (const input of inputs) add(input);
  return hash.digest("hex").slice(0, 16);
}
