// servable.ts: a release that can be served: the current one, or what to do where it cannot be.

import type { LoadedRelease } from "@inkling/engine";
import { checkFiles, findFiles, openNamed, type ReleaseFiles } from "./open.ts";
import { currentName, findCurrent, ReleaseError, requireCurrentName } from "./releases.ts";
import { areMarked } from "./verified.ts";
import { brokenSegments, hintFor, isOfOtherVersion, verifyRelease } from "./verify.ts";

/** A release that can be served, according to a quick check of its files, or why the current one cannot be served. */
interface Usable {
  readonly release: ReleaseFiles | undefined;
  readonly problem: string | undefined;
}

/** Looks at the current release, maps nothing; neither a release nor a problem when nothing was published yet. */
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
 * Opens a release, which is verified first where these files have no mark.
 * @throws ReleaseError
 */
export function openVerified(dataDir: string, name: string): LoadedRelease {
  return openFound(dataDir, findFiles(dataDir, name));
}

function openFound(dataDir: string, found: ReleaseFiles): LoadedRelease {
  const isVerified = areMarked(dataDir, found.stamps);
  return openNamed(dataDir, found, isVerified ? found.stamps : verifyRelease(dataDir, found.name).stamps);
}

/**
 * Opens the current release, as {@link openVerified}.
 * @throws ReleaseError when there is none, or it cannot be used
 */
export function openServable(dataDir: string): LoadedRelease {
  const { release, problem } = findUsable(dataDir);
  if (release !== undefined) return openFound(dataDir, release);
  requireCurrentName(dataDir);
  const current = findCurrent(dataDir);
  const broken = current === undefined ? [] : brokenSegments(dataDir, current.manifest);
  throw new ReleaseError(
    problem ?? "",
    isOfOtherVersion(broken) // then earlier ones most likely are too, so a rollback would not help
      ? hintFor(broken)
      : "`npx @inkling/cli data update` makes a new one, with `--offline` from the copies that are here; `npx @inkling/cli data rollback` goes back to the release before",
  );
}
