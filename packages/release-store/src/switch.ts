// switch.ts: rollback to an earlier release, pin one, unpin and go to the newest.
//
// err  ReleaseError with a hint; nothing was switched then
// note `verify` reads a whole release (verify.ts): a server passes one that works on a thread of its own

import { rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "./layout.ts";
import { pointTo } from "./publish.ts";
import {
  BUILD_HINT,
  currentName,
  pinnedName,
  ReleaseError,
  releaseNames,
  requireCurrentName,
} from "./releases.ts";

/** @throws ReleaseError when the release is not sound */
export type Verify = (dataDir: string, name: string) => void | Promise<void>;

/** `from` was in use, `to` is. */
export interface Switched {
  readonly from: string;
  readonly to: string;
}

export interface Rollback extends Switched {
  /** Newer ones that were passed over, each with what is wrong with it. */
  readonly passedOver: readonly string[];
}

const UPDATE_HINT = "make a new one with `npx inkling data update`; nothing was switched";

/**
 * The target of a rollback: the newest undamaged release before the current one, or the named one.
 * @param to any release that is kept, older or newer than the one in use
 */
export async function findRollback(
  dataDir: string,
  to: string | undefined,
  verify: Verify,
): Promise<Rollback> {
  const names = releaseNames(dataDir);
  if (to !== undefined) {
    if (!names.includes(to)) {
      const hint = names.length === 0 ? BUILD_HINT : `kept are ${names.join(", ")}`;
      throw new ReleaseError(`there is no release ${to} in ${dataDir}`, hint);
    }
    await requireSound(dataDir, to, verify);
    return { from: currentName(dataDir) ?? "", to, passedOver: [] };
  }
  const from = requireCurrentName(dataDir);
  const passedOver: string[] = [];
  for (const name of names.includes(from) ? names.filter((name) => name < from) : names) {
    try {
      await verify(dataDir, name);
      return { from, to: name, passedOver };
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      passedOver.push(error.message);
    }
  }
  throw passedOver.length > 0
    ? new ReleaseError(`no release before ${from} is sound: ${passedOver.join("; ")}`, BUILD_HINT)
    : new ReleaseError(
        `there is no release before ${from}`,
        "`npx inkling data status` lists the releases; the newest 5 are kept",
      );
}

/** Makes a release the current one, and keeps it so, whatever is built, until {@link unpin}. */
export function pin(dataDir: string, name: string): void {
  // In this order: a build that ends in between must not go forward again.
  pointTo(dataDir, DATA_FOLDER.pinned, name);
  if (currentName(dataDir) !== name) pointTo(dataDir, DATA_FOLDER.current, name);
}

/** Removes the pin and goes forward to the newest release. Without a pin nothing changes. */
export async function unpin(
  dataDir: string,
  verify: Verify,
): Promise<Switched & { readonly wasPinned: boolean }> {
  const from = requireCurrentName(dataDir);
  const wasPinned = pinnedName(dataDir) !== undefined;
  const [newest = from] = releaseNames(dataDir);
  if (!wasPinned) return { from, to: from, wasPinned };
  if (newest !== from) await requireSound(dataDir, newest, verify);
  rmSync(join(dataDir, DATA_FOLDER.pinned), { force: true });
  // A build that ended meanwhile has switched already.
  if (newest !== from && currentName(dataDir) === from) pointTo(dataDir, DATA_FOLDER.current, newest);
  return { from, to: newest, wasPinned };
}

async function requireSound(dataDir: string, name: string, verify: Verify): Promise<void> {
  try {
    await verify(dataDir, name);
  } catch (error) {
    throw error instanceof ReleaseError ? new ReleaseError(error.message, UPDATE_HINT) : error;
  }
}
