// server.ts: a running server: the API on one port, the admin listener on another.
//
// in   ServerOptions, composed from the settings by the command line
// out  RunningServer
// err  StartError with a hint, one line: a port in use, a folder that cannot be written, a key that cannot be adopted;
//      StoreError
//
// Limits, and what enforces them: 8 KiB of request line and headers (Bun's parser: 431); 10 s to send them, also byte by
// byte (Bun allows a first request 10 s, and a later one idleTimeout; it checks every 4 s, so 12 s were measured);
// connections (connections.ts). Bodies have no limit here: a stream of a batch may be of any length (batch.ts), and Bun
// skips a body that is not read. server.test.ts tests them over real sockets.

import { startPrimary } from "./cluster/primary.ts";
import { type Closers, closeAll, type RunningServer, type ServerOptions } from "./serving/options.ts";

export { type Listener, probePort } from "./http/listen-error.ts";
export { StartError } from "./http/start-error.ts";
export type { RunningServer, ServerOptions } from "./serving/options.ts";

/** @throws StartError, StoreError */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: Closers = [];
  try {
    return await startPrimary(options, closers);
  } catch (error) {
    await closeAll(closers, () => {}); // what the start met is what can be acted on
    throw error;
  }
}
