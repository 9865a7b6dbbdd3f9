// allocations.ts: what a lookup over HTTP allocates, step by step from a bare Bun.serve to ours, and how often that is
// collected.
//
// Objects and bytes are counted in servers without garbage collection (BUN_JSC_useGC=0), from the state of their heap
// before and after requests that come one by one, after a full load that lets the compiler optimize. Memory of Bun's native
// code is only counted where Bun reports it to its heap. Collections are those that the runtime logs under full load.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { knownAddresses, openCurrent, readLines, releaseFolder } from "../lib/data.ts";
import { allocated, collectionsIn, heapOf } from "../lib/heap.ts";
import { fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand, PEERS } from "../lib/peers.ts";
import { compareUnderPressure } from "../lib/pressure.ts";
import { SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import {
  AUTHORIZED,
  freePort,
  type Running,
  startInkling,
  startServer,
  temporaryFolder,
} from "../lib/server.ts";
import { sum } from "../lib/stats.ts";

const PATH = "/v1/ip-intel/geolocate/";
const WHAT = "a lookup over HTTP, step by step";
const TYPES = "objects for each request, by type";
const CPU = "CPU per request";
/** What peers/steps.ts does, each with all before it. */
const STEPS = [
  "bare Bun.serve",
  "its URL read",
  "Host and key read",
  "If-None-Match asked for",
  "a request id set",
  "RateLimit set",
  "the address found",
  "its answer sent",
  "young garbage collected every 4,096 requests",
];
type Start = (env: Readonly<Record<string, string>>) => Promise<Running>;
interface Server {
  readonly who: string;
  readonly start: Start;
  /** A file of the paths that it is sent. */
  readonly paths: string;
}

/** @returns objects for each request, by type */
async function countObjects(run: Run, { who, start, paths }: Server) {
  const file = join(temporaryFolder(run), "heap.json");
  const preload = { BUN_OPTIONS: `--preload ${join(PEERS, "heap.ts")}`, BENCH_HEAP: file };
  const running = await start({ ...preload, BUN_JSC_useGC: "0" });
  await fullLoad(running, paths, run.size(2, 1));
  const state = () => heapOf(running.pid, file);
  await state(); // makes what it needs once
  const [first, before] = [await state(), await state()];
  const some = readLines(paths);
  const requests = run.size(4_000, 1_000);
  for (let i = 0; i < requests; i++) {
    const url = `http://127.0.0.1:${running.port}${some[i % some.length]}`;
    await (await fetch(url, { headers: AUTHORIZED })).bytes();
  }
  const { bytes, types } = allocated(first, before, await state(), requests);
  await running.stop();
  run.row(WHAT, who, "objects, number", [sum(Object.values(types))]);
  run.row(WHAT, who, "bytes of the heap, B", [bytes]);
  return types;
}

async function countCollections(run: Run, who: string, running: Running, paths: string): Promise<void> {
  const read = () => collectionsIn(readFileSync(running.errors, "utf8"));
  await fullLoad(running, paths, 1);
  const seconds = run.size(3, 1);
  const before = read().length;
  const { rate } = await fullLoad(running, paths, seconds);
  const pauses = read().slice(before);
  run.row(WHAT, who, "collections in 10,000 requests, number", [(pauses.length / (rate * seconds)) * 10_000]);
  if (pauses.length > 0) run.row(WHAT, who, "mean pause of one, ms", [sum(pauses) / pauses.length]);
}

/** Ours, and its headers on an answer. */
async function startOurs(run: Run, path: string) {
  const start: Start = (env) =>
    startInkling(run, run.checkout, { core: SERVER_CORE, env: { INKLING_LOG_LEVEL: "info", ...env } });
  const running = await start({});
  const { headers } = await fetch(`http://127.0.0.1:${running.port}${path}`, { headers: AUTHORIZED });
  await running.stop();
  const kept = [...headers].filter(([name]) => !["content-length", "date"].includes(name));
  return { start, headers: JSON.stringify(Object.fromEntries(kept)) };
}

/** CPU of each, in alternating rounds. */
async function compareCpu(run: Run, servers: readonly (Server & { readonly running: Running })[]) {
  const contestants = servers.map(({ who, running, paths }) => {
    const measure = async () => (await fullLoad(running, paths, run.size(2, 1))).cpu;
    return { who, measure };
  });
  const rounds = run.size(3, 1);
  if (run.hasPressure) {
    await compareUnderPressure(run, { what: WHAT, measure: CPU, unit: "µs", contestants, rounds });
    return;
  }
  const quiet = contestants.map(({ who, measure }) => {
    return { what: WHAT, who, measure: async () => ({ [`${CPU}, µs`]: await measure() }) };
  });
  await run.alternate(quiet, rounds, true);
}

export async function measureAllocations(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const segment = openCurrent(releaseFolder(run.checkout)).segmentPath("geo");
  const { known, size } = knownAddresses(segment, 100_000);
  const all = known.map((address) => PATH + address);
  const [paths, same] = [pathsFile(run, all), pathsFile(run, all.slice(0, 1))];
  const { start, headers } = await startOurs(run, all[0]!);
  const script = join(PEERS, "steps.ts");
  const step = (count: number): Start => {
    return (env) => {
      const port = freePort();
      const what = [port, count, segment, size, headers].map(String);
      const command = [process.execPath, "--no-install", script, ...what];
      return startServer(run, command, port, all[0]!, { core: SERVER_CORE, env });
    };
  };
  const steps = STEPS.map((name, i) => ({ who: i === 0 ? name : `+ ${name}`, start: step(i), paths }));
  const ours = { who: "inkling", start, paths };
  const servers: Server[] = [...steps, ours, { who: "inkling, always the same address", start, paths: same }];
  for (const server of servers) {
    const types = await countObjects(run, server);
    if (server !== steps[0] && server !== ours) continue;
    for (const [type, count] of Object.entries(types)) run.row(TYPES, type, `${server.who}, number`, [count]);
  }
  const started = [];
  for (const server of servers) {
    const running = await server.start({ BUN_JSC_logGC: "1" });
    await countCollections(run, server.who, running, server.paths);
    started.push({ ...server, running });
  }
  await compareCpu(run, started);
}
