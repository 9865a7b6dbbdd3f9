// tool.mjs: `npm run lint`, `docs`, `bench` and others install missing packages and then run a program in
// node_modules/.bin. BENCH_STARTED is the time when this program started, so that a benchmark includes the installation.

import { requireBun, runProgram } from "../packages/cli/bin/launch.mjs";
import { binary, installIfNeeded, ROOT } from "./install.mjs";

const started = Date.now();
const [name, ...args] = process.argv.slice(2);
const isHelp = args.some((argument) => argument === "--help" || argument === "--list");
installIfNeeded(ROOT, { dev: !isHelp });
const program = name === "bun" ? requireBun() : binary(name);
const env = { ...process.env, BENCH_STARTED: String(started) };
if (program !== undefined) runProgram(program, args, { cwd: ROOT, env, shell: process.platform === "win32" });
