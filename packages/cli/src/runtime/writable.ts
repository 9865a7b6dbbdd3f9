// writable.ts: a data folder that this user can write to.

import { accessSync, constants } from "node:fs";
import { makeFolder } from "@inkling/release-store";
import { explainFileError } from "../terminal/errors.ts";

/** Makes the data folder if needed. @throws CliError when this user cannot write to it */
export function ensureWritable(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFileError(error, `the data folder ${dataDir}`);
  }
}
