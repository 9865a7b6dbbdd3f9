// http.ts: single look-ups over HTTP: ours with everything on, beside nginx with geoip2, Fastify with maxmind, and a
// Bun.serve that does nothing.
//
// run  npx bun bench/http.ts [--quick]
// Every server runs on one core, wrk on the other: 64 keep-alive connections, the same random IPv4 addresses in the
// same order. Rounds alternate. CPU is the operating system's account of the server's processes, threads included.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressFiles, databaseFiles, readLines, releaseFolder } from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { type Paced, paced } from "./lib/paced.ts";
import {
  findNode,
  hasWrk,
  nginxModule,
  nginxModuleVersion,
  npmPeers,
  npmVersion,
  PEERS,
  pacedClient,
  versionOf,
} from "./lib/peers.ts";
import { AHEAD, memoryOf, processTree, SERVER_CORE } from "./lib/proc.ts";
import { emit, tell } from "./lib/record.ts";
import {
  AUTHORIZED,
  freePort,
  type Running,
  startInkling,
  startServer,
  TOKEN,
  temporaryFolder,
} from "./lib/server.ts";
import { figure, quantile, told } from "./lib/stats.ts";
import { CONNECTIONS, type Loaded, underLoad, wrkScript } from "./lib/wrk.ts";
import { startNginx } from "./peers/nginx.ts";

const ROUNDS = sized(7, 1);
const SECONDS = sized(2, 1);
const PACED_ROUNDS = sized(3, 1);
const PACED_SECONDS = sized(10, 3);
const PACED = IS_QUICK ? ["inkling"] : ["inkling", "nginx + geoip2"];
/** Different addresses asked: more than any cache of answers would hold by chance. */
const ADDRESSES = sized(100_000, 20_000);
const PATH = "/v1/ip-intel/geolocate/";
const WHAT = "geolocate, random IPv4";

interface Server {
  readonly who: string;
  readonly running: Running;
}

const dataDir = await releaseFolder();
const servers: Server[] = [];

/** Answers of our server to the first of these addresses: those that it knows are asked of everybody. */
async function knownAddresses(port: number): Promise<{ known: string[]; sizes: number[]; headers: Headers }> {
  const known: string[] = [];
  const sizes: number[] = [];
  let headers = new Headers();
  const candidates = readLines(addressFiles(1 << 17).v4);
  for (let i = 0; i < candidates.length && known.length < ADDRESSES; i += 256) {
    const some = candidates.slice(i, i + 256);
    const answers = await Promise.all(
      some.map(async (address) => {
        const answer = await fetch(`http://127.0.0.1:${port}${PATH}${address}`, { headers: AUTHORIZED });
        return { address, answer, size: (await answer.bytes()).length };
      }),
    );
    for (const { address, answer, size } of answers) {
      if (answer.status !== 200) continue;
      known.push(address);
      sizes.push(size);
      headers = answer.headers;
    }
  }
  return { known, sizes, headers };
}

async function startPeers(bodySize: number, headers: Headers): Promise<void> {
  const add = (who: string, running: Running) => servers.push({ who, running });
  const module = nginxModule();
  if (module !== undefined) {
    add("nginx + geoip2", await startNginx("bare", module));
    add("nginx + geoip2, key, all that ours sends", await startNginx("alike", module));
    if (!IS_QUICK) add("nginx + geoip2, key, rate limit, access log", await startNginx("guarded", module));
    emit({ type: "fact", name: "nginx", value: versionOf(["nginx", "-v"]) });
    emit({ type: "fact", name: "nginx's geoip2 module", value: nginxModuleVersion() });
  }
  const node = findNode();
  if (node !== undefined && (await npmPeers())) {
    const { v4, v6 } = databaseFiles();
    const port = freePort();
    const command = [node, join(PEERS, "fastify.mjs"), String(port), TOKEN, v4, v6];
    add(
      "Fastify + maxmind, key, rate limit",
      await startServer(command, port, { path: "/healthz" }, { core: SERVER_CORE }),
    );
    for (const name of ["fastify", "maxmind"])
      emit({ type: "fact", name: `npm ${name}`, value: npmVersion(name) });
    emit({ type: "fact", name: "Fastify's Node", value: versionOf([node, "--version"]) });
  }
  const port = freePort();
  const body = JSON.stringify({ filler: "x".repeat(Math.max(0, bodySize - '{"filler":""}'.length)) });
  const kept = Object.fromEntries(
    [...headers].filter(([name]) => !["content-length", "date"].includes(name)),
  );
  const command = [process.execPath, join(PEERS, "bare.ts"), String(port), body, JSON.stringify(kept)];
  add("bare Bun.serve", await startServer(command, port, { path: "/" }, { core: SERVER_CORE }));
}

