// port-claim.ts: claims a port for the workers of one server.

import { listenError, probePort } from "../http/start-error.ts";

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
