// install.mjs: installs the packages of package-lock.json if they are missing.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { whyInstall } from "../packages/cli/bin/installed.mjs";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Returns the path of a program that npm installed. */
export const binary = (name) =>
  join(ROOT, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);

/**
 * Installs what package-lock.json lists, if needed. Exits the process if npm fails.
 * @param {{ dev: boolean }} what whether to include what only tests need: a browser, PostgreSQL and others, which take
 *   400 MB more
 */
export function installIfNeeded(root, { dev }) {
  const why = whyInstall(root, { dev });
  if (why === undefined) return;
  process.stderr.write(`Installing packages (${why}). This takes up to a minute, once.\n`);
  const npm = process.env.npm_execpath;
  // This is not `npm ci`, which refuses a lock file that lacks an optional package for another platform. Some
  // registries do not have such packages. With --no-save, npm still follows the lock file, and does not change it.
  const omit = dev ? [] : ["--omit=dev"];
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", ...omit];
  const [command, ...rest] = npm?.endsWith("js") ? [process.execPath, npm, ...args] : ["npm", ...args];
  // npm's output goes to standard error, so that standard output has only the command's output.
  const result = spawnSync(command, rest, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (result.status === 0) return;
  const how = result.error?.message ?? `it ended with ${result.status ?? result.signal}`;
  process.stderr.write(`inkling: npm could not install the packages: ${how}\n`);
  process.stderr.write(
    "hint: see npm's message above; `npm install` in this folder runs the same step again\n",
  );
  process.exit(result.status || 1);
}
