// switch.ts: rolls back to an earlier release, pins a release, or unpins it and switches to the newest one.
//
// `verify` reads a whole release (verify.ts). A server passes a function that does this in a thread.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf, remedyFor } from "./errors.ts";
import { accessHint, DATA_FOLDER, isDenied } from "./layout.ts";
import { pointTo } from "./publish.ts";
import {
  currentName,
  pinnedName,
  ReleaseError,
  releaseNames,
  releasesBefore,
  requireCurrentName,
  requireKeptName,
} from "./releases.ts";

/** @throws ReleaseError if the release is not sound */
export type Verify = (dataDir: string, name: string) => unknown;

export interface Rollback {
  /** The release in use before. */
  readonly from: string;
  readonly to: string;
  /** The messages of newer releases that were skipped because they are damaged. */
  readonly passedOver: readonly string[];
}

/**
 * Finds the target of a rollback: the newest sound release before the current one, or the release `to`.
 * @param to the id or name of any stored release, older or newer than the one in use
 * @throws ReleaseError if the release does not exist or is not sound
 */
export async function findRollback(
  dataDir: string,
  to: string | undefined,
  verify: Verify,
): Promise<Rollback> {
  if (to !== undefined) {
    const name = requireKeptName(dataDir, to);
    await requireSound(dataDir, name, verify);
    return { from: currentName(dataDir) ?? "", to: name, passedOver: [] };
  }
  const from = requireCurrentName(dataDir);
  const passedOver: string[] = [];
  for (const name of releasesBefore(dataDir, from)) {
    try {
      await verify(dataDir, name);
      return { from, to: name, passedOver };
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      passedOver.push(error.message);
    }
  }
  throw passedOver.length > 0
    ? new ReleaseError(
        `no release before ${from} is sound: ${passedOver.join("; ")}`,
        remedyFor("old", dataDir),
      )
    : new ReleaseError(
        `there is no release earlier than ${from}`,
        "run `inkling data status` to see the stored releases",
      );
}

/**
 * Makes a release the current one. It remains current until {@link unpin} is called, regardless of what is built, as
 * long as its manifest is usable.
 */
export function pin(dataDir: string, name: string): void {
  // The pin is written first, so that a build that ends in between cannot change `current`.
  switching(dataDir, name, () => {
    pointTo(dataDir, DATA_FOLDER.pinned, name);
    if (currentName(dataDir) !== name) pointTo(dataDir, DATA_FOLDER.current, name);
  });
}

/** Returns the last published release, to which {@link unpin} switches. */
export const newestName = (dataDir: string, current: string): string => releaseNames(dataDir)[0] ?? current;

/** Removes the pin and switches to the last published release. Without a pin, nothing changes. */
export async function unpin(dataDir: string, verify: Verify): Promise<void> {
  const from = requireCurrentName(dataDir);
  if (pinnedName(dataDir) === undefined) return;
  let newest = from;
  for (let next = newestName(dataDir, from); next !== newest; next = newestName(dataDir, from)) {
    newest = next; // checked again after each verification, because a build may have published in the meantime
    if (newest !== from) await requireSound(dataDir, newest, verify);
  }
  switching(dataDir, newest, () => {
    // A build that ended in the meantime may have switched already.
    if (newest !== from && currentName(dataDir) === from) pointTo(dataDir, DATA_FOLDER.current, newest);
    rmSync(join(dataDir, DATA_FOLDER.pinned), { force: true });
  });
}

const ROOM = "free some disk space for DATA; a few KB are enough";
const SWITCH_HINTS: Readonly<Record<string, string>> = {
  ENOSPC: ROOM,
  EDQUOT: ROOM,
  EROFS: "DATA is on a read-only file system: switch on the machine that writes to it",
};

/** @throws ReleaseError if the disk is full or a pointer is not writable */
function switching(dataDir: string, name: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const hint = isDenied(error) ? accessHint(dataDir) : SWITCH_HINTS[code];
    if (hint === undefined) throw error;
    const reason = messageOf(error).replaceAll(`${dataDir}/`, "");
    throw new ReleaseError(
      `cannot switch to release ${name}: ${reason}`,
      `${hint.replace("DATA", dataDir)}; then try again. The release in use did not change`,
      { cause: error },
    );
  }
}

async function requireSound(dataDir: string, name: string, verify: Verify): Promise<void> {
  try {
    await verify(dataDir, name);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new ReleaseError(error.message, `the release in use did not change; ${remedyFor("old", dataDir)}`);
  }
}
