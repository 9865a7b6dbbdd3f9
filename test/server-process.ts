// server-process.ts: a server in a process of its own, for tests with several of them.
//
// in   one argument: JSON of the ServerOptions that differ from those below
// out  one line of JSON: its ports
// end  SIGTERM: a graceful stop, then 0

import { type ServerOptions, startServer } from "../packages/server/src/server.ts";

/** The line of output. */
export interface Ports {
  readonly port: number;
  readonly adminPort: number;
}

if (import.meta.main) {
  const options: ServerOptions = {
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    dataDir: "",
    mode: "serve",
    databaseUrl: "",
    rate: 0,
    burst: 1,
    trustedProxies: [],
    maxConnections: 1000,
    logLevel: "error",
    version: "0.0.0",
    ...JSON.parse(process.argv[2] ?? "{}"),
  };
  const server = await startServer(options);
  process.on("SIGTERM", async () => {
    await server.stop();
    process.exit(0);
  });
  process.stdout.write(
    `${JSON.stringify({ port: server.port, adminPort: server.adminPort } satisfies Ports)}\n`,
  );
}
