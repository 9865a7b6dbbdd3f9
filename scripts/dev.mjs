// dev.mjs: `npm run dev` runs `inkling up`, restarts it when a source file changes, and turns on Bun's inspector.
//
// There is only one process, so that a breakpoint stops every request. Restarts contact no publisher, and every request
// is logged. INKLING_WORKERS, INKLING_OFFLINE and INKLING_LOG_LEVEL in the environment override these defaults.

import { join } from "node:path";
import { BUN_FLAGS, requireBun, runProgram } from "../packages/cli/bin/launch.mjs";
import { installIfNeeded, ROOT } from "./install.mjs";

/** A fixed path, so that .vscode/launch.json and a browser tab find the process again after a restart. */
const INSPECTOR = "127.0.0.1:6499/inkling";
const DEFAULTS = { INKLING_WORKERS: "1", INKLING_OFFLINE: "1", INKLING_LOG_LEVEL: "access" };
/** Milliseconds that the server has to stop. */
const STOP_MS = 1_000;

installIfNeeded(ROOT, { dev: true });
const bun = requireBun();
if (bun !== undefined) {
  const flags = [...BUN_FLAGS, "--watch", "--no-clear-screen", `--inspect=${INSPECTOR}`];
  const args = [...flags, join(ROOT, "packages/cli/src/main.ts"), "up", ...process.argv.slice(2)];
  const options = { cwd: ROOT, env: { ...DEFAULTS, ...process.env } };
  runProgram(bun, args, options, (child, signal) => {
    child.kill(signal);
    setTimeout(() => {
      child.kill("SIGKILL"); // Bun keeps watching files after the server has stopped
      process.exit(0);
    }, STOP_MS);
  });
}
