// port-claim.ts: a port for the workers of one server only.

import { listenError, probePort } from "../http/listen-error.ts";

export interface ClaimedPort {
  readonly port: number;
  release(): void;
}

/**
 * Workers share the port, and any program of this user could share it with them. So it is first tried only, and then
 * claimed by a name that one primary at a time can have.
 * @param port 0 = any free one
 * @throws StartError
 */
export function claimPort(hostname: string, port: number): ClaimedPort {
  const found = probePort("port", hostname, port);
  if (typeof found !== "number") throw found;
  if (process.platform !== "linux") return { port: found, release: () => {} };
  try {
    // Abstract: the system forgets it with its process.
    const name = Bun.listen({ unix: `\0inkling ${hostname} ${found}`, socket: { data() {} } });
    return { port: found, release: () => name.stop(true) };
  } catch (error) {
    throw listenError("port", hostname, found, error);
  }
}
