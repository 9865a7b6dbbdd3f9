// data-folders.mjs: the folders that `npm run test:data` needs, from the environment.

import { statSync } from "node:fs";
import { resolve } from "node:path";

/** What each variable names. */
const CONTENT = {
  INKLING_MIRROR: "one file per feed, such as tor-bulk-exits.txt",
  INKLING_VECTORS: "the conformance files, in maxmind-db/, opt-in/ and guards/",
};
export const DATA_VARIABLES = Object.keys(CONTENT);

/**
 * @param {string} variable one of {@link DATA_VARIABLES}
 * @returns {string} the absolute path of a folder that exists
 */
export function dataFolder(variable, env = process.env) {
  const value = env[variable];
  const need = `npm run test:data needs ${variable}, a folder with ${CONTENT[variable]}`;
  if (!value) throw new Error(`${need}: it is not set`);
  const path = resolve(value);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(`${need}: ${path} does not exist`);
  if (!found.isDirectory()) throw new Error(`${need}: ${path} is not a folder`);
  return path;
}
