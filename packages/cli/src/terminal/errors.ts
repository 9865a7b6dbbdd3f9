// errors.ts: defines the expected failures of a command, each with a one-line message, a hint and an exit code.

import { dirname } from "node:path";
import { BulkError, Interrupted } from "@inkling/bulk/errors";
import { accessHint, isDenied } from "@inkling/data";

/** Exit codes, which are documented in docs/commands.md and in `inkling --help`. */
export const EXIT = {
  ok: 0,
  /** The command failed. */
  error: 1,
  /** The command line or a setting is wrong; nothing was tried. */
  usage: 2,
  /**
   * The build ran, but a feed is held, unreachable, expired or missing. From `data status --max-age`: data is older or
   * missing.
   */
  withoutSome: 3,
  /** Ctrl-C or another signal came first. */
  stopped: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An expected failure. `message` is one line (or a titled list), and `hint` is what to do next. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  constructor(message: string, hint?: string, exitCode: ExitCode = EXIT.error) {
    super(message);
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

export const usage = (message: string, hint: string) => new CliError(message, hint, EXIT.usage);

/** All problems with the settings, one per line. */
export class SettingsError extends CliError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `Invalid settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
      "run `inkling config --example` to see every setting with its default",
      EXIT.usage,
    );
    this.problems = problems;
  }
}

/** The user stopped the command. The message contains what was not done and what remains. */
export class Stopped extends CliError {
  constructor(remains: string) {
    super(`stopped: ${remains}`, undefined, EXIT.stopped);
  }
}

/** Turns an expected failure of bulk work into a command-line error. Returns anything else unchanged. */
export function fromBulk(error: unknown): unknown {
  if (error instanceof Interrupted) return new Stopped(error.message);
  if (!(error instanceof BulkError)) return error;
  return new CliError(error.message, error.hint, error.isUsage ? EXIT.usage : EXIT.error);
}

/** Messages and hints for the file system's error codes. */
const FILE_ERRORS: Readonly<Record<string, (what: string) => [message: string, hint: string]>> = {
  EACCES: (what) => [`${what}: permission denied`, OTHER_FOLDER],
  EPERM: (what) => [`${what}: not permitted`, OTHER_FOLDER],
  EROFS: (what) => [
    `${what} is on a read-only file system`,
    "make it writable, or choose another folder: --data-dir FOLDER",
  ],
  ENOSPC: (what) => [`${what}: no space left on the disk`, "free some space, or choose another folder"],
  EEXIST: (what) => [`${what} is not a folder`, "choose another: --data-dir FOLDER"],
  ENOTDIR: (what) => [`${what} is not a folder`, "choose another: --data-dir FOLDER"],
  EISDIR: (what) => [`${what} is a folder`, "name a file"],
  ENOENT: (what) => [
    `${what} does not exist`,
    "check the path; a relative path starts at the current folder",
  ],
};
/** In containers, users often have no names, so this shows the numeric id. */
const OTHER_FOLDER = `run as the user who owns it (this is user ${process.getuid?.()}), or choose another folder: --data-dir FOLDER`;

/**
 * Explains an error about a file that is to be written. If the file does not exist, its folder is
 * missing.
 */
export function explainTargetError(error: unknown, target: string): unknown {
  const isFolderMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return explainFileError(error, isFolderMissing ? `the folder ${dirname(target)}` : target);
}

/** Calls `act`, and explains errors about the file that it writes. @throws CliError */
export function writingTo<T>(target: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw explainTargetError(error, target);
  }
}

/**
 * Turns a file-system error about `what` into a CliError. Returns anything else unchanged.
 * @param dataDir the data folder, if `what` is this folder or a file in it
 */
export function explainFileError(error: unknown, what: string, dataDir?: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const row = FILE_ERRORS[code];
  if (row === undefined) return error;
  const [message, hint] = row(what);
  return new CliError(message, dataDir !== undefined && isDenied(error) ? accessHint(dataDir) : hint);
}
