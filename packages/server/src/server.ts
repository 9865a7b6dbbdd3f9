// server.ts: a running server: the API on one port, the admin listener on another.
//
// in   ServerOptions, which the command line builds from the settings
// out  RunningServer
// err  StartError with a one-line hint: a port is in use, a folder is not writable, or a key cannot be adopted;
//      StoreError
//
// Limits, and what enforces them:
// - Request line and headers: 8 KiB. Bun's parser returns 431.
// - Time to send them: 10 s, even if they arrive byte by byte. Bun allows 10 s for a connection's first request, and
//   idleTimeout for later ones. It checks every 4 s, so tests measured 12 s.
// - Connections: connections.ts.
// - Bodies have no limit here. A batch stream may have any length (batch.ts), and Bun skips a body that is not read.
//
// server.test.ts tests these limits over real sockets.

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
    await closeAll(closers, () => {}); // only the startup error helps the operator
    throw error;
  }
}
