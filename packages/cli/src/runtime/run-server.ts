// run-server.ts: serves until the process is asked to stop, and runs background work until then.

import type { Settings } from "@inkling/contract";
import { aborted } from "@inkling/data";
import { FORM, programFile } from "@inkling/data/program";
import { probePort, type RunningServer, type ServerOptions, startServer } from "@inkling/server";
import { exitOnFault } from "@inkling/server/exit-on-fault";
import { loadOnce } from "@inkling/server/load-once";
import { lineWriter, STANDARD_ERROR } from "@inkling/server/standard-error";
import { surroundings } from "../config/environment.ts";
import { serviceManager } from "../terminal/service-manager.ts";
import { naming } from "../terminal/terminal.ts";
import type { Context } from "./command.ts";
import { recordStart } from "./recorded-settings.ts";

/**
 * Returns a handler for the console's pages. In a clone, the first page request bundles the console, which takes 80 ms,
 * so that startup does not wait for it.
 */
function serveConsole(): NonNullable<ServerOptions["console"]> {
  const files = loadOnce(async () => {
    const { openConsole } = await import("@inkling/console/files");
    if (FORM !== "clone") return openConsole(programFile("console"));
    return openConsole((await import("@inkling/operations/form-schemas")).formSchemas());
  });
  return async (request, path) => (await files()).serve(request, path);
}

/**
 * Serves until the process is asked to stop, and keeps the service manager informed.
 * @param beside background work that runs until the server stops; if it fails, the server stops in an orderly way
 * @throws StartError or StoreError before it serves, each with a hint; also the errors of `beside`
 */
export async function serveUntilStopped(
  settings: Settings,
  { env, terminal, version, stopper }: Context,
  actions: ServerOptions["actions"] | undefined,
  beside: (running: RunningServer) => Promise<void>,
): Promise<void> {
  terminal.outliveReaders?.();
  const { command, ...notify } = surroundings(env);
  const write = lineWriter(STANDARD_ERROR);
  const named = naming(command ?? "inkling");
  const running = await startServer({
    ...settings,
    ...(actions && { actions }),
    ...(command && { writeLog: (lines: string) => write(named(lines)) }),
    version,
    console: serveConsole(),
  });
  const { databaseUrl, apiKey = "" } = settings;
  exitOnFault((error) => running.crash(error, [databaseUrl, apiKey]));
  void recordStart(settings, settings.port, running);
  const manager = serviceManager(notify);
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
 * Checks that both listeners can be opened, before any slow work begins.
 * @throws StartError if a listener cannot be opened
 */
export function probeListeners({ host, port, adminHost, adminPort }: Settings): void {
  for (const found of [probePort("port", host, port), probePort("admin port", adminHost, adminPort)]) {
    if (typeof found !== "number") throw found;
  }
}
