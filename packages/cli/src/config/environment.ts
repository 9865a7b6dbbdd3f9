// environment.ts: reads the environment of this process, and finds the name of the user who runs it. No other file
// reads the environment.

import { userInfo } from "node:os";
import type { Author } from "@inkling/store";
import type { NotifyOptions } from "../terminal/service-manager.ts";

/** The environment variables that the project uses. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Set by bin/inkling and bin/launch.mjs. It is not a setting. */
export const LAUNCHER_VARIABLE = "INKLING_LAUNCHER_PID";
/** Set by the launcher of a clone, to its own path as the user typed it. It is not a setting. */
export const COMMAND_VARIABLE = "INKLING_COMMAND";

/** Environment variables that are not Inkling settings but conventions of terminals and launchers. */
export interface Surroundings extends NotifyOptions {
  /** True if NO_COLOR is set and not empty (https://no-color.org). */
  readonly noColor: boolean;
  /** The process id of our parent, if the parent is npm or the launcher. When that process is gone, so is the user. */
  readonly launcherPid: number | undefined;
  /** How the user starts the command, if it was not started as `inkling`, which may not be on the PATH. */
  readonly command: string | undefined;
}

export function surroundings(env: Environment): Surroundings {
  const launcher = Number(env[LAUNCHER_VARIABLE]);
  return {
    noColor: Boolean(env.NO_COLOR) || env.TERM === "dumb",
    launcherPid: Number.isInteger(launcher) && launcher > 0 ? launcher : undefined,
    command: env[COMMAND_VARIABLE] || commandOfNpm(env),
    notifySocket: env.NOTIFY_SOCKET || undefined,
    watchdogUsec: Number(env.WATCHDOG_USEC) || undefined,
  };
}

/** `npm start` exists only in a clone, and runs in its root. */
function commandOfNpm(env: Environment): string | undefined {
  if (env.npm_lifecycle_event === "start") return "./inkling";
  return env.npm_command === "exec" ? "npx @inkling/cli" : undefined;
}

export const processEnvironment: Environment = process.env;

/** Variables that Bun and the system's libraries read. */
const RUNTIME =
  /^(PATH|HOME|USER|TZ|LANG|LC_\w+|TMPDIR|TEMP|TMP|SystemRoot|(LD|DYLD|BUN|MALLOC|MIMALLOC)_\w+)$/;
/** Variables that Bun reads for requests to publishers. */
const NETWORK = /^((https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA)$/i;

/** Returns the environment for builds, which receive their settings through a pipe. */
export function buildEnvironment(env: Environment): Record<string, string> {
  const wanted = Object.entries(env).filter(
    ([name, value]) => value !== undefined && (RUNTIME.test(name) || NETWORK.test(name)),
  );
  return { ...FRUGAL, ...(Object.fromEntries(wanted) as Record<string, string>) };
}

/**
 * The memory, in bytes, that JavaScriptCore assumes the machine has. With the real size, the heap doubles between
 * collections, and the 180 MB of mapped databases count as heap. The same build then peaked at 1.31 GB instead of 1.08
 * GB, and it was not faster.
 */
const FRUGAL = { BUN_JSC_forceRAMSize: "250000000" };

/** What Bun returns if the environment contains no user name, as in many containers and services. */
const NOBODY_KNOWN = "unknown";

/**
 * Returns the author for the audit trail.
 * @param author a name to use instead of the user's
 */
export const cliAuthor = (author = userName()): Author => ({ author, source: "cli" });

/** Returns the user's name, or the numeric user id if the name is unknown. */
export function userName(
  { username, uid }: { username: string; uid: number } = userInfo(),
  accountName = nameFromAccounts,
): string {
  return username !== NOBODY_KNOWN || uid < 0 ? username : (accountName() ?? `user ${uid}`);
}

/** Looks up the user's name with the POSIX command `id`, an extra process that also asks LDAP and other sources. */
function nameFromAccounts(): string | undefined {
  try {
    const { success, stdout } = Bun.spawnSync(["id", "-un"], { stderr: "ignore" });
    // If the user has no entry, `id` fails but still prints the numeric id.
    return success ? stdout.toString().trim() || undefined : undefined;
  } catch {
    return undefined; // a container without `id`
  }
}
