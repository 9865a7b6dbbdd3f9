// run-server.ts: serves until a stop, with what continues beside it.

import type { Settings } from "@inkling/contract";
import type { Mode } from "@inkling/engine";
import { aborted } from "@inkling/release-store";
import { FORM, programFile } from "@inkling/release-store/program";
import { exitOnFault } from "@inkling/server/exit-on-fault";
import { loadOnce } from "@inkling/server/load-once";
import { probePort, type RunningServer, type ServerOptions, startServer } from "@inkling/server/serve";
import { processEnvironment, surroundings, workerEnvironment } from "../config/environment.ts";
import { serviceManager } from "../terminal/service-manager.ts";
import type { Context } from "./command.ts";
import { type LiveSettings, recordStart } from "./live-settings.ts";

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
}

/**
 * Serves until a stop, and tells the service manager.
 * @param beside what continues meanwhile, until the stop; when it fails, the server stops in order
 * @throws StartError or StoreError before it serves, each with its own hint; what `beside` throws
 */
export async function serveUntilStopped(
  { live, ...rest }: RunOptions,
  { env, terminal, version, stopper }: Context,
  beside: (running: RunningServer) => Promise<void>,
): Promise<void> {
  terminal.outliveReaders?.();
  const settings = live.current;
  const running = await startServer({
    ...settings,
    ...rest,
    version,
    workerEnvironment: workerEnvironment(processEnvironment),
    console: serveConsole(),
  });
  const { databaseUrl, apiKey = "" } = settings;
  exitOnFault((error) => running.crash(error, [databaseUrl, apiKey]));
  live.reloadOnHangUp(stopper, running, (reloaded) => running.reload(reloaded));
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

/**
 * Tries both listeners before anything that takes long.
 * @throws StartError for one that cannot be had
 */
export function probeListeners({ host, port, adminHost, adminPort }: Settings): void {
  for (const found of [probePort("port", host, port), probePort("admin port", adminHost, adminPort)]) {
    if (typeof found !== "number") throw found;
  }
}
