// group-host.ts: a server of a group in this process, with a small release, and what tests ask of it.

import { parseNewOverride } from "../../packages/server/src/overrides/override.ts";
import { type ServerOptions, startServer } from "../../packages/server/src/server.ts";
import { fetch } from "./checked-fetch.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
/** What {@link GroupHost.isAbuser} shows. */
export const FLAG_ADDRESS = parseNewOverride(
  { value: ADDRESS, flag: "is_abuser", verdict: true, note: "test" },
  { now: 0, author: "test" },
);

export type GroupHost = Awaited<ReturnType<typeof startGroupHost>>;

/** The caller stops its server. */
export async function startGroupHost(databaseUrl: string, over: Partial<ServerOptions> = {}) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const lines: string[] = [];
  const server = await startServer({
    ...testServerOptions(dataDir),
    databaseUrl,
    logLevel: "info",
    writeLog: (text) => void lines.push(...text.split("\n").filter(Boolean)),
    ...over,
  });
  const get = (path: string, token: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { Authorization: `Bearer ${token}` } });
  const lookUp = (token: string) => get(`/v1/ip-intel/geolocate/${ADDRESS}`, token);
  return {
    server,
    lookUp,
    status: async (token: string) => (await lookUp(token)).status,
    isAbuser: async (token: string) =>
      ((await (await get(`/v1/ip-intel/reputation/${ADDRESS}`, token)).json()) as { is_abuser: boolean })
        .is_abuser,
    ready: async () => (await fetch(`http://127.0.0.1:${server.port}/readyz`)).status,
    metric: async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    events: (name: string) => lines.map((line) => JSON.parse(line)).filter(({ event }) => event === name),
  };
}
