// http.ts: single lookups over HTTP: ours with everything on, beside nginx with geoip2, Fastify with maxmind, and a
// Bun.serve that does nothing.
//
// Every server runs on one core, the client on the other: 64 keep-alive connections, the same random IPv4 addresses in the
// same order. CPU is the operating system's account of the server's processes. Where wrk takes nearly all of its core, the
// rate is the client's.

import { join } from "node:path";
import { databaseFiles, knownAddresses, openCurrent, releaseFolder } from "../lib/data.ts";
import { CONNECTIONS, fullLoad, pacedLoad, pathsFile } from "../lib/load.ts";
import {
  compiled,
  hasCommand,
  hasNpmPeers,
  nginxModule,
  npmVersion,
  PEERS,
  versionOf,
} from "../lib/peers.ts";
import { compareUnderPressure } from "../lib/pressure.ts";
import { privateMemory, SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import { AUTHORIZED, freePort, type Running, startInkling, startServer, TOKEN } from "../lib/server.ts";
import { median } from "../lib/stats.ts";
import { startNginx } from "../peers/nginx.ts";

const PATH = "/v1/ip-intel/geolocate/";
const WHAT = "geolocate, random IPv4";
const HALF = `${WHAT}, at half of capacity`;
const CPU = "CPU per request";
const RATE = "requests on one core";

interface Server {
  readonly who: string;
  readonly running: Running;
  /** A file of the paths that it is sent. */
  readonly paths: string;
  /** Measured at half of capacity, too. */
  readonly isPaced?: boolean;
  /** A variant of another, with an access log or the like: not measured beside neighbours. */
  readonly isVariant?: boolean;
}

async function startOurs(run: Run, paths: string, withEvidence: string): Promise<Server[]> {
  const servers: Server[] = [];
  for (const checkout of run.checkouts) {
    const add = (variant: string, server: Omit<Server, "who">) =>
      servers.push({ who: `inkling${variant}${checkout.suffix}`, ...server });
    const start = (env: Record<string, string>) => startInkling(run, checkout, { core: SERVER_CORE, env });
    const running = await start({ INKLING_LOG_LEVEL: "info" });
    add("", { running, paths, isPaced: true });
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
    const start = async (variant: string, kind: Parameters<typeof startNginx>[1], isPaced = false) =>
      servers.push({
        who: `nginx + geoip2${variant}`,
        running: await startNginx(run, kind, module),
        paths,
        isPaced,
        isVariant: kind === "guarded",
      });
    await start("", "bare", !run.isQuick);
    await start(", key, same members and headers", "alike");
    if (!run.isQuick) await start(", key, rate limit, access log", "guarded");
    run.note(`${versionOf("nginx", "-v")}, ${versionOf("dpkg-query", "--show", "libnginx-mod-http-geoip2")}`);
  }
  const start = async (who: string, path: string, command: (port: string) => string[]) => {
    const port = freePort();
    const running = await startServer(run, command(String(port)), port, path, { core: SERVER_CORE });
    servers.push({ who, running, paths });
  };
  if (hasNpmPeers(run)) {
    const { v4, v6 } = databaseFiles();
    const script = join(PEERS, "fastify.mjs");
    await start("Fastify + maxmind, key, rate limit", "/healthz", (port) => [
      "node",
      script,
      port,
      TOKEN,
      v4,
      v6,
    ]);
    const versions = ["fastify", "maxmind"].map((name) => `npm ${name} ${npmVersion(name)}`);
    run.note(`${versions.join(", ")}, Node ${versionOf("node", "--version")}`);
  }
  const kept = [...headers].filter(([name]) => !["content-length", "date"].includes(name));
  const bare = [String(bytes), JSON.stringify(Object.fromEntries(kept))];
  const bun = [process.execPath, "--no-install", join(PEERS, "bare.ts")];
  await start("bare Bun.serve", "/", (port) => [...bun, port, ...bare]);
  return servers;
}

async function underFullLoad(run: Run, servers: readonly Server[]): Promise<void> {
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => {
      const { cpu, rate, clientShare } = await fullLoad(running, paths, run.size(2, 1));
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
}

async function besideNeighbours(run: Run, servers: readonly Server[]): Promise<void> {
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => (await fullLoad(running, paths, run.size(2, 1))).cpu;
    return { who, measure };
  });
  const order = { what: WHAT, measure: CPU, unit: "µs", rounds: run.size(5, 1), plot: "pressure-http" };
  await compareUnderPressure(run, { ...order, contestants });
}

/** Requests at half of the rate that each server reached under full load. */
async function atHalf(run: Run, servers: readonly Server[]): Promise<void> {
  const program = compiled("paced", [], run);
  if (program === undefined) return;
  const half = ({ who }: Server) => Math.floor(median(run.values(WHAT, who, RATE)) / 2);
  const contestants = servers.map((server) => {
    const { who, running, paths } = server;
    const rate = run.hasPeers ? half(server) : Math.min(...servers.map(half)); // checkouts: the same for both
    const seconds = run.size(10, 3);
    const schedule = { port: running.port, rate, seconds, connections: CONNECTIONS, paths, token: TOKEN };
    const measure = async () => {
      const { ms, slow, client, waitedMs } = await pacedLoad(program, schedule, running.pid);
      return {
        "requests, /s": rate,
        "50 % of answers within, ms": ms.p50,
        "99 % of answers within, ms": ms.p99,
        "99.9 % of answers within, ms": ms.p999,
        "99.99 % of answers within, ms": ms.p9999,
        "slowest answer, ms": ms.most,
        "server's main thread waited for a core, ms": waitedMs,
        "longest pause of the client, ms": client.longestPauseMs,
        "answers after 5 ms and more, number": slow,
        "of these during a pause of the client, number": client.slowByClient,
      };
    };
    return { what: HALF, who, measure };
  });
  await run.alternate(contestants, run.size(3, 1), true);
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
  await underFullLoad(run, servers);
  if (run.hasPressure) {
    const compared = servers.filter(({ isVariant }) => !isVariant);
    await besideNeighbours(run, compared);
  }
  await atHalf(
    run,
    servers.filter(({ isPaced }) => isPaced),
  );
  run.note(versionOf("wrk", "-v").split(" Copyright")[0]!);
  const count = known.length.toLocaleString("en-US");
  run.note(`${count} addresses that have an answer; the median answer has ${size} bytes of body`);
}
