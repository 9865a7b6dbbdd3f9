// tool.mjs: `npm run lint`, `docs`, `bench` and others install missing packages and then run a program in
// node_modules/.bin.
//
// env  sets BENCH_STARTED to the time when this program started, so that a benchmark includes the installation
// exit the program's exit code; 1 if it was killed, or if Bun is not installed

import { spawn } from "node:child_process";
import { findBun } from "../packages/cli/bin/launch.mjs";
import { binary, installIfNeeded, ROOT } from "./install.mjs";

const started = Date.now();
const [name, ...args] = process.argv.slice(2);
const isHelp = args.some((argument) => argument === "--help" || argument === "--list");
installIfNeeded(ROOT, { dev: !isHelp });
const program = name === "bun" ? findBun() : binary(name);
if (program === undefined) {
  process.stderr.write("inkling: Bun is not installed\nhint: run `npm install` in the folder of Inkling\n");
  process.exitCode = 1;
} else {
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, BENCH_STARTED: String(started) },
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}
