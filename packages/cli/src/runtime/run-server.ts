// run-server.ts: serves until a stop, with what goes on beside it.

import type { Mode } from "@inkling/engine";
import { FORM, programFile } from "@inkling/release-store/program";
import { exitOnFault } from "@inkling/server/exit-on-fault";
import { loadOnce } from "@inkling/server/load-once";
import {
  probePort,
  type ReloadableOptions,
  type RunningServer,
  type ServerOptions,
  startServer,
} from "@inkling/server/serve";
import { processEnvironment, surroundings, workerEnvironment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { serviceManager } from "../terminal/service-manager.ts";
import type { Context } from "./context.ts";
import { recordStart } from "./known-settings.ts";
import type { LiveSettings } from "./live-settings.ts";

/** The log level by default. At a terminal only errors: the banner shows what is well. */
const LOG_LEVEL = { serve: "access", up: "info", watched: "error" } as const;

/** @param watched is the log shown at a terminal? */
export function reloadableOptions(settings: Settings, mode: Mode, watched: boolean): ReloadableOptions {
  const { rate, burst, trustedProxies, maxConnections, dnsServers, dnsExclude } = settings;
  const logLevel = settings.logLevel ?? LOG_LEVEL[mode === "up" && watched ? "watched" : mode];
  return { rate, burst, trustedProxies, maxConnections, dnsServers, dnsExclude, logLevel };
}

function serverOptions(settings: Settings, mode: Mode, version: string, watched: boolean): ServerOptions {
  return {
    ...reloadableOptions(settings, mode, watched),
    mode,
    version,
    host: settings.host,
    port: settings.port,
    adminHost: settings.adminHost,
    adminPort: settings.adminPort,
    adminNames: settings.adminNames,
    dataDir: settings.dataDir,
    databaseUrl: settings.databaseUrl,
    maxUnstoredSeconds: settings.maxUnstoredSeconds,
    maxStaleSeconds: settings.maxStale,
    workers: settings.workers,
    drainSeconds: settings.drainSeconds,
    workerEnvironment: workerEnvironment(processEnvironment),
    console: serveConsole(),
    ...(settings.apiKey === undefined ? {} : { adoptKey: settings.apiKey }),
  };
}

/** In a clone the console is bundled, in 80 ms, for the first page that is requested, not for the start. */
function serveConsole(): NonNullable<ServerOptions["console"]> {
  const files = loadOnce(async () => {
    const { openConsole } = await import("@inkling/console/files");
    return openConsole(FORM === "clone" ? undefined : programFile("console"));
  });
  return async (request, path) => (await files()).serve(request, path);
}

interface RunOptions extends Pick<ServerOptions, "actions"> {
  readonly mode: Mode;
  readonly live: LiveSettings;
  /** Is the log shown at a terminal? */
  readonly watched?: boolean;
}

/**
 * Serves until a stop, and tells the service manager.
 * @param beside what goes on meanwhile, until the stop; when it fails, the server stops in order
 * @throws StartError or StoreError before it serves, each with a hint of its own; what `beside` throws
 */
export async function serveUntilStopped(
  { mode, live, watched = false, ...rest }: RunOptions,
  { env, terminal, version, stopper }: Context,
  beside: (running: RunningServer) => Promise<void>,
): Promise<void> {
  terminal.outliveReaders?.();
  const options = { ...serverOptions(live.current, mode, version, watched), ...rest };
  const running = await startServer(options);
  const { databaseUrl, adoptKey = "" } = options;
  exitOnFault((error) => running.crash(error, [databaseUrl, adoptKey]));
  live.reloadOnHangUp(stopper, running, (settings) =>
    running.reload(reloadableOptions(settings, mode, watched)),
  );
  void recordStart(live.current, live.role, running);
  const manager = serviceManager(surroundings(env));
  manager.ready();
  const work = beside(running);
  try {
    const stopped = aborted(stopper.signal);
    await Promise.race([stopped, work.then(() => stopped)]);
  } finally {
    manager.stopping();
    await running.stop();
  }
  await work;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/**
 * Tries both listeners before anything that takes long.
 * @throws StartError for one that cannot be had
 */
export function probeListeners({ host, port, adminHost, adminPort }: Settings): void {
  for (const found of [probePort("port", host, port), probePort("admin port", adminHost, adminPort)]) {
    if (typeof found !== "number") throw found;
  }
}
