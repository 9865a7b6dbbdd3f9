// dev.mjs: `npm run dev` runs `inkling up`, restarts it when a source file changes, and turns on Bun's inspector.
//
// There is only one process, so that a breakpoint stops every request. Restarts contact no publisher, and every request
// is logged. INKLING_WORKERS, INKLING_OFFLINE and INKLING_LOG_LEVEL in the environment override these defaults.
//
// exit 0 after Ctrl-C

import { spawn } from "node:child_process";
import { join } from "node:path";
import { BUN_FLAGS, findBun } from "../packages/cli/bin/launch.mjs";
import { installIfNeeded, ROOT } from "./install.mjs";

/** A fixed path, so that .vscode/launch.json and a browser tab find the process again after a restart. */
const INSPECTOR = "127.0.0.1:6499/inkling";
const DEFAULTS = { INKLING_WORKERS: "1", INKLING_OFFLINE: "1", INKLING_LOG_LEVEL: "access" };
/** Milliseconds that the server has to stop. */
const STOP_MS = 1_000;

installIfNeeded(ROOT, { dev: true });
const bun = findBun();
if (bun === undefined) {
  process.stderr.write(
    "npm run dev: Bun is not installed\nhint: run `npm install` in the folder of Inkling\n",
  );
  process.exitCode = 1;
} else {
  const watch = ["--watch", "--no-clear-screen", `--inspect=${INSPECTOR}`];
  const args = [
    ...BUN_FLAGS,
    ...watch,
    join(ROOT, "packages/cli/src/main.ts"),
    "up",
    ...process.argv.slice(2),
  ];
  const env = { ...DEFAULTS, ...process.env };
  const child = spawn(bun, args, { cwd: ROOT, env, stdio: "inherit" });
  const stop = (signal) => {
    child.kill(signal);
    // Bun keeps watching files after the server has stopped.
    setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => stop(signal));
  // If npm was killed, it forwards no signal.
  const npm = process.ppid;
  setInterval(() => process.ppid !== npm && stop("SIGTERM"), 1_000);
  child.on("exit", (code) => process.exit(code ?? 0));
}
