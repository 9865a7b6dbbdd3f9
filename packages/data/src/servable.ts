// servable.ts: opens the current release, or explains what to do if it cannot be opened or served.

import type { LoadedRelease } from "@inkling/engine";
import { checkFiles, openNamed, openRelease } from "./open.ts";
import {
  currentName,
  findCurrent,
  type NamedRelease,
  openManifest,
  ReleaseError,
  requireCurrentName,
  requireKeptName,
} from "./releases.ts";
import { brokenSegments, damageHint, hintFor } from "./verify.ts";

/**
 * The current release, if a quick check finds its files usable; otherwise the problem that keeps it from being served.
 */
interface Usable {
  readonly release: NamedRelease | undefined;
  readonly problem: string | undefined;
}

/** Checks the current release without mapping it. Both fields are undefined if nothing has been published yet. */
export function findUsable(dataDir: string): Usable {
  const name = currentName(dataDir);
  if (name === undefined) return { release: undefined, problem: undefined };
  try {
    return { release: checkFiles(dataDir, name), problem: undefined };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { release: undefined, problem: error.message };
  }
}

/**
 * Opens the current release.
 * @throws ReleaseError if there is no release, or if it cannot be used
 */
export function openServable(dataDir: string): LoadedRelease {
  const { release, problem } = findUsable(dataDir);
  if (release !== undefined) return openNamed(dataDir, release);
  const name = requireCurrentName(dataDir);
  const current = findCurrent(dataDir);
  const broken = current === undefined ? [] : brokenSegments(dataDir, current.manifest);
  throw new ReleaseError(problem ?? "", hintFor(dataDir, broken, damageHint(dataDir, name)));
}

/**
 * Opens a stored release.
 * @param text the release's name or id; undefined for the release in use
 * @throws ReleaseError if there is no such release, or if it cannot be used
 */
export function openKept(dataDir: string, text: string | undefined): LoadedRelease {
  return text === undefined ? openServable(dataDir) : openRelease(dataDir, requireKeptName(dataDir, text));
}

/**
 * Reads the manifest of the current release; undefined if there is none yet.
 * @throws ReleaseError if its manifest cannot be read
 */
export function openCurrent(dataDir: string): NamedRelease | undefined {
  const name = currentName(dataDir);
  if (name === undefined) return undefined;
  try {
    return { name, manifest: openManifest(dataDir, name) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new ReleaseError(error.message, error.hint ?? damageHint(dataDir, name));
  }
}

/** Does the same as {@link openCurrent}. @throws ReleaseError also if there is no release yet */
export function requireCurrent(dataDir: string): NamedRelease {
  requireCurrentName(dataDir);
  return openCurrent(dataDir)!; // it has a name
}
