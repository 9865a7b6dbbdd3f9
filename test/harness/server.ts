// server.ts: starts a server in the test's own process, and sends requests to it.
//
// startGroupHost    with small release 1 and a database that its caller shares between hosts
// startSmallServer  with small release 1, its own database, and a key of each mode
// startServerOn     the same with the release of a data folder

import { join } from "node:path";
import { type ServerOptions, startServer } from "../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../packages/store/src/keys/key-input.ts";
import { parseNewOverride } from "../../packages/store/src/overrides/override.ts";
import { openStore } from "../../packages/store/src/store.ts";
import { fetch } from "./checked-fetch.ts";
import { GEOLOCATE, SMALL_NETWORK, smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
/** The override that {@link TestServer.isAbuser} shows. */
export const FLAG_ADDRESS = parseNewOverride(
  { value: ADDRESS, flag: "is_abuser", verdict: true, note: "test" },
  { now: 0, author: "test" },
);

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/** Starts a server. The caller must stop its `server`. */
async function startTestServer(options: ServerOptions) {
  const lines: string[] = [];
  const server = await startServer({
    writeLog: (text) => {
      lines.push(...text.split("\n").filter(Boolean));
      if (options.logLevel === "error") process.stderr.write(text); // unexpected, unless a test sets a lower level
    },
    ...options,
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const get = (path: string, token: string) =>
    fetch(`${origin}${path}`, { headers: { Authorization: `Bearer ${token}` } });
  const lookUp = (token: string) => get(GEOLOCATE, token);
  return {
    server,
    /** Origin of the public API. */
    origin,
    lookUp,
    status: async (token: string) => (await lookUp(token)).status,
    isAbuser: async (token: string) =>
      ((await (await get(`/v1/ip-intel/reputation/${ADDRESS}`, token)).json()) as { is_abuser: boolean })
        .is_abuser,
    ready: async () => (await fetch(`${origin}/readyz`)).status,
    metric: async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    /** All log lines of an event. */
    events: (name: string) => lines.map((line) => JSON.parse(line)).filter(({ event }) => event === name),
  };
}

export function startGroupHost(
  databaseUrl: string,
  options: Partial<ServerOptions> = {},
): Promise<TestServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  return startTestServer({ ...testServerOptions(dataDir), databaseUrl, logLevel: "info", ...options });
}

export interface SmallServer extends TestServer {
  /** Tokens with all scopes and without limits. */
  readonly keys: { readonly live: string; readonly test: string };
}

/** @param networks the networks that the keys allow */
export function startSmallServer(
  options: Partial<ServerOptions> = {},
  networks: readonly string[] = [],
): Promise<SmallServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  return startServerOn(dataDir, options, networks);
}

/** @param networks the networks that the keys allow */
export async function startServerOn(
  dataDir: string,
  options: Partial<ServerOptions> = {},
  networks: readonly string[] = [],
): Promise<SmallServer> {
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  const keyOf = async (mode: "live" | "test") =>
    (await store.createKey(parseNewKey({ name: mode, mode, networks }, Date.now()))).token;
  const keys = { live: await keyOf("live"), test: await keyOf("test") };
  await store.close();
  return { ...(await startTestServer({ ...testServerOptions(dataDir), ...options })), keys };
}
