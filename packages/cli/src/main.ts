// main.ts: the entry point of the `inkling` command, on Bun. It runs one command line, from its arguments to the
// exit code. bin/inkling starts it.

import { fstatSync, writeSync } from "node:fs";
import { exitOnFault } from "@inkling/server/exit-on-fault";
import packageJson from "../package.json" with { type: "json" };
import { processEnvironment, surroundings } from "./config/environment.ts";
import { describeError, run } from "./program.ts";
import { EXIT } from "./terminal/errors.ts";
import { listenForStop } from "./terminal/stop.ts";
import { processTerminal } from "./terminal/terminal.ts";

const { noColor, launcherPid, command } = surroundings(processEnvironment);
const stopper = listenForStop(launcherPid);
const terminal = processTerminal(noColor, command);
exitOnFault((error) => writeSync(process.stderr.fd, describeError(error, terminal.style)));

// The call is not awaited, because until a module is fully loaded, Bun prints uncaught errors and continues.
void main();

function hasInput(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile() || input.isSocket();
  } catch {
    return false; // standard input is closed
  }
}

async function main(): Promise<void> {
  const exitCode = await run(Bun.argv.slice(2), {
    terminal,
    env: processEnvironment,
    cwd: process.cwd(),
    version: packageJson.version,
    stopper,
    hasInput: hasInput(),
    ending: { exitCode: EXIT.ok },
  });
  stopper.release();
  process.exitCode = exitCode;
  // An abandoned operation may never end, for example a read from a terminal, or a call to a server or file system that
  // does not respond.
  if (stopper.signal.aborted) process.exit();
}
