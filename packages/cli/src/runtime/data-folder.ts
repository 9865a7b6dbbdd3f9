// data-folder.ts: checks whether this user may write to the data folder, and deletes an outdated channel report.
//
// At startup, the server loads this file without the database module, which is loaded while the first worker starts.

import { accessSync, constants, realpathSync, rmSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, makeFolder } from "@inkling/data";
import { databaseFile } from "../config/settings.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";

/**
 * Creates the data folder if needed.
 * @throws CliError if this user cannot write to it
 */
export function ensureWritable(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFileError(error, `the data folder ${dataDir}`, dataDir);
  }
}

/**
 * Checks the data folder of a server that already has a release. Such a server writes only updates and its database to
 * the data folder, and the database may be elsewhere.
 * @returns why nothing can be written to the folder, or undefined
 * @throws CliError if the database is in a folder that cannot be written to
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

/**
 * Deletes the channel report of an earlier follower before a start without a channel, and before a host publishes.
 * Otherwise, `inkling doctor` would report the follower's last fault forever. If a server still follows the channel
 * with this data folder, it writes the report again within a minute.
 */
export function forgetChannelReport(dataDir: string): void {
  const path = join(dataDir, DATA_FOLDER.channelReport);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw explainFileError(error, path, dataDir);
  }
}

function isInside(folder: string, file: string | undefined): boolean {
  if (file === undefined) return false;
  try {
    return `${realpathSync(dirname(file))}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
  } catch {
    return false; // the folder does not exist; opening the database reports that
  }
}
