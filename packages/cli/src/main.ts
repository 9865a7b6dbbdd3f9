// main.ts: the process of the `inkling` command, on Bun: one command line, from its arguments to the exit code. Started by
// bin/inkling.

import { writeSync } from "node:fs";
import { exitOnFault } from "@inkling/server/exit-on-fault";
import packageJson from "../package.json" with { type: "json" };
import { processEnvironment, surroundings } from "./config/environment.ts";
import { describeError, run } from "./program.ts";
import { EXIT } from "./terminal/errors.ts";
import { listenForStop } from "./terminal/stop.ts";
import { processTerminal } from "./terminal/terminal.ts";

const { noColor, launcherPid } = surroundings(processEnvironment);
const stopper = listenForStop(launcherPid);
const terminal = processTerminal(noColor);
exitOnFault((error) => writeSync(process.stderr.fd, describeError(error, terminal.style)));

// Not awaited here: while a module is not loaded to its end, Bun prints errors that nothing caught, and continues.
void main();

async function main(): Promise<void> {
  const exitCode = await run(Bun.argv.slice(2), {
    terminal,
    env: processEnvironment,
    cwd: process.cwd(),
    version: packageJson.version,
    stopper,
    ending: { exitCode: EXIT.ok },
  });
  stopper.release();
  process.exitCode = exitCode;
  // What was given up may never end: a read from a terminal, a server or a file system that does not answer.
  if (stopper.signal.aborted) process.exit();
}
