// small-server.ts: a server in this process with a small release (release.ts), and a key of each kind, for tests of pages.

import { join } from "node:path";
import { parseNewKey } from "../../packages/server/src/keys/key-input.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../packages/server/src/server.ts";
import { openStore } from "../../packages/server/src/store/store.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";

export interface SmallServer {
  readonly server: RunningServer;
  /** Of the API. */
  readonly origin: string;
  /** For all lookups, without limits. */
  readonly keys: { readonly live: string; readonly test: string };
}

/** With small release 1. The caller stops it. @param networks of the keys */
export function startSmallServer(
  options: Partial<ServerOptions> = {},
  networks: readonly string[] = [],
): Promise<SmallServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  return startServerOn(dataDir, options, networks);
}

/** With the release of a data folder, which gets a database. The caller stops it. */
export async function startServerOn(
  dataDir: string,
  options: Partial<ServerOptions> = {},
  networks: readonly string[] = [],
): Promise<SmallServer> {
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  const keyOf = async (mode: "live" | "test") =>
    (await store.createKey(parseNewKey({ name: mode, mode, networks }, Date.now()))).token;
  const keys = { live: await keyOf("live"), test: await keyOf("test") };
  await store.close();
  const server = await startServer({
    ...testServerOptions(dataDir),
    ...options,
  });
  return { server, origin: `http://127.0.0.1:${server.port}`, keys };
}
