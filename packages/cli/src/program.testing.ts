// program.testing.ts: a command line run in the test's own process: the same but for main.ts, and twenty times as fast.
//
// in   arguments, and what surrounds them: environment, folder, somebody at the terminal, a signal to stop
// out  what was written to the two streams, the exit code

import { run } from "./program.ts";
import { makeStyle } from "./terminal/terminal.ts";

export interface Surroundings {
  readonly env?: Record<string, string>;
  readonly cwd: string;
  /** Whoever sits at the terminal. */
  readonly prompt?: (question: string) => Promise<string>;
  readonly signal?: AbortSignal;
  /** Columns of the terminal; without, standard output is none. */
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
    stopper: { signal, onHangUp: () => {}, release: () => {} },
    ending: { exitCode: 0 },
  });
  return { out, err, code };
}
