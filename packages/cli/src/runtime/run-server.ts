// run-server.ts: starts the server and keeps it until it is asked to stop.

import type { ConsoleFiles } from "@inkling/console/files";
import { type RunningServer, type ServerOptions, startServer } from "@inkling/server/serve";
import type { Settings } from "../config/settings.ts";
import { CliError } from "../terminal/errors.ts";

/** What is logged unless a setting says otherwise. At a terminal a person reads along, with a banner for what is well. */
const LOG_LEVEL = { serve: "access", up: "info", watched: "error" } as const;

/** @param watched does somebody at a terminal see the log? */
export function serverOptions(
  settings: Settings,
  mode: "up" | "serve",
  version: string,
  watched = false,
): ServerOptions {
  return {
    mode,
    version,
    host: settings.host,
    port: settings.port,
    adminHost: settings.adminHost,
    adminPort: settings.adminPort,
    dataDir: settings.dataDir,
    databaseUrl: settings.databaseUrl,
    rate: settings.rate,
    burst: settings.burst,
    trustedProxies: settings.trustedProxies,
    maxConnections: settings.maxConnections,
    workers: settings.workers,
    console: serveConsole(),
    dnsServers: settings.dnsServers,
    logLevel: settings.logLevel ?? LOG_LEVEL[mode === "up" && watched ? "watched" : mode],
    ...(settings.apiKey === undefined ? {} : { adoptKey: settings.apiKey }),
  };
}

/** The console is bundled, in 80 ms, for the first page that is requested, not for the start. */
function serveConsole(): NonNullable<ServerOptions["console"]> {
  let files: Promise<ConsoleFiles> | undefined;
  return async (request, path) => {
    files ??= import("@inkling/console/files").then(({ openConsole }) => openConsole());
    return (await files).serve(request, path);
  };
}

export interface Serving {
  readonly running: RunningServer;
  /** Resolves when the server has stopped after `signal`. */
  untilStopped(signal: AbortSignal): Promise<void>;
}

/**
 * Starts the server.
 * @throws StartError or StoreError, each with a hint of its own
 */
export async function runServer(options: ServerOptions): Promise<Serving> {
  const running = await startServer(options);
  return {
    running,
    untilStopped: async (signal) => {
      if (!signal.aborted) {
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
      }
      await running.stop();
    },
  };
}

/**
 * Tries both listeners before anything that takes long.
 * @throws CliError naming the one that cannot be had
 */
export function probeListeners(settings: Settings): void {
  const { host, port, adminHost, adminPort } = settings;
  const error = probe("port", host, port) ?? probe("admin port", adminHost, adminPort);
  if (error !== undefined) throw error;
}

/** What the system says in codes about listening. */
const LISTEN_ERRORS: Readonly<Record<string, readonly [problem: string, hint: string]>> = {
  EADDRINUSE: [
    "is in use by another program",
    "if it is Inkling, it runs already; other ports: `--port 9000 --admin-port 9001` (`npm start -- --port …`)",
  ],
  EADDRNOTAVAIL: ["is not on this machine", "use 127.0.0.1 for this machine only, 0.0.0.0 for every network"],
  EACCES: ["is not for this user", "choose a port above 1023: --port 8080"],
};

/** What listens there already, or keeps anything from listening, as an error; undefined when nothing does. */
export function probe(what: string, hostname: string, port: number): ListenError | undefined {
  try {
    Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
    return undefined;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const [problem, hint] = LISTEN_ERRORS[code ?? ""] ?? [
      `cannot be listened on: ${message}`,
      "`npx inkling config` shows the settings in force",
    ];
    return new ListenError(code ?? "", `${what} ${port} on ${hostname} ${problem}`, hint);
  }
}

/** A listener that cannot be had. */
export class ListenError extends CliError {
  readonly code: string;
  constructor(code: string, message: string, hint: string) {
    super(message, hint);
    this.code = code;
  }
}
