// install.mjs: are the packages of package-lock.json installed? If not, installs them.
//
// in   package-lock.json, and node_modules/.package-lock.json, which npm writes when an install is complete
// out  nothing; a line on standard error when it installs
// err  npm's own exit code, with a hint

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

const readPackages = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
};

/**
 * Why an install is needed, or undefined when everything is there.
 * Packages for other platforms may be absent; so may development packages unless `dev` is set.
 */
export function whyInstall(root, { dev }) {
  const wanted = readPackages(join(root, "package-lock.json"));
  if (wanted === undefined) return undefined; // installed some other way: nothing to compare with
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

/** Installs what package-lock.json lists, if needed. Ends the process when npm fails. */
export function installIfNeeded(root, { dev }) {
  const why = whyInstall(root, { dev });
  if (why === undefined) return;
  process.stderr.write(`Installing packages (${why}). This takes about a minute, once.\n`);
  const npm = process.env.npm_execpath;
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const [command, ...rest] = npm?.endsWith("js") ? [process.execPath, npm, ...args] : ["npm", ...args];
  // npm's own output goes to standard error, so that a command's standard output stays its own.
  const result = spawnSync(command, rest, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (result.status === 0) return;
  const how = result.error?.message ?? `it ended with ${result.status ?? result.signal}`;
  process.stderr.write(`inkling: npm could not install the packages: ${how}\n`);
  process.stderr.write("hint: see npm's message above; `npm ci` in this folder runs the same step again\n");
  process.exit(result.status || 1);
}
