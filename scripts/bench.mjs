// bench.mjs: `npm run bench`: installs what is missing, then bench/main.ts on Bun. `npm run bench -- --help` explains,
// and needs none of the packages for development.
//
// exit that of bench/main.ts

import { spawn } from "node:child_process";
import { join } from "node:path";
import { findBun } from "../packages/cli/bin/launch.mjs";
import { installIfNeeded, ROOT } from "./install.mjs";

const started = Date.now();
installIfNeeded(ROOT, { dev: !process.argv.includes("--help") });
const bun = findBun();
if (bun === undefined) {
  process.stderr.write(
    "npm run bench: Bun is not installed\nhint: run `npm install` in the folder of Inkling\n",
  );
  process.exitCode = 1;
} else {
  const args = ["--no-install", join(ROOT, "bench/main.ts"), ...process.argv.slice(2)];
  const env = { ...process.env, BENCH_STARTED: String(started) };
  const child = spawn(bun, args, { cwd: ROOT, env, stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}
