// serve.ts: everything put together and listening: the API on one port, the admin listener on another.
//
// in   ServerOptions, composed from the settings by the command line
// out  RunningServer
// err  StartError with a hint, one line: a port in use, a folder that cannot be written, a key that cannot be adopted;
//      StoreError
//
// Limits, and what enforces them: 8 KiB of request line and headers (Bun's parser: 431); 10 s to send them, also
// byte by byte (Bun allows a first request 10 s, and a later one idleTimeout; what arrives in part does not renew
// either; it looks every 4 s, so 12 s were measured); connections (connections.ts). Bodies have no limit here: a stream
// of a batch may be of any length (batch.ts), and Bun passes over a body that nobody reads.
// serve.test.ts asks over real sockets.

import type { Prefix } from "@inkling/engine";
import type { DataActions } from "./admin-data.ts";
import { App } from "./app.ts";
import {
  type Closers,
  closeBackstage,
  makeDataFolder,
  makeLog,
  openBackstage,
  startAdmin,
} from "./backstage.ts";
import { Buckets } from "./bucket.ts";
import { ConnectionLimit } from "./connections.ts";
import { Counts } from "./counts.ts";
import type { DnsServer } from "./dns-client.ts";
import { makeAsker } from "./dns-servers.ts";
import { EmailChecks } from "./email-checks.ts";
import { drained, type Handler, listen } from "./listen.ts";
import type { Log, LogLevel } from "./log.ts";
import type { Mode } from "./lookups.ts";
import { MxLookups } from "./mx.ts";
import { MxCounts } from "./mx-counts.ts";
import { requestIds } from "./request-id.ts";

export { StartError } from "./start-error.ts";

export interface ServerOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly dataDir: string;
  readonly mode: Mode;
  /** `sqlite://PATH` or `postgres://…`. */
  readonly databaseUrl: string;
  /** Look-ups per second and key; 0 = no limit. */
  readonly rate: number;
  readonly burst: number;
  readonly trustedProxies: readonly Prefix[];
  readonly maxConnections: number;
  /** Processes that answer, on this machine; one by default: this one. */
  readonly workers?: number;
  /** Asked by `?checks=mx`; none = the system's. */
  readonly dnsServers?: readonly DnsServer[];
  readonly logLevel: LogLevel;
  /** The files of the operators' web pages, served by the admin listener. */
  readonly console?: (request: Request, path: string) => Promise<Response | undefined>;
  /** What the admin API can have done with the data. */
  readonly actions?: DataActions;
  /** A key of the operator's choosing. */
  readonly adoptKey?: string;
  readonly version: string;
  /** Where log lines go; standard error by default. */
  readonly writeLog?: (lines: string) => void;
}

export interface RunningServer {
  readonly port: number;
  readonly adminPort: number;
  /** For what the process around the server has to say. */
  readonly log: Pick<Log, "info" | "error">;
  /** Accepts nothing more, finishes requests under way (at most 10 s), stores usage. Safe to call twice. */
  stop(): Promise<void>;
}

/** @throws StartError, StoreError */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: Closers = [];
  try {
    if ((options.workers ?? 1) === 1) return await start(options, closers);
    const { startSupervisor } = await import("./supervisor.ts");
    return await startSupervisor(options, options.workers!, closers);
  } catch (error) {
    for (const close of closers.reverse()) await close();
    throw error;
  }
}

async function start(options: ServerOptions, closers: Closers): Promise<RunningServer> {
  const now = Date.now;
  const log = makeLog(options, closers);
  makeDataFolder(options.dataDir);
  const buckets = new Buckets({ rate: options.rate, burst: options.burst });
  const backstage = await openBackstage(options, log, closers, {
    onKeyRemoved: (keyId) => buckets.drop(keyId),
  });
  const { releases, keyring, usage, overrides } = backstage;

  const counts = new Counts();
  const elapsed = () => performance.now();
  const mxCounts = new MxCounts();
  const mx = new MxLookups({ dns: makeAsker(options.dnsServers ?? []), counts: mxCounts, elapsed });
  closers.push(() => mx.stop());
  const status = { version: options.version, mode: options.mode, releases, keyring };
  const app = new App({
    ...status,
    buckets,
    usage,
    overrides,
    checks: new EmailChecks(mx, mxCounts),
    trustedProxies: options.trustedProxies,
    counts,
    log,
    now,
    elapsed,
    newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
  });
  const answer: Handler = (request, server) => app.handle(request, server);
  const api = listen({
    what: "port",
    hostname: options.host,
    port: options.port,
    fetch: answer,
    mostBody: Number.MAX_SAFE_INTEGER,
  });
  closers.push(() => api.stop(true));
  releases.start(); // only now: verifying would slow the start down
  const connections = new ConnectionLimit({
    port: api.port!,
    most: options.maxConnections,
    onExcess: (closed, most) => log.error("too-many-connections", { closed, most }),
  });
  closers.push(() => connections.stop());
  if (connections.most < options.maxConnections) {
    log.info("fewer-connections", {
      most: connections.most,
      asked: options.maxConnections,
      why: "open files limit",
    });
  }
  const admin = startAdmin(options, backstage, log, {
    ...status,
    overrides,
    counts,
    mx: mxCounts,
    usage,
    connections,
    now,
    startedAt: now(),
  });
  closers.push(() => admin.stop(true));
  log.info("listening", {
    host: options.host,
    port: api.port,
    admin_port: admin.port,
    version: options.version,
  });

  const shutDown = async () => {
    log.info("stopping");
    connections.stop();
    await drained(api);
    mx.stop();
    await admin.stop(true);
    await closeBackstage(backstage, log);
    log.info("stopped");
    log.flush();
  };
  return running(api.port!, admin.port!, log, shutDown);
}

/** A server as whoever started it sees it: stopped once, however often it is asked. */
export function running(
  port: number,
  adminPort: number,
  log: RunningServer["log"],
  shutDown: () => Promise<void>,
): RunningServer {
  let stopping: Promise<void> | undefined;
  return {
    port,
    adminPort,
    log,
    stop: () => {
      stopping ??= shutDown();
      return stopping;
    },
  };
}
