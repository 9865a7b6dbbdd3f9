// listener.ts: sockets: listening on a port, and letting requests under way finish.
//
// err  StartError with a hint, one line: a port in use, not allowed, not on this machine

import http from "node:http";
import { collecting } from "./gc-policy.ts";
import { StartError } from "./start-error.ts";

const MAX_HEADER_BYTES = 8 * 1024;
const SEND_SECONDS = 10;
const DRAIN_MS = 10_000;

export type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>;

export interface ListenOptions {
  /** How errors call it: "port", or "admin port". */
  readonly what: "port" | "admin port";
  readonly hostname: string;
  readonly port: number;
  readonly fetch: Handler;
  /** Largest body. */
  readonly mostBody: number;
  /** Other workers listen there, too. */
  readonly isShared?: boolean;
}

/** @throws StartError */
export function listen(options: ListenOptions): Bun.Server<undefined> {
  const { what, hostname, port, fetch, mostBody, isShared = false } = options;
  // Bun's parser reads this once for each listener; its types do not know that it can be set.
  (http as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_BYTES;
  try {
    return Bun.serve({
      hostname,
      port,
      fetch: collecting(fetch),
      development: false,
      reusePort: isShared, // with `development: false` Bun would share the port with whoever has it
      idleTimeout: SEND_SECONDS,
      maxRequestBodySize: mostBody,
      error: () => new Response(null, { status: 500 }),
    });
  } catch (error) {
    throw listenError(what, hostname, port, error);
  }
}

/** Why a listener cannot be had. */
export function listenError(what: string, hostname: string, port: number, error: unknown): StartError {
  const code = (error as { code?: string }).code ?? "LISTEN";
  const where = `${what} ${port} on ${hostname}`;
  const setting = what === "port" ? "INKLING_PORT" : "INKLING_ADMIN_PORT";
  if (code === "EADDRINUSE") {
    const message = `${where} is in use by another program`;
    return new StartError(code, message, `stop that program, or set ${setting} to a free port`, error);
  }
  if (code === "EACCES") {
    const hint = `ports below 1024 need privileges: set ${setting} to a higher one`;
    return new StartError(code, `not allowed to listen on ${where}`, hint, error);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new StartError(
    code,
    `cannot listen on ${where}: ${reason}`,
    "is this an address of this machine?",
    error,
  );
}

/** Resolves when every request under way was answered, or after `most` ms. */
export async function drained(server: Bun.Server<undefined>, most = DRAIN_MS): Promise<void> {
  const graceful = server.stop();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), most);
  });
  if ((await Promise.race([graceful, late])) === "late") await server.stop(true);
  clearTimeout(timer);
}
