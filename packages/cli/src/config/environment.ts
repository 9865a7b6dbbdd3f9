// environment.ts: the environment of the process. The only file that reads it.

import type { NotifyOptions } from "../terminal/service-manager.ts";

/** The environment as the project uses it; read nowhere else. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Set by bin/inkling and bin/launch.mjs; not a setting. */
export const LAUNCHER_VARIABLE = "INKLING_LAUNCHER_PID";

/** What of the environment is not a setting of Inkling but a custom of terminals and launchers. */
export interface Surroundings extends NotifyOptions {
  /** https://no-color.org: set and not empty. */
  readonly noColor: boolean;
  /** Process id of our parent where it is npm or the launcher; when it is gone, so is the user. */
  readonly launcherPid: number | undefined;
}

export function surroundings(env: Environment): Surroundings {
  const launcher = Number(env[LAUNCHER_VARIABLE]);
  return {
    noColor: Boolean(env.NO_COLOR) || env.TERM === "dumb",
    launcherPid: Number.isInteger(launcher) && launcher > 0 ? launcher : undefined,
    notifySocket: env.NOTIFY_SOCKET || undefined,
    watchdogUsec: Number(env.WATCHDOG_USEC) || undefined,
  };
}

export const processEnvironment: Environment = process.env;

/** What Bun itself and the system's libraries read. */
const RUNTIME =
  /^(PATH|HOME|USER|TZ|LANG|LC_\w+|TMPDIR|TEMP|TMP|SystemRoot|(LD|DYLD|BUN|MALLOC|MIMALLOC)_\w+)$/;
/** What Bun reads for requests to publishers. */
const NETWORK = /^((https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA)$/i;

/** For processes that answer or read releases: nothing of the settings, so none of their credentials, nor of other programs'. */
export const workerEnvironment = (env: Environment) => pick(env, (name) => RUNTIME.test(name));
/** For builds, which get their settings through a pipe. */
export const buildEnvironment = (env: Environment) => ({
  ...FRUGAL,
  ...pick(env, (name) => RUNTIME.test(name) || NETWORK.test(name)),
});

/**
 * Memory that JavaScriptCore believes the machine to have. With what it has the heap doubles between collections, and the
 * 180 MB of mapped databases count as heap: the same build peaked at 1.31 GB instead of 1.08, and was no faster.
 */
const FRUGAL = { BUN_JSC_forceRAMSize: "250000000" };

function pick(env: Environment, isWanted: (name: string) => boolean): Record<string, string> {
  const wanted = Object.entries(env).filter(([name, value]) => value !== undefined && isWanted(name));
  return Object.fromEntries(wanted) as Record<string, string>;
}
