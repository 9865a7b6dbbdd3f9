// data-folder.ts: may this user write to the data folder?
//
// err  CliError with a hint
// note A start loads this without the database, which loads while the first worker starts.

import { accessSync, constants, realpathSync, rmSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, makeFolder } from "@inkling/release-store";
import { databaseFile } from "../config/settings.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";

/** Makes the data folder if needed. @throws CliError when this user cannot write to it */
export function ensureWritable(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFileError(error, `the data folder ${dataDir}`);
  }
}

/**
 * For a server with a release: it writes to the data folder only its database, unless that is elsewhere, and updates.
 * @returns why nothing can be written there, or undefined
 * @throws CliError when the database is in a folder that cannot be written to
 */
export function whyReadOnly(settings: Pick<Settings, "dataDir" | "databaseUrl">): string | undefined {
  const { dataDir } = settings;
  try {
    ensureWritable(dataDir);
    return undefined;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (!isInside(dataDir, databaseFile(settings))) return error.message;
    const elsewhere = "or put the database elsewhere: INKLING_DATABASE_URL=sqlite://FILE or postgres://…";
    throw new CliError(error.message, `${error.hint}; ${elsewhere}`);
  }
}

/** Before a start without a channel: what was reported of one that was followed before says nothing of this server. */
export function forgetChannelReport(dataDir: string): void {
  const path = join(dataDir, DATA_FOLDER.channelReport);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw explainFileError(error, path);
  }
}

function isInside(folder: string, file: string | undefined): boolean {
  if (file === undefined) return false;
  try {
    return `${realpathSync(dirname(file))}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false; // no such folder: opening the database reports it
  }
}
