// http.ts: compares single lookups over HTTP: Inkling's (with and without an access log, and with evidence), nginx with
// geoip2, and a Bun.serve that looks up nothing.
//
// Every server runs on one core and the client on the other, with 64 keep-alive connections and the same random IPv4
// addresses in the same order. The CPU time is what the operating system records for the server. If wrk
// uses nearly all of its core, the client limits the rate.

import { join } from "node:path";
import { knownAddresses, openCurrent, releaseFolder } from "../lib/data.ts";
import { fullLoad, pathsFile, steadyLoad } from "../lib/load.ts";
import { hasCommand, nginxModule, PEERS, versionOf } from "../lib/peers.ts";
import { compareUnderPressure } from "../lib/pressure.ts";
import { privateMemory, SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import { AUTHORIZED, freePort, type Running, startInkling, startServer } from "../lib/server.ts";
import { median } from "../lib/stats.ts";
import { startNginx } from "../peers/nginx.ts";

const PATH = "/v1/ip-intel/geolocate/";
const WHAT = "geolocate, random IPv4";
const CPU = "CPU per request";
const USED = "Bun.serve, its interface used as by a lookup";
const RATE = "requests on one core";
const SLOWEST = "99.9% of answers at half of capacity, within";

interface Server {
  readonly who: string;
  readonly running: Running;
  /** The file of the paths to request. */
  readonly paths: string;
  /**
   * Whether it is a variant of another server, such as one with an access log. Variants are not measured beside
   * neighbours.
   */
  readonly isVariant?: boolean;
}

async function startOurs(run: Run, paths: string, withEvidence: string): Promise<Server[]> {
  const servers: Server[] = [];
  for (const checkout of run.checkouts) {
    const add = (variant: string, server: Omit<Server, "who">) =>
      servers.push({ who: `inkling${variant}${checkout.suffix}`, ...server });
    const start = (env: Record<string, string>) => startInkling(run, checkout, { core: SERVER_CORE, env });
    const running = await start({ INKLING_LOG_LEVEL: "info" });
    add("", { running, paths });
    if (run.isQuick) continue;
    add(", access log", { running: await start({}), paths, isVariant: true });
    add(", with evidence", { running, paths: withEvidence, isVariant: true });
  }
  return servers;
}

async function startPeers(run: Run, paths: string, bytes: number, headers: Headers): Promise<Server[]> {
  const servers: Server[] = [];
  const module = nginxModule(run);
  if (module !== undefined) {
    const start = async (variant: string, kind: Parameters<typeof startNginx>[1]) =>
      servers.push({
        who: `nginx + geoip2${variant}`,
        running: await startNginx(run, kind, module),
        paths,
        isVariant: kind === "guarded",
      });
    await start("", "bare");
    await start(", key, same fields and headers", "alike");
    if (!run.isQuick) await start(", key, rate limit, access log", "guarded");
    run.note(`${versionOf("nginx", "-v")}, ${versionOf("dpkg-query", "--show", "libnginx-mod-http-geoip2")}`);
  }
  const kept = [...headers].filter(([name]) => !["content-length", "date"].includes(name));
  const bare = [String(bytes), JSON.stringify(Object.fromEntries(kept))];
  const bun = [process.execPath, "--no-install", join(PEERS, "bare.ts")];
  for (const [who, ...more] of [["bare Bun.serve"], [USED, "used"]] as const) {
    const port = freePort();
    const command = [...bun, String(port), ...bare, ...more];
    const running = await startServer(run, command, port, "/", { core: SERVER_CORE });
    servers.push({ who, running, paths });
  }
  return servers;
}

/** @returns requests per second of each server on its core, by contestant: the median of the rounds */
async function underFullLoad(run: Run, servers: readonly Server[]): Promise<Map<string, number>> {
  const rates = new Map<string, number[]>(servers.map(({ who }) => [who, []]));
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => {
      const { cpu, rate, clientShare } = await fullLoad(running, paths, run.size(2, 1));
      rates.get(who)?.push(rate);
      return {
        [`${CPU}, µs`]: cpu,
        [`${RATE}, /s`]: rate,
        "wrk's share of its core, %": clientShare * 100,
      };
    };
    return { what: WHAT, who, measure };
  });
  await run.alternate(contestants, run.size(7, 1));
  for (const { who, running } of servers)
    run.row(WHAT, who, "private memory after the load, MB", [privateMemory(running.pid)]);
  return new Map([...rates].map(([who, values]) => [who, median(values)]));
}

/** Measures the slowest answers of each server, while it gets half of the requests that it answers under full load. */
async function atHalfCapacity(run: Run, servers: readonly Server[], rates: Map<string, number>) {
  if (!hasCommand(run, "h2load", "h2load (the client at a fixed rate)")) return;
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => {
      const slowest = await steadyLoad(run, running, paths, (rates.get(who) ?? 0) / 2, run.size(3, 1));
      return { [`${SLOWEST}, ms`]: slowest };
    };
    return { what: WHAT, who, measure };
  });
  await run.alternate(contestants, run.size(7, 1));
}

async function besideNeighbours(run: Run, servers: readonly Server[]): Promise<void> {
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => (await fullLoad(running, paths, run.size(2, 1))).cpu;
    return { who, measure };
  });
  const order = { what: WHAT, measure: CPU, unit: "µs", rounds: run.size(5, 1), plot: "pressure-http" };
  await compareUnderPressure(run, { ...order, contestants });
}

export async function measureHttp(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const path = openCurrent(releaseFolder(run.checkout)).segmentPath("geo");
  const { known, size } = knownAddresses(path, run.size(100_000, 20_000));
  const file = (query: string) =>
    pathsFile(
      run,
      known.map((address) => PATH + address + query),
    );
  const paths = file("");
  const servers = await startOurs(run, paths, file("?include=evidence"));
  if (run.hasPeers) {
    const url = `http://127.0.0.1:${servers[0]!.running.port}${PATH}${known[0]}`;
    const { headers } = await fetch(url, { headers: AUTHORIZED });
    servers.push(...(await startPeers(run, paths, size, headers)));
  }
  const rates = await underFullLoad(run, servers);
  const compared = servers.filter(({ isVariant }) => !isVariant);
  await atHalfCapacity(run, compared, rates);
  if (run.hasPressure) {
    await besideNeighbours(run, compared);
  }
  run.note(versionOf("wrk", "-v").split(" Copyright")[0]!);
  const count = known.length.toLocaleString("en-US");
  run.note(`${count} addresses that have an answer; the median answer has ${size} bytes of body`);
}
