// tool.mjs: `npm run lint` and others: installs what is missing, then runs a program of node_modules/.bin.
//
// in   the program's name and its arguments
// exit that of the program

import { spawnSync } from "node:child_process";
import { binary, installIfNeeded, ROOT } from "./install.mjs";

installIfNeeded(ROOT, { dev: true });
const [name, ...args] = process.argv.slice(2);
const { status } = spawnSync(binary(name), args, {
  cwd: ROOT,
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;
