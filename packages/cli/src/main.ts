// main.ts: the process of the `inkling` command, on Bun: one command line, from its arguments to the exit code. Started by
// bin/inkling.mjs.

import packageJson from "../package.json" with { type: "json" };
import { processEnvironment, surroundings } from "./config/environment.ts";
import { run } from "./program.ts";
import { EXIT } from "./terminal/errors.ts";
import { listenForStop } from "./terminal/stop.ts";
import { processTerminal } from "./terminal/terminal.ts";

const { noColor, launcherPid } = surroundings(processEnvironment);
const stopper = listenForStop(launcherPid);
const exitCode = await run(Bun.argv.slice(2), {
  terminal: processTerminal(noColor),
  env: processEnvironment,
  cwd: process.cwd(),
  version: packageJson.version,
  stopper,
  ending: { exitCode: EXIT.ok },
});
stopper.release();
process.exitCode = exitCode;
// What was given up may never end: a read from a terminal, a server that does not answer.
if (exitCode === EXIT.stopped) process.exit();
