// environment.ts: the environment of the process. The only file that reads it.

import type { NotifyOptions } from "../terminal/service-manager.ts";

/** The environment as the project uses it; read nowhere else. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Set by bin/launch.mjs for its own child; not a setting. */
export const LAUNCHER_VARIABLE = "INKLING_LAUNCHER_PID";

/** What of the environment is not a setting of Inkling but a custom of terminals and launchers. */
export interface Surroundings extends NotifyOptions {
  /** https://no-color.org: set and not empty. */
  readonly noColor: boolean;
  /** Process id of the launcher; when it is gone, so is the user. */
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
