// listen-error.ts: why a port cannot be listened on, in words.

import { messageOf } from "@inkling/release-store";
import { StartError } from "./start-error.ts";

export type Listener = "port" | "admin port";

interface Texts {
  readonly problem: (where: string, hostname: string) => string;
  /** @param setting that names the port */
  readonly hint: (setting: string) => string;
}

/** By the code of the system's error. */
const TEXTS: Readonly<Record<string, Texts>> = {
  EADDRINUSE: {
    problem: (where) => `${where} is in use by another program`,
    hint: (flag) =>
      `if that is Inkling, it runs already; otherwise stop it, or choose a free port: ${flag} 9000`,
  },
  EACCES: {
    problem: (where) => `not allowed to listen on ${where}`,
    hint: (setting) => `ports below 1024 need privileges: choose a higher one with ${setting}`,
  },
  EADDRNOTAVAIL: {
    problem: (where, hostname) => `cannot listen on ${where}: ${hostname} is not an address of this machine`,
    hint: () => "use 127.0.0.1 for this machine only, 0.0.0.0 for every network",
  },
};
const OTHER_HINT =
  "is this an address of this machine? `npx @inkling/cli config` shows the settings in force";

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

/** Listens for a moment. @returns the port, which the system chose when it was 0; or why it cannot be had */
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
