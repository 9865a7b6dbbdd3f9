// small-server.ts: a server in this process with a small release (release.ts), and a key of each kind, for tests of pages.

import { join } from "node:path";
import { type RunningServer, startServer } from "../packages/server/src/server.ts";
import { openStore } from "../packages/server/src/store/store.ts";
import { smallRelease, temporaryFolder } from "./release.ts";

/** Options of a server on free ports, without limits. */
export const TEST_SERVER = {
  host: "127.0.0.1",
  port: 0,
  adminHost: "127.0.0.1",
  adminPort: 0,
  mode: "serve",
  rate: 0,
  burst: 1,
  trustedProxies: [],
  maxConnections: 100,
  logLevel: "error",
  version: "0.0.0",
} as const;

export interface SmallServer {
  readonly server: RunningServer;
  /** Of the API. */
  readonly origin: string;
  /** For all lookups, without limits. */
  readonly keys: { readonly live: string; readonly test: string };
}

/** With small release 1. The caller stops it. */
export async function startSmallServer(): Promise<SmallServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  const keyOf = async (mode: "live" | "test") => {
    const { token } = await store.createKey({
      name: mode,
      mode,
      scopes: ["geolocate", "reputation", "email"],
      networks: [],
      rate: undefined,
      burst: undefined,
      quota: undefined,
      expiresAt: undefined,
    });
    return token;
  };
  const keys = { live: await keyOf("live"), test: await keyOf("test") };
  await store.close();
  const server = await startServer({
    ...TEST_SERVER,
    dataDir,
    databaseUrl,
  });
  return { server, origin: `http://127.0.0.1:${server.port}`, keys };
}
