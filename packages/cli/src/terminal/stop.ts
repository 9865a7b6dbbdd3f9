// stop.ts: SIGINT, SIGTERM and SIGHUP: the first stops in order, the second at once. SIGHUP stops no server that a service
// manager started: it reads its settings again.
//
// A terminal sends Ctrl-C to every process of a job, and npm and the launcher forward theirs: one
// key press arrives up to three times within milliseconds. Repeats that close are one.

import { writeSync } from "node:fs";
import { EXIT } from "./errors.ts";

const REPEAT_MS = 400;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const LAUNCHER_CHECK_MS = 500;

export interface Stopper {
  /** Aborted by the first signal, with the signal's name as reason. */
  readonly signal: AbortSignal;
  /** From now on SIGHUP does this instead, unless it comes of a terminal that is closed. */
  onHangUp(act: () => void): void;
  /** Ends listening: a signal then has its usual effect again. */
  release(): void;
}

/** Decides what a signal at `now` (ms) means. */
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

/** Standard error may be closed: the process ends all the same. */
function exitAtOnce(): never {
  try {
    writeSync(2, "inkling: stopped at once\n");
  } finally {
    process.exit(EXIT.stopped);
  }
}

/**
 * Listens for signals to this process.
 * @param launcherPid our parent, when it is npm or the launcher: when it is killed outright, we stop too
 */
export function listenForStop(launcherPid: number | undefined): Stopper {
  const controller = new AbortController();
  const rule = makeStopRule();
  let hangUp: (() => void) | undefined;
  const on = (name: string) => {
    if (name === "SIGHUP" && hangUp !== undefined) return hangUp();
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
    onHangUp: (act) => {
      if (!process.stdin.isTTY) hangUp = act;
    },
    release: () => {
      clearInterval(watch);
      for (const name of SIGNALS) process.off(name, on);
    },
  };
}
