// server.ts: everything put together and listening: the API on one port, the admin listener on another.
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

import type { Mode, Prefix } from "@inkling/engine";
import type { DataActions } from "./admin/context.ts";
import type { Closers } from "./cluster/bootstrap.ts";
import type { StandbyWorker } from "./cluster/standby.ts";
import type { DnsServer } from "./mx/dns-servers.ts";
import type { Log, LogLevel } from "./telemetry/log.ts";

export { StartError } from "./http/start-error.ts";

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
  /** A worker that has begun to load; whoever made it dismisses it when the start fails. */
  readonly standby?: StandbyWorker;
  /** Asked by `?checks=mx`; none = the system's. */
  readonly dnsServers?: readonly DnsServer[];
  readonly logLevel: LogLevel;
  /** The files of the operators' web pages, served by the admin listener. */
  readonly console?: (request: Request, path: string) => Promise<Response | undefined>;
  /** What the admin API can have done with the data; loaded when it is first called. */
  readonly actions?: () => Promise<DataActions>;
  /** Called when no release opens: what it throws ends the start. Without it, look-ups wait for a release. */
  readonly onNoRelease?: () => Promise<void>;
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
    // Each loads what it needs: a supervisor starts its first worker before it loads most of its own.
    const { workers = 1 } = options;
    if (workers === 1) options.standby?.dismiss();
    if (workers === 1)
      return await (await import("./cluster/one-process.ts")).startOneProcess(options, closers);
    return await (await import("./cluster/primary.ts")).startSupervisor(options, workers, closers);
  } catch (error) {
    for (const close of closers.reverse()) await close();
    throw error;
  }
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
