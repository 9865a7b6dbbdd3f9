// server.ts: starts a server, with the API on one port and the admin listener on a second port. It assembles the server
// from the log, the data folder, the request servers, the services and the admin listener.
//
// If `workers` is 1, this thread, the primary, answers requests. Otherwise, worker threads answer requests, and the
// primary keeps the database connection and follows releases. Limits, quotas and counts are in memory that all threads
// share. They are exact for the host, and they survive the end of a worker.
//
// The server enforces these limits, which server.test.ts tests over real sockets:
// - Request line and headers: 8 KiB. Bun's parser returns 431.
// - Time to send the request line and headers: 10 s, even if they arrive byte by byte. Bun allows 10 s for a
//   connection's first request, and idleTimeout for later requests. It checks every 4 s, so tests measured 12 s.
// - Number of open connections: the limit of open files (telemetry/open-files.ts).
//
// The API's listener sets no limit for bodies, because a batch stream may have any length (batch.ts). Bun skips a body
// that is not read.

import { ADMIN_PROBLEM_CODES } from "@inkling/contract";
import { makeFolder, messageOf } from "@inkling/data";
import type { Foundation, ServerOptions, Serving } from "../admin/services.ts";
import { EFFECTS } from "../http/effects.ts";
import { claimPort, StartError } from "../http/start-error.ts";
import { LimitCells } from "../limits/cells.ts";
import { Bodies } from "../limits/memory.ts";
import { Log } from "../telemetry/log.ts";
import { warnOfFewFiles } from "../telemetry/open-files.ts";
import { lineWriter, STANDARD_ERROR } from "../telemetry/standard-error.ts";
import { readMemoryKeys } from "./memory-keys.ts";
import { type Closers, closeAll, type RunningServer } from "./options.ts";
import { WorkerPool } from "./worker-pool.ts";

export type { DataActions, ServerOptions } from "../admin/services.ts";
export { type Listener, probePort, StartError } from "../http/start-error.ts";
export type { RunningServer } from "./options.ts";

/** @throws StartError, StoreError */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: Closers = [];
  try {
    return await startPrimary(options, closers);
  } catch (error) {
    await closeAll(closers, () => {}); // only the startup error helps the operator
    throw error;
  }
}

async function startPrimary(settings: ServerOptions, closers: Closers): Promise<RunningServer> {
  const { workers, host, version } = settings;
  const write = settings.writeLog ?? lineWriter(STANDARD_ERROR);
  const log = new Log({ level: settings.logLevel, write, now: Date.now });
  closers.push(() => log.flush());
  makeDataFolder(settings.dataDir);
  const foundation: Foundation = {
    ...EFFECTS,
    version,
    settings,
    log,
    cells: new LimitCells(Date.now()),
    bodies: new Bodies(),
    memoryKeys: readMemoryKeys(settings),
    adminProblems: new Map(ADMIN_PROBLEM_CODES.map((code) => [code, 0])),
  };
  const serving: Serving =
    workers === 1
      ? new (await import("./local-serving.ts")).LocalServing(foundation)
      : new WorkerPool(foundation, claimPort(host, settings.port));
  closers.push(() => serving.kill());

  // This code is loaded only now. Meanwhile, the first worker loads its own code on a different core.
  const [{ openServices }, { HostReporter }, { AdminListener }] = await Promise.all([
    import("./services.ts"),
    import("./host-reporter.ts"),
    import("./admin-listener.ts"),
  ]);
  const services = await openServices(foundation, serving, closers);
  const reporter = new HostReporter(services);
  closers.push(() => reporter.stop());
  if (services.group) services.group.reportHost = () => reporter.forGroup;
  const admin = new AdminListener(services, reporter);
  closers.push(() => admin.stop());
  const port = await serving.listen(services);
  reporter.port = port;
  log.info("listening", {
    host,
    port,
    admin_port: admin.port,
    version,
    ...(workers > 1 && { workers }),
  });

  warnOfFewFiles(log);

  const shutDown = async () => {
    const { drainSeconds } = settings;
    log.info("stopping", drainSeconds > 0 ? { drain_seconds: drainSeconds } : {});
    serving.drain();
    await Bun.sleep(drainSeconds * 1_000);
    // Requests in progress are finished first, because they need the resources that were opened at startup.
    await closeAll([...closers, () => serving.stop()], (error) => log.crash("stop-failed", error, []));
    log.info("stopped");
    log.flush();
  };
  let stopping: Promise<void> | undefined;
  return {
    port,
    adminPort: admin.port,
    log,
    get hasRelease() {
      return services.releases.current !== undefined;
    },
    report: () => reporter.current,
    audited: (entry, change) => services.store.audit.around(entry, change),
    crash: (error, secrets) => log.crash("uncaught-error", error, secrets),
    stop: () => {
      stopping ??= shutDown();
      return stopping;
    },
  };
}

function makeDataFolder(dataDir: string): void {
  try {
    makeFolder(dataDir);
  } catch (error) {
    const reason = messageOf(error);
    throw new StartError(
      "DATA_FOLDER",
      `cannot use the data folder ${dataDir}: ${reason}`,
      "set INKLING_DATA_DIR to a folder that this user may write to",
      error,
    );
  }
}
