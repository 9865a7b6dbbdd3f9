// start-error.ts: defines the error of a server that cannot start, explains why listening on a port failed, and claims
// a port for one server.

import { messageOf } from "@inkling/data";

/** The server cannot start. `hint` states what to do next. */
export class StartError extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StartError";
    this.code = code;
    this.hint = hint;
  }
}

export type Listener = "port" | "admin port";

interface Texts {
  readonly problem: (where: string, hostname: string) => string;
  /** @param setting the setting that chooses the port */
  readonly hint: (setting: string) => string;
}

/** Messages by the system's error code. */
const TEXTS: Readonly<Record<string, Texts>> = {
  EADDRINUSE: {
    problem: (where) => `${where} is in use by another program`,
    hint: () =>
      "if that program is Inkling, it is already running; otherwise stop it, or choose free ports: --port 9000 --admin-port 9001 (INKLING_PORT, INKLING_ADMIN_PORT)",
  },
  EACCES: {
    problem: (where) => `not allowed to listen on ${where}`,
    hint: (setting) => `ports below 1024 need privileges: choose a higher one with ${setting}`,
  },
  EADDRNOTAVAIL: {
    problem: (where, hostname) => `cannot listen on ${where}: ${hostname} is not an address of this machine`,
    hint: () => "use 127.0.0.1 for this machine only, or 0.0.0.0 for all networks",
  },
};
const OTHER_HINT =
  "check that this is an address of this machine; run `inkling config` to see the active settings";

export function listenError(what: Listener, hostname: string, port: number, error: unknown): StartError {
  const { code = "LISTEN" } = error as { code?: string };
  const where = `${what} ${port} on ${hostname}`;
  const texts = TEXTS[code];
  if (texts !== undefined) {
    const setting = what === "port" ? "--port (INKLING_PORT)" : "--admin-port (INKLING_ADMIN_PORT)";
    return new StartError(code, texts.problem(where, hostname), texts.hint(setting), error);
  }
  const reason = messageOf(error);
  return new StartError(code, `cannot listen on ${where}: ${reason}`, OTHER_HINT, error);
}

/**
 * Listens briefly on a port, to check whether it is available.
 * @returns the port, which the system chooses if `port` is 0; an error that explains why the port is unavailable
 */
export function probePort(what: Listener, hostname: string, port: number): number | StartError {
  try {
    const probe = Bun.listen({ hostname, port, socket: { data() {} } });
    const found = probe.port;
    probe.stop(true);
    return found;
  } catch (error) {
    return listenError(what, hostname, port, error);
  }
}

export interface ClaimedPort {
  readonly port: number;
  release(): void;
}

/**
 * Claims a port exclusively. Because the workers share the port, any other program that runs as the same user could
 * share it as well. The primary therefore checks that the port is free, and then, on Linux, binds a socket name that
 * only one process can hold.
 * @param port 0 for any free port
 * @throws StartError if the port is unavailable
 */
export function claimPort(hostname: string, port: number): ClaimedPort {
  const found = probePort("port", hostname, port);
  if (typeof found !== "number") throw found;
  if (process.platform !== "linux") return { port: found, release: () => {} };
  try {
    // This is an abstract socket name, which the system removes when the process exits.
    const name = Bun.listen({ unix: `\0inkling ${hostname} ${found}`, socket: { data() {} } });
    return { port: found, release: () => name.stop(true) };
  } catch (error) {
    throw listenError("port", hostname, found, error);
  }
}
