// command-line.ts: one command line, from its arguments to the exit code of the process.

import type { StandbyWorker } from "@inkling/server/standby";
import packageJson from "../package.json" with { type: "json" };
import { processEnvironment, surroundings } from "./config/environment.ts";
import { run } from "./program.ts";
import { EXIT } from "./terminal/errors.ts";
import { listenForStop } from "./terminal/stop.ts";
import { processTerminal } from "./terminal/terminal.ts";

/** @param standby a worker that has begun to load, for a command that serves */
export async function runCommandLine(args: readonly string[], standby?: StandbyWorker): Promise<void> {
  const { noColor, launcherPid } = surroundings(processEnvironment);
  const stopper = listenForStop(launcherPid);
  const exitCode = await run(args, {
    terminal: processTerminal(noColor),
    env: processEnvironment,
    cwd: process.cwd(),
    version: packageJson.version,
    stopper,
    ending: { exitCode: EXIT.ok },
    standby,
  });
  standby?.dismiss();
  stopper.release();
  process.exitCode = exitCode;
  // What was given up may never end: a read from a terminal, a server that does not answer.
  if (exitCode === EXIT.stopped) process.exit();
}
