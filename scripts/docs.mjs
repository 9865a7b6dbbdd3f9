// docs.mjs: `npm run docs`: installs what is missing, then docs/.vitepress/build.ts on Bun.
//
// exit that of build.ts

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findBun } from "../packages/cli/bin/launch.mjs";
import { installIfNeeded, ROOT } from "./install.mjs";

installIfNeeded(ROOT, { dev: true });
const bun = findBun();
if (bun === undefined) {
  process.stderr.write(
    "npm run docs: Bun is not installed\nhint: run `npm install` in the folder of Inkling\n",
  );
  process.exitCode = 1;
} else {
  const args = ["--no-install", join(ROOT, "docs/.vitepress/build.ts"), ...process.argv.slice(2)];
  process.exitCode = spawnSync(bun, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}
