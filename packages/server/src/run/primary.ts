// primary.ts: assembles a server from the log, the data folder, the request servers, the services and the admin
// listener.
//
// If `workers` is 1, this process answers requests. Otherwise, workers answer requests, and this process keeps the
// database connection, follows releases and verifies new releases. Limits, quotas and counts are in memory that all
// processes share. They are exact for the host, and they survive the exit of a worker.

import { ADMIN_PROBLEM_CODES } from "@inkling/contract";
import { makeFolder, messageOf } from "@inkling/data";
import { withEntry } from "@inkling/store/host-entry";
import { StartError } from "../http/start-error.ts";
import { Bodies } from "../limits/bodies.ts";
import { type CellMemory, HeapCells } from "../limits/cell-memory.ts";
import { Log } from "../telemetry/log.ts";
import { warnOfFewFiles } from "../telemetry/open-files.ts";
import { lineWriter } from "../telemetry/standard-error.ts";
import { type Closers, closeAll, type RunningServer, type ServerOptions } from "./options.ts";
import { claimPort } from "./port-claim.ts";
import { metricsSource, type Serving } from "./serving.ts";
import { SharedMemory } from "./shared-memory.ts";
import { WorkerPool } from "./worker-pool.ts";

const STANDARD_ERROR = 2;

/** @throws StartError, StoreError */
export async function startPrimary(options: ServerOptions, closers: Closers): Promise<RunningServer> {
  const { workers } = options;
  const write = options.writeLog ?? lineWriter(STANDARD_ERROR);
  const log = new Log({ level: options.logLevel, write, now: Date.now });
  closers.push(() => log.flush());
  makeDataFolder(options.dataDir);
  const bodies = new Bodies();
  const [memory, serving] =
    workers === 1 ? await serveHere(options, log, bodies) : serveByWorkers(options, log);
  closers.push(
    () => memory.close(),
    () => serving.kill(),
  );

  // This code is loaded only now. Meanwhile, the first worker loads its own code on a different core.
  const [{ openServices }, { HostReporter }, { AdminListener }, { startWebhooks }] = await Promise.all([
    import("./services.ts"),
    import("./host-reporter.ts"),
    import("./admin-listener.ts"),
    import("./webhooks.ts"),
  ]);
  const services = await openServices(options, { log, memory, closers, serving });
  const adminProblems = new Map<string, number>(ADMIN_PROBLEM_CODES.map((code) => [code, 0]));
  const webhooks = startWebhooks(options, services, closers);
  const source = metricsSource(options, services, { serving, adminProblems, webhooks }, Date.now());
  const reporter = new HostReporter(options, serving, source);
  closers.push(() => reporter.stop());
  if (services.group) services.group.reportHost = () => reporter.forGroup;
  const admin = new AdminListener(options, { services, serving, bodies, source, adminProblems, reporter });
  closers.push(() => admin.stop());
  const port = await serving.listen(services);
  reporter.port = port;
  log.info("listening", {
    host: options.host,
    port,
    admin_port: admin.port,
    version: options.version,
    ...(workers > 1 && { workers }),
  });

  warnOfFewFiles(log);

  const shutDown = async () => {
    const { drainSeconds } = options;
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
    audited: (entry, change) => withEntry(services.store.overrides, entry, change),
    crash: (error, secrets) => {
      log.crash("uncaught-error", error, secrets);
      log.flush();
    },
    stop: () => {
      stopping ??= shutDown();
      return stopping;
    },
  };
}

async function serveHere(options: ServerOptions, log: Log, bodies: Bodies): Promise<[CellMemory, Serving]> {
  const memory = new HeapCells(Date.now());
  const { LocalServing } = await import("./local-serving.ts");
  return [memory, new LocalServing(options, { memory, log, bodies })];
}

function serveByWorkers(options: ServerOptions, log: Log): [CellMemory, Serving] {
  const port = claimPort(options.host, options.port);
  try {
    const memory = new SharedMemory(options.workers, options.dataDir, Date.now());
    return [memory, new WorkerPool(options, { memory, port, log })];
  } catch (error) {
    port.release();
    throw error;
  }
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
