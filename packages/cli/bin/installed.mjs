// installed.mjs: checks whether the packages that package-lock.json lists are installed.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const readPackages = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
};

/**
 * Returns why an install is needed, or undefined if everything is installed.
 * Packages for other platforms may be missing. Development packages may also be missing unless `dev` is set.
 */
export function whyInstall(root, { dev }) {
  const wanted = readPackages(join(root, "package-lock.json"));
  if (wanted === undefined) return undefined; // not installed by npm: nothing to compare with
  const present = readPackages(join(root, "node_modules/.package-lock.json"));
  if (present === undefined) return "the packages are not installed yet";
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith("node_modules/") || entry.optional || entry.devOptional) continue;
    if (entry.dev && !dev) continue;
    const found = present[path];
    if (found === undefined) return `${path.slice("node_modules/".length)} is not installed`;
    if (found.version !== entry.version)
      return `${path.slice("node_modules/".length)} is ${found.version}, the project now uses ${entry.version}`;
  }
  return undefined;
}
