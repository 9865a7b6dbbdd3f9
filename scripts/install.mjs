// install.mjs: are the packages of package-lock.json installed? If not, installs them.
//
// out  a line on standard error when it installs
// err  npm's own exit code, with a hint

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { whyInstall } from "../packages/cli/bin/installed.mjs";

/** The folder of the project. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A program that npm installed. */
export const binary = (name) =>
  join(ROOT, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);

/**
 * Installs what package-lock.json lists, if needed. Ends the process when npm fails.
 * @param {{ dev: boolean }} what with what only tests need: a browser, PostgreSQL and others, 400 MB more
 */
export function installIfNeeded(root, { dev }) {
  const why = whyInstall(root, { dev });
  if (why === undefined) return;
  process.stderr.write(`Installing packages (${why}). This takes up to a minute, once.\n`);
  const npm = process.env.npm_execpath;
  // Not `npm ci`: it refuses a lock file that lacks an optional package of another platform, which some registries
  // do not have. --no-save leaves the lock file as it is, and it is followed all the same.
  const omit = dev ? [] : ["--omit=dev"];
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", ...omit];
  const [command, ...rest] = npm?.endsWith("js") ? [process.execPath, npm, ...args] : ["npm", ...args];
  // npm's own output goes to standard error, so that a command's standard output remains its own.
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
