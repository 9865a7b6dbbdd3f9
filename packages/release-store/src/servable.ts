// servable.ts: a release that can be served: the current one, or what to do where it cannot be.

import type { LoadedRelease } from "@inkling/engine";
import { openRelease } from "./open.ts";
import { currentName, findCurrent, ReleaseError, releaseNames, requireCurrentName } from "./releases.ts";
import { areMarked, stampsOf } from "./verified.ts";
import { brokenSegments, hintFor, isOfOtherVersion, verifyRelease } from "./verify.ts";

/** A release that can be served, or why the current one cannot. */
export interface Usable {
  readonly release: LoadedRelease | undefined;
  readonly problem: string | undefined;
}

/** Opens the current release; neither a release nor a problem when nothing was published yet. */
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
 * Opens the current release, which is verified first where these files have no mark.
 * @throws ReleaseError when there is none, or it cannot be used
 */
export function openServable(dataDir: string): LoadedRelease {
  const { release, problem } = findUsable(dataDir);
  if (release !== undefined) {
    const stamps = stampsOf(dataDir, release.manifest);
    if (areMarked(dataDir, stamps)) return openRelease(dataDir, release.name, stamps);
    return openRelease(dataDir, release.name, verifyRelease(dataDir, release.name).stamps);
  }
  requireCurrentName(dataDir);
  const current = findCurrent(dataDir);
  const broken = current === undefined ? [] : brokenSegments(dataDir, current.manifest);
  throw new ReleaseError(
    problem ?? "",
    isOfOtherVersion(broken) // then earlier ones most likely are too, so a rollback would not help
      ? hintFor(broken)
      : "`npx inkling data update` makes a new one, with `--offline` from the copies that are here; `npx inkling data rollback` goes back to the release before",
  );
}

/**
 * Makes sure that there is something to serve: the current release, or an older one that the server falls back to.
 * @throws ReleaseError when there is neither
 */
export function requireRelease(dataDir: string): void {
  if (findUsable(dataDir).release !== undefined) return;
  if (!releaseNames(dataDir).some((name) => opens(dataDir, name))) openServable(dataDir);
}

function opens(dataDir: string, name: string): boolean {
  try {
    openRelease(dataDir, name);
    return true;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return false;
  }
}
