// program.testing.ts: runs a command line in the test's own process. It skips only main.ts, and is twenty times as fast
// as a separate process.

import { run } from "./program.ts";
import { makeStyle } from "./terminal/terminal.ts";

export interface Surroundings {
  readonly env?: Record<string, string>;
  readonly cwd: string;
  /** Answers for a person at the terminal. */
  readonly prompt?: (question: string) => Promise<string>;
  readonly signal?: AbortSignal;
  /** Columns of the terminal. If undefined, standard output is not a terminal. */
  readonly width?: number;
}

export interface Ran {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

export async function runHere(
  args: readonly string[],
  { env = {}, cwd, prompt, signal = new AbortController().signal, width }: Surroundings,
): Promise<Ran> {
  let out = "";
  let err = "";
  const code = await run(args, {
    terminal: {
      out: (text) => {
        out += `${text}\n`;
      },
      err: (text) => {
        err += text;
      },
      ...(prompt && { prompt }),
      ...(width !== undefined && { width }),
      live: false,
      columns: 80,
      style: makeStyle(false),
    },
    env,
    cwd,
    version: "1.2.3",
    stopper: { signal, release: () => {} },
    ending: { exitCode: 0 },
  });
  return { out, err, code };
}
