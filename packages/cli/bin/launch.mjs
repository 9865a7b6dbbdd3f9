// launch.mjs: starts the command on Bun and remains in between only for signals and the exit code.
//
// in   the command's arguments; Bun from the npm package `bun`
// out  the exit code of the command; 128 + signal number when a signal ended it
// err  no Bun for this machine: one line and a hint, exit code 1

import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
/** In a clone its source; npm installs the bundle only. */
const SOURCE = join(here, "../src/main.ts");
const MAIN = existsSync(SOURCE) ? SOURCE : join(here, "../dist/main.js");

/**
 * Flags for Bun itself: files of the folder in which it is started set nothing. Of a .env file that would be settings, of
 * a bunfig.toml (`preload`) code that is run.
 */
export const BUN_FLAGS = ["--no-install", "--no-env-file", "--config=/dev/null"];

/** Until its install script has run, npm's `bun` package holds a small text file instead of the program. */
const PLACEHOLDER_BELOW_BYTES = 1_000_000;

const FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP"];

const isProgram = (path) => existsSync(path) && statSync(path).size >= PLACEHOLDER_BELOW_BYTES;

/** Folder of an npm package as this file would import it, or undefined if it is not installed. */
function packageFolder(name) {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** Names of the packages that carry Bun for a machine, the likeliest first. */
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
 * Path of the Bun program, also where npm skipped install scripts.
 * @param find folder of an npm package, or undefined
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

/** Runs the command and ends this process as it ended. */
export function launch(args, find = packageFolder) {
  const bun = findBun(find);
  if (bun === undefined) {
    process.stderr.write(
      `inkling: Bun, the runtime it needs, is not installed for ${process.platform}-${process.arch}\n` +
        "hint: run `npm install` in the folder of Inkling; without --omit=optional, which leaves Bun out\n",
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(bun, [...BUN_FLAGS, MAIN, ...args], {
    stdio: "inherit",
    env: { ...process.env, INKLING_LAUNCHER_PID: String(process.pid) },
  });
  // A terminal sends Ctrl-C to both of us, so the child gets it twice: it counts near signals as one.
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  const watch = watchNpm(() => child.kill("SIGTERM"));
  child.on("error", (error) => {
    clearInterval(watch);
    process.stderr.write(`inkling: cannot start Bun: ${error.message}\nhint: run \`npm install\` again\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

/** npm that was killed cannot signal us: without this, a server would continue without an owner. */
function watchNpm(whenGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent) whenGone();
  }, 1000);
}
