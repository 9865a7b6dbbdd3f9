// command-tree.ts: the tree of all commands, which must only be read.

import type { Command } from "commander";
import { makeProgram } from "../../packages/cli/src/program.ts";
import { makeStyle } from "../../packages/cli/src/terminal/terminal.ts";

export const commandTree = (version: string): Promise<Command> =>
  makeProgram({
    terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
    env: {},
    cwd: ".",
    version,
    stopper: { signal: new AbortController().signal, release: () => {} },
    ending: { exitCode: 0 },
  });
