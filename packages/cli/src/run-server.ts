// run-server.ts: starts the server and keeps it until it is asked to stop.

import { type RunningServer, type ServerOptions, startServer } from "@inkling/server";
import { CliError, explainSystemError } from "./errors.ts";
import type { Settings } from "./settings.ts";

export function serverOptions(settings: Settings, mode: "up" | "serve", version: string): ServerOptions {
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
    logLevel: settings.logLevel ?? (mode === "serve" ? "access" : "info"),
    ...(settings.apiKey === undefined ? {} : { adoptKey: settings.apiKey }),
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
  const wanted = [
    [`port ${settings.port} on ${settings.host}`, settings.host, settings.port],
    [`admin port ${settings.adminPort} on ${settings.adminHost}`, settings.adminHost, settings.adminPort],
  ] as const;
  for (const [what, hostname, port] of wanted) {
    const error = probe(hostname, port);
    if (error === undefined) continue;
    const explained = explainSystemError(error, what);
    if (explained instanceof CliError) throw explained;
    throw new CliError(
      `cannot listen on ${what}: ${error.message}`,
      "`npx inkling config` shows the settings in force",
    );
  }
}

/** Why nothing can listen there, or undefined when something can. */
export function probe(hostname: string, port: number): (Error & { code?: string }) | undefined {
  try {
    Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
    return undefined;
  } catch (error) {
    return error as Error & { code?: string };
  }
}
