// errors.ts: expected failures of a command: one line, a hint, an exit code.

import { dirname } from "node:path";
import { BulkError, Interrupted } from "@inkling/bulk/errors";

/** Documented in docs/commands.md and in `inkling --help`. */
export const EXIT = {
  ok: 0,
  /** The command failed. */
  error: 1,
  /** The command line or a setting is wrong; nothing was tried. */
  usage: 2,
  /** The build ran, but a feed was refused, not reached or is missing, or the release waits for the operator. */
  withoutSome: 3,
  /** Ctrl-C or another signal came first. */
  stopped: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An expected failure: `message` is one line (or a titled list), `hint` says what to do next. */
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

/** All problems of the settings, one line each. */
export class SettingsError extends CliError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `Cannot start:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
      "`npx @inkling/cli config --example` prints every setting with its default",
      EXIT.usage,
    );
    this.problems = problems;
  }
}

/** The user stopped it: what was not done then, and what remains. */
export class Stopped extends CliError {
  constructor(remains: string) {
    super(`stopped: ${remains}`, undefined, EXIT.stopped);
  }
}

/** An expected end of bulk work as an error of the command line; anything else comes back as it is. */
export function fromBulk(error: unknown): unknown {
  if (error instanceof Interrupted) return new Stopped(error.message);
  if (!(error instanceof BulkError)) return error;
  return new CliError(error.message, error.hint, error.isUsage ? EXIT.usage : EXIT.error);
}

/** Messages and hints for the error codes of the file system. */
const FILE_ERRORS: Readonly<Record<string, (what: string) => [message: string, hint: string]>> = {
  EACCES: (what) => [`${what}: permission denied`, OTHER_FOLDER],
  EPERM: (what) => [`${what}: not permitted`, OTHER_FOLDER],
  EROFS: (what) => [
    `${what} is on a read-only file system`,
    "mount it writable, or choose another folder: --data-dir FOLDER",
  ],
  ENOSPC: (what) => [
    `${what}: no space left on the disk`,
    "free some space, or name another place; a build needs about 1 GB",
  ],
  EEXIST: (what) => [`${what} is not a folder`, "choose another: --data-dir FOLDER"],
  ENOTDIR: (what) => [`${what} is not a folder`, "choose another: --data-dir FOLDER"],
  EISDIR: (what) => [`${what} is a folder`, "name a file"],
  ENOENT: (what) => [`${what} does not exist`, "check the path; a relative one begins at the current folder"],
};
/** In a container users have no names. */
const OTHER_FOLDER = `run as the user who owns it (this is user ${process.getuid?.()}), or choose another: --data-dir FOLDER`;

/** An error about a file that is to be written: where it says that there is none, its folder is missing. */
export function explainTargetError(error: unknown, target: string): unknown {
  const isFolderMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return explainFileError(error, isFolderMissing ? `the folder ${dirname(target)}` : target);
}

/** An error of the file system about `what` as a CliError; anything else comes back as it is. */
export function explainFileError(error: unknown, what: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const row = FILE_ERRORS[code];
  return row ? new CliError(...row(what)) : error;
}
