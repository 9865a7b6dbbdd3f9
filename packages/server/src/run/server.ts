// server.ts: starts a server, with the API on one port and the admin listener on a second port.
//
// The server enforces these limits:
// - Request line and headers: 8 KiB. Bun's parser returns 431.
// - Time to send the request line and headers: 10 s, even if they arrive byte by byte. Bun allows 10 s for a
//   connection's first request, and idleTimeout for later requests. It checks every 4 s, so tests measured 12 s.
// - Number of open connections: the limit of open files (telemetry/open-files.ts).
//
// The API's listener sets no limit for bodies, because a batch stream may have any length (batch.ts). Bun skips a body
// that is not read.
//
// server.test.ts tests these limits over real sockets.

import { type Closers, closeAll, type RunningServer, type ServerOptions } from "./options.ts";
import { startPrimary } from "./primary.ts";

export type { DataActions } from "../admin/handler.ts";
export { type Listener, probePort, StartError } from "../http/start-error.ts";
export type { RunningServer, ServerOptions } from "./options.ts";

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
