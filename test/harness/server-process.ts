// server-process.ts: a server in a process of its own, for tests with several of them.
//
// in   one argument: JSON of the data folder and of the ServerOptions that differ from server-options.ts
// out  one line of JSON: its ports
// end  SIGTERM: a graceful stop, then 0

import { type ServerOptions, startServer } from "../../packages/server/src/server.ts";
import { testServerOptions } from "./server-options.ts";

/** The line of output. */
export interface Ports {
  readonly port: number;
  readonly adminPort: number;
}

if (import.meta.main) {
  const given: Partial<ServerOptions> & { dataDir: string } = JSON.parse(process.argv[2] ?? "");
  const server = await startServer({ ...testServerOptions(given.dataDir), ...given });
  process.on("SIGTERM", async () => {
    await server.stop();
    process.exit(0);
  });
  process.stdout.write(
    `${JSON.stringify({ port: server.port, adminPort: server.adminPort } satisfies Ports)}\n`,
  );
}
