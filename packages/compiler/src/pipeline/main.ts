// main.ts: the compiler process. events.ts defines its input and output.

import { existsSync, readFileSync, writeSync } from "node:fs";
import { accessHint, DataFolderLocked, isDenied, messageOf } from "@inkling/data";
import { FeedChoiceError } from "../catalog/feed-choice.ts";
import { OwnFeedError } from "../catalog/feed-table.ts";
import { build } from "./build.ts";
import { ABANDONED, type BuildEvent, buildRequest, TROUBLES } from "./events.ts";
import { ReleaseUnlikely } from "./make-segments.ts";

const EXIT = { done: 0, failed: 1, withoutSome: 3 } as const;
const PROGRESS_EVERY_MS = 100;

/** Nobody reads the events, because the process that started this build has exited. */
class Abandoned extends Error {
  /** With this code, the build does not blame the feed that it is reading. */
  readonly code = "EPIPE";
  constructor() {
    super(ABANDONED);
  }
}

/**
 * Returns a function that writes events. Progress within one step is written at most once per PROGRESS_EVERY_MS, apart
 * from the end of the step.
 */
function eventWriter(): (event: BuildEvent) => void {
  let last = { step: "", at: 0 };
  return (event) => {
    if (event.type === "progress") {
      const at = performance.now();
      const isSoon = event.step === last.step && at - last.at < PROGRESS_EVERY_MS;
      if (isSoon && event.done !== event.total) return;
      last = { step: event.step, at };
    }
    try {
      writeSync(1, `${JSON.stringify(event)}\n`);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "EPIPE" ? new Abandoned() : error;
    }
  };
}

/** Returns this process's peak memory. On Linux, maxRSS starts at the parent's value, so VmHWM is read instead. */
function peakBytes(): number {
  const own = "/proc/self/status";
  const peak = existsSync(own) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(own, "utf8"))?.[1] : undefined;
  return 1024 * (peak === undefined ? process.resourceUsage().maxRSS : Number(peak));
}

/** What to do about each operating-system error. */
const HINTS: Readonly<Record<string, string>> = {
  EROFS: "the data folder is on a read-only file system: choose another with --data-dir",
  ENOSPC: "the disk is full: a build needs about 1 GB; the current release is unchanged",
  EDQUOT: "the disk quota is used up: a build needs about 1 GB; the current release is unchanged",
  ENOTDIR: "part of the path is a file: choose another data folder with --data-dir",
};

/** @returns undefined if the error is a bug in Inkling */
function hintFor(error: unknown, dataDir: string): string | undefined {
  if (isDenied(error) || (error instanceof FeedChoiceError && isDenied(error.cause)))
    return accessHint(dataDir);
  if (error instanceof DataFolderLocked) return "wait for that build to finish, then try again";
  if (error instanceof OwnFeedError) return "fix the [[feed]] in inkling.toml, or `inkling feeds remove ID`";
  if (error instanceof FeedChoiceError) return "fix the file, or delete it: then the default feeds are on";
  if (error instanceof ReleaseUnlikely)
    return "check these lists, and disable a wrong one with `inkling feeds disable ID`";
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" ? HINTS[code] : undefined;
}

const DEFECT_HINT = "this is a bug in Inkling: please report it with the lines above";

const emit = eventWriter();
let dataDir = "";
try {
  const request = buildRequest.parse(JSON.parse(await Bun.stdin.text()));
  dataDir = request.dataDir;
  const started = performance.now();
  const result = await build(request, { now: () => new Date(), emit, chance: Math.random });
  const seconds = (performance.now() - started) / 1000;
  emit({ type: "done", ...result, seconds, peakBytes: peakBytes() });
  const isWhole = TROUBLES.every((trouble) => result[trouble].length === 0);
  process.exitCode = isWhole ? EXIT.done : EXIT.withoutSome;
} catch (error) {
  if (error instanceof Abandoned) process.exit(EXIT.failed);
  const hint = hintFor(error, dataDir);
  emit({
    type: "failed",
    message: messageOf(error),
    hint: hint ?? DEFECT_HINT,
    ...(error instanceof DataFolderLocked && { code: "busy" }),
  });
  if (hint === undefined && error instanceof Error) writeSync(2, `${error.stack}\n`);
  process.exitCode = EXIT.failed;
}
process.exit(); // otherwise a call into a hanging file system would keep the process alive
