// files.mjs: finds the test files and decides which run together and which come first.
//
// A process costs 60 ms, and 300 ms with the imports of a server or a command: small files share one.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files of a process. 92 quick files take 0.3 s of CPU each: a batch takes about 4 s. */
const BATCH_FILES = 12;
const SKIPPED_FOLDERS = /^(\..*|node_modules|dist|dist-test|data|coverage)$/;

/** Files that take 5 s and more, the slowest first. They begin first, so that no long one is left at the end. */
export const SLOWEST = [
  "test/up-hours.test.ts",
  "test/up.test.ts",
  "test/console.test.ts",
  "test/docs-page.test.ts",
  "test/build-killed.test.ts",
  "test/evidence.test.ts",
  "test/http.test.ts",
  "test/accuracy.test.ts",
  "test/batch-streams.test.ts",
  "test/contract.test.ts",
  "test/examples.test.ts",
];

/** Sockets, processes and servers: what a quick test does not use. */
const IO =
  /\bBun\.(serve|listen|connect|spawn)|node:(net|http|child_process)|startServer|publisher\.testing|fake-server/;

/** Every test file, from the project's folder, with "/". */
export function findTests(root, folder = "") {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return SKIPPED_FOLDERS.test(entry.name) ? [] : findTests(root, path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Does the file hold unit tests: beside the code, without a socket, browser or database? */
export function isUnitTest(root, path) {
  return /^packages\/[^/]+\/src\//.test(path) && !IO.test(readFileSync(join(root, path), "utf8"));
}

/**
 * Groups of files, each for a process: the slowest first, then the other files of test/, then the rest.
 * @param {{ unit: boolean, parts: string[] }} chosen only unit tests; only paths that contain one of the parts
 */
export function groupTests(root, { unit, parts }) {
  const chosen = findTests(root)
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .sort();
  const quick = chosen.filter((path) => isUnitTest(root, path));
  const alone = unit ? [] : chosen.filter((path) => !quick.includes(path));
  const rank = (path) => {
    const place = SLOWEST.indexOf(path);
    if (place >= 0) return place;
    return SLOWEST.length + (path.startsWith("test/") ? 0 : 1);
  };
  alone.sort((a, b) => rank(a) - rank(b));
  const batches = [];
  for (let i = 0; i < quick.length; i += BATCH_FILES) batches.push(quick.slice(i, i + BATCH_FILES));
  return [...alone.map((path) => [path]), ...batches];
}
