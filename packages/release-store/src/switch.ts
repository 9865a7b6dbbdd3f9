// switch.ts: rollback to an earlier release, pin one, unpin and go to the newest.
//
// err  ReleaseError with a hint; nothing was switched then
// note `verify` reads a whole release (verify.ts): a server passes one that works in its own process

import { rmSync } from "node:fs";
import { join } from "node:path";
import { AtomicFile } from "./atomic-file.ts";
import { messageOf } from "./error-message.ts";
import { DATA_FOLDER } from "./layout.ts";
import {
  BUILD_HINT,
  currentName,
  pinnedName,
  ReleaseError,
  releaseNames,
  releasesBefore,
  requireCurrentName,
} from "./releases.ts";

/** @throws ReleaseError when the release is not sound */
export type Verify = (dataDir: string, name: string) => unknown;

/** `from` was in use, `to` is. */
export interface Switched {
  readonly from: string;
  readonly to: string;
}

export interface Rollback extends Switched {
  /** Newer ones that were passed over, each with what is wrong with it. */
  readonly passedOver: readonly string[];
}

const UPDATE_HINT = "make a new one with `npx @inkling/cli data update`; nothing was switched";

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
    ? new ReleaseError(`no release before ${from} is sound: ${passedOver.join("; ")}`, BUILD_HINT)
    : new ReleaseError(
        `there is no release before ${from}`,
        "`npx @inkling/cli data status` lists the releases; the newest 5 are kept",
      );
}

/** Makes a release the current one, and keeps it so, whatever is built, until {@link unpin}. */
export function pin(dataDir: string, name: string): void {
  // In this order: a build that ends in between must not go forward again.
  const pointers = [DATA_FOLDER.pinned, ...(currentName(dataDir) === name ? [] : [DATA_FOLDER.current])];
  switchTo(dataDir, name, pointers, () => {});
}

/** The release published last, which {@link unpin} goes forward to. */
export const newestName = (dataDir: string, current: string): string => releaseNames(dataDir)[0] ?? current;

/** Removes the pin and goes forward to the release published last. Without a pin nothing changes. */
export async function unpin(
  dataDir: string,
  verify: Verify,
): Promise<Switched & { readonly wasPinned: boolean }> {
  const from = requireCurrentName(dataDir);
  const wasPinned = pinnedName(dataDir) !== undefined;
  if (!wasPinned) return { from, to: from, wasPinned };
  const newestOf = () => newestName(dataDir, from);
  let newest = from;
  while (newest !== newestOf()) {
    newest = newestOf(); // again after each verification: a build may have ended meanwhile, behind the pin
    if (newest !== from) await requireSound(dataDir, newest, verify);
  }
  // A build that ended meanwhile has switched already.
  const isBehind = newest !== from && currentName(dataDir) === from;
  switchTo(dataDir, newest, isBehind ? [DATA_FOLDER.current] : [], () =>
    rmSync(join(dataDir, DATA_FOLDER.pinned), { force: true }),
  );
  return { from, to: newest, wasPinned };
}

/** Writes a name into all pointers or, if one has no room or may not be written, into none. @throws ReleaseError */
function switchTo(dataDir: string, name: string, pointers: readonly string[], first: () => void): void {
  const files: AtomicFile[] = [];
  try {
    for (const pointer of pointers) {
      const file = new AtomicFile(join(dataDir, pointer));
      files.push(file);
      file.write(`${name}\n`);
      file.flush();
    }
    first();
    for (const file of files) file.commit();
  } catch (error) {
    for (const file of files) file.discard();
    throw cannotSwitch(dataDir, name, error);
  }
}

const ROOM = "make room on the disk of DATA, a few KB are enough";
const OWNER = "run as the user who owns DATA, or make it writable for this one";
const SWITCH_HINTS: Readonly<Record<string, string>> = {
  ENOSPC: ROOM,
  EDQUOT: ROOM,
  EROFS: "DATA is on a read-only file system: switch on the machine that writes to it",
  EACCES: OWNER,
  EPERM: OWNER,
};

function cannotSwitch(dataDir: string, name: string, error: unknown): unknown {
  const hint = SWITCH_HINTS[String((error as { code?: unknown }).code)];
  if (hint === undefined) return error;
  const reason = messageOf(error).replaceAll(`${dataDir}/`, "");
  return new ReleaseError(
    `cannot switch to release ${name}: ${reason}`,
    `${hint.replace("DATA", dataDir)}; then try again. Nothing was switched, and what is served goes on`,
    { cause: error },
  );
}

async function requireSound(dataDir: string, name: string, verify: Verify): Promise<void> {
  try {
    await verify(dataDir, name);
  } catch (error) {
    throw error instanceof ReleaseError ? new ReleaseError(error.message, UPDATE_HINT) : error;
  }
}
