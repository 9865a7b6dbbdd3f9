// files.mjs: finds the test files and decides which run together and which come first.
//
// Files named *.data.test.ts are those of `npm run test:data`: they read real feeds and other projects' files from folders
// that are not part of the repository. `npm test` runs all other files.
//
// A process costs 60 ms, and 300 ms with the imports of a server or a command: small files share one.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files of a process. 92 quick files take 0.3 s of CPU each: a batch takes about 4 s. */
const BATCH_FILES = 12;
const SKIPPED_FOLDERS = /^(\..*|node_modules|dist|dist-test|data|coverage)$/;

/** Files that take 3 s of CPU and more, the slowest first. They begin first, so that no long one is left at the end. */
export const SLOWEST = [
  "console/looks",
  "console/pages",
  "up",
  "docs-page",
  "up-hours",
  "fuzz/fuzz",
  "attack/faults",
  "attack/attack",
  "build-killed",
  "batch-streams",
  "overrides",
  "store.contract",
  "workers",
  "http",
  "client",
  "contract",
  "examples",
  "subdivisions",
  "release-swap",
  "place-source",
  "store-outage",
  "watching/live",
  "backup",
  "misbehaving",
  "evidence.data", // builds the release of the mirror, which others wait for
  "reputation.data",
].map((name) => `/${name}.test.ts`);

/** Sockets, processes and servers: what a quick test does not use. */
const IO =
  /\bBun\.(serve|listen|connect|spawn)|node:(net|http|child_process)|startServer|publisher\.testing|fake-server/;

/** Does `npm run test:data` run this file, instead of `npm test`? */
export const isDataTest = (path) => path.endsWith(".data.test.ts");

/** Every test file, from the project's folder, with "/". */
export function findTests(root, folder = "") {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return SKIPPED_FOLDERS.test(entry.name) ? [] : findTests(root, path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Does the file hold unit tests: beside the code, without a socket, browser or database? */
function isUnitTest(root, path) {
  return /^packages\/[^/]+\/src\//.test(path) && !IO.test(readFileSync(join(root, path), "utf8"));
}

/**
 * Groups of files, each for a process: the slowest first, then the other files of test/, then the rest.
 * @param {{ unit: boolean, data?: boolean, parts: string[] }} chosen only unit tests; the data tests instead of all
 *   others; only paths that contain one of the parts
 */
export function groupTests(root, { unit, data = false, parts }) {
  const chosen = findTests(root)
    .filter((path) => isDataTest(path) === data)
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .sort();
  const rank = (path) => {
    const index = SLOWEST.findIndex((name) => path.endsWith(name));
    if (index >= 0) return index;
    return SLOWEST.length + (path.startsWith("test/") ? 0 : 1);
  };
  const units = chosen.filter((path) => isUnitTest(root, path));
  const quick = units.filter((path) => rank(path) >= SLOWEST.length);
  const alone = (unit ? units : chosen).filter((path) => !quick.includes(path));
  alone.sort((a, b) => rank(a) - rank(b));
  const batches = [];
  for (let i = 0; i < quick.length; i += BATCH_FILES) batches.push(quick.slice(i, i + BATCH_FILES));
  return [...alone.map((path) => [path]), ...batches];
}
