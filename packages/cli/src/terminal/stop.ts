// stop.ts: handles SIGINT, SIGTERM and SIGHUP. The first signal stops the command in an orderly way, and the second
// stops it immediately. SIGHUP means that the terminal has closed, so a process without a terminal ignores it.
//
// A terminal sends Ctrl-C to every process in a job, and npm and the launcher forward the signal as well. One key press
// therefore arrives up to three times within milliseconds. Repeats that close together count as one.

import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { EXIT } from "./errors.ts";

const REPEAT_MS = 400;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const LAUNCHER_CHECK_MS = 500;
const STANDARD_STREAMS = [0, 1, 2];

export interface Stopper {
  /** Aborted by the first signal, with the signal's name as the reason. */
  readonly signal: AbortSignal;
  /** Stops listening. Signals then have their usual effect again. */
  release(): void;
}

/** Decides what a signal that arrives at `now` (ms) means. */
export function makeStopRule(): (now: number) => "first" | "repeat" | "again" {
  let first: number | undefined;
  return (now) => {
    if (first === undefined) {
      first = now;
      return "first";
    }
    return now - first < REPEAT_MS ? "repeat" : "again";
  };
}

/** Exits immediately, even if standard error is closed. */
function exitAtOnce(): never {
  try {
    writeSync(2, "inkling: stopped immediately\n");
  } finally {
    process.exit(EXIT.stopped);
  }
}

/**
 * Listens for signals to this process.
 * @param launcherPid our parent, if it is npm or the launcher; if the parent is killed outright, this process also
 *   stops
 */
export function listenForStop(launcherPid: number | undefined): Stopper {
  const controller = new AbortController();
  const rule = makeStopRule();
  const hasTerminal = STANDARD_STREAMS.some((descriptor) => isatty(descriptor));
  const on = (name: string) => {
    if (name === "SIGHUP" && !hasTerminal) return;
    const meaning = rule(performance.now());
    if (meaning === "first") controller.abort(name);
    if (meaning === "again") exitAtOnce();
  };
  for (const name of SIGNALS) process.on(name, on);
  const watch =
    launcherPid === undefined
      ? undefined
      : setInterval(() => {
          if (process.ppid !== launcherPid && !controller.signal.aborted) on("launcher gone");
        }, LAUNCHER_CHECK_MS).unref();
  return {
    signal: controller.signal,
    release: () => {
      clearInterval(watch);
      for (const name of SIGNALS) process.off(name, on);
    },
  };
}
