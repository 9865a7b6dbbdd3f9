// launch.mjs: starts the command on Bun, then only forwards signals and the exit code.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
/** A clone has the source; the npm package has only the bundle. */
const SOURCE = join(here, "../src/main.ts");
const MAIN = existsSync(SOURCE) ? SOURCE : join(here, "../dist/main.js");

/**
 * Flags for Bun itself. They keep files in the current folder from changing how Bun runs: a .env file would
 * set variables, and a bunfig.toml could run code (`preload`).
 */
export const BUN_FLAGS = ["--no-install", "--no-env-file", "--config=/dev/null"];

/**
 * Before its install script has run, npm's `bun` package contains a small text file instead of the program.
 */
const PLACEHOLDER_BELOW_BYTES = 1_000_000;

const FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP"];

const isProgram = (path) => existsSync(path) && statSync(path).size >= PLACEHOLDER_BELOW_BYTES;

/**
 * Returns the folder of an npm package as this file would import it, or undefined if the package is not
 * installed.
 */
function packageFolder(name) {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** Returns the names of the packages that may contain Bun for a machine, the likeliest first. */
export function platformPackages(platform, arch, musl) {
  const os = platform === "win32" ? "windows" : platform;
  const cpu = arch === "arm64" ? "aarch64" : arch;
  const plain = `@oven/bun-${os}-${cpu}`;
  return os === "linux" && musl ? [`${plain}-musl`, plain] : [plain];
}

function isMusl() {
  return process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
}

/**
 * Returns the path of the Bun program. Also finds it if npm skipped the install scripts.
 * @param find returns a package's folder, or undefined
 */
export function findBun(find = packageFolder) {
  const folder = find("bun");
  const installed = folder && join(folder, "bin/bun.exe");
  if (installed && isProgram(installed)) return installed;
  for (const name of platformPackages(process.platform, process.arch, isMusl())) {
    const carrier = find(name);
    const program = carrier && join(carrier, "bin", process.platform === "win32" ? "bun.exe" : "bun");
    if (program && isProgram(program)) return program;
  }
  if (installed && existsSync(join(folder, "install.js"))) {
    spawnSync(process.execPath, ["install.js"], { cwd: folder, stdio: "ignore" });
    if (isProgram(installed)) return installed;
  }
  return undefined;
}

/** Runs the command on Bun, and exits as it does. */
export function launch(args) {
  const bun = requireBun();
  const env = { ...process.env, INKLING_LAUNCHER_PID: String(process.pid) };
  if (bun !== undefined) runProgram(bun, [...BUN_FLAGS, MAIN, ...args], { env });
}

/** Returns the path of Bun. If it is not installed, prints that, sets the exit code, and returns undefined. */
export function requireBun() {
  const bun = findBun();
  if (bun !== undefined) return bun;
  process.stderr.write(
    `inkling: Bun, the runtime it needs, is not installed for ${process.platform}-${process.arch}\n` +
      "hint: run `npm install` in the folder of Inkling; without --omit=optional, which leaves Bun out\n",
  );
  process.exitCode = 1;
  return undefined;
}

/**
 * Runs a program and forwards signals to it. Then exits with its exit code, or with 128 + the number of the signal that
 * ended it.
 * @param stop what to do with a signal; by default, it is only forwarded
 */
export function runProgram(program, args, options, stop = (child, signal) => child.kill(signal)) {
  const child = spawn(program, args, { stdio: "inherit", ...options });
  // A terminal sends Ctrl-C to this process and to the child, so the child receives it twice. The child
  // counts signals that arrive close together as one.
  for (const signal of FORWARDED) process.on(signal, () => stop(child, signal));
  const watch = watchNpm(() => stop(child, "SIGTERM"));
  child.on("error", (error) => {
    clearInterval(watch);
    process.stderr.write(
      `inkling: cannot start ${program}: ${error.message}\nhint: run \`npm install\` again\n`,
    );
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    clearInterval(watch);
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

/**
 * Calls `whenGone` if npm started this process and has exited. A killed npm sends no signal, so without this check, a
 * server would keep running without an owner.
 */
function watchNpm(whenGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent) whenGone();
  }, 1000);
}
