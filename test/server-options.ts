// server-options.ts: the options of a server under test.

import { join } from "node:path";
import type { ServerOptions } from "../packages/server/src/server.ts";

/** Free ports, no limits, the database in the data folder, only errors logged. */
export function testServerOptions(dataDir: string): ServerOptions {
  return {
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    dataDir,
    mode: "serve",
    databaseUrl: `sqlite://${join(dataDir, "inkling.db")}`,
    rate: 0,
    burst: 1,
    trustedProxies: [],
    maxConnections: 1000,
    logLevel: "error",
    version: "0.0.0",
  };
}