async function underFullLoad(script: string): Promise<Map<string, Loaded[]>> {
  const loads = new Map(servers.map(({ who }): [string, Loaded[]] => [who, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const { who, running } of servers) {
      const load = await underLoad(running.pid, running.port, script, round < 0 ? 1 : SECONDS);
      if (round >= 0) loads.get(who)!.push(load);
    }
  }
  for (const [who, all] of loads) {
    const cpu = all.map((load) => load.cpuMicrosecondsPerRequest);
    const rate = all.map((load) => load.requestsPerSecond);
    emit({ type: "row", what: WHAT, who, measure: "CPU per request", unit: "µs", values: cpu });
    emit({ type: "row", what: WHAT, who, measure: "requests on one core", unit: "/s", values: rate });
    tell(`${who}: ${told(cpu)} µs CPU, ${told(rate)} requests/s`);
    const busy = quantile(
      all.map((load) => load.clientShare),
      0.5,
    );
    if (busy > 0.95) {
      const text = `with ${who}, wrk took ${figure(busy * 100)} % of its core: the rate is the client's, the CPU the server's`;
      emit({ type: "note", text });
    }
  }
  return loads;
}

/** Requests at half of what each server reached under full load, in rounds that alternate. */
async function atHalf(program: string, loads: Map<string, Loaded[]>, paths: string): Promise<void> {
  const asked = servers.filter(({ who }) => PACED.includes(who));
  const runs = new Map(asked.map(({ who }): [string, Paced[]] => [who, []]));
  for (let round = 0; round < PACED_ROUNDS; round++) {
    for (const { who, running } of asked) {
      const rates = loads.get(who)!.map((load) => load.requestsPerSecond);
      const rate = Math.floor(quantile(rates, 0.5) / 2);
      const timetable = { port: running.port, rate, seconds: PACED_SECONDS, connections: CONNECTIONS, paths };
      const run = await paced(program, running.pid, { ...timetable, token: TOKEN });
      runs.get(who)!.push(run);
      tell(`${who} at ${rate} requests/s: ${JSON.stringify(run)}`);
    }
  }
  for (const [who, all] of runs) {
    for (const [name, at] of [
      ["50 %", "p50"],
      ["99 %", "p99"],
      ["99.9 %", "p999"],
    ] as const) {
      const measure = `${name} of answers at half of capacity within`;
      emit({ type: "row", what: WHAT, who, measure, unit: "ms", values: all.map(({ ms }) => ms[at]) });
    }
    emit({ type: "note", text: `${who} at half of capacity: ${aboutRuns(all)}` });
  }
}

/** What says whose the tail is: the server's, the client's, the machine's. */
function aboutRuns(all: readonly Paced[]): string {
  const of = (find: (run: Paced) => number) => told(all.map(find));
  return [
    `${Math.round(all[0]!.requests / PACED_SECONDS).toLocaleString("en-US")} requests/s, ${all.length} × ${PACED_SECONDS} s`,
    all[0]!.isAhead ? `both at nice ${AHEAD}` : "not ahead of other programs: that takes root",
    `99.99 % within ${of(({ ms }) => ms.p9999)} ms, slowest ${of(({ ms }) => ms.most)} ms`,
    `the server's main thread was ready and had no core for ${of((run) => run.serverReadyMs)} ms in all`,
    `the client was away for at most ${of(({ client }) => client.longestPauseMs)} ms`,
    `${of((run) => run.slow)} answers took 5 ms and more, ${of(({ client }) => client.slowByClient)} of them while the client was away for 1 ms and more`,
  ].join("; ");
}

if (hasWrk()) {
  try {
    const ours = await startInkling({ dataDir, core: SERVER_CORE, env: { INKLING_LOG_LEVEL: "info" } });
    servers.push({ who: "inkling", running: ours });
    if (!IS_QUICK) {
      servers.push({
        who: "inkling, access log",
        running: await startInkling({ dataDir, core: SERVER_CORE }),
      });
    }
    const { known, sizes, headers } = await knownAddresses(ours.port);
    const size = quantile(sizes, 0.5);
    await startPeers(size, headers);
    const paths = known.map((address) => `${PATH}${address}`);
    const loads = await underFullLoad(wrkScript({ paths, headers: AUTHORIZED }));
    const program = pacedClient();
    if (program !== undefined) {
      const file = join(temporaryFolder(), "paths.txt");
      writeFileSync(file, `${paths.join("\n")}\n`);
      await atHalf(program, loads, file);
    }
    for (const { who, running } of servers) {
      const memory = processTree(running.pid).map((pid) => memoryOf(pid)?.private ?? 0);
      const megabytes = memory.reduce((a, b) => a + b, 0) / 1e6;
      emit({
        type: "row",
        what: WHAT,
        who,
        measure: "private memory after the load",
        unit: "MB",
        values: [megabytes],
      });
    }
    emit({ type: "fact", name: "wrk", value: versionOf(["wrk", "-v"]).split(" Copyright")[0]! });
    emit({
      type: "note",
      text: `${known.length.toLocaleString("en-US")} addresses that have an answer; the middle one has ${size} bytes of body`,
    });
  } finally {
    for (const { running } of servers) await running.stop();
  }
}
