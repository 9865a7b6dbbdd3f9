// allocations.ts: what a lookup over HTTP allocates, step by step from a bare Bun.serve to ours, and how often that is
// collected.
//
// Objects and bytes are counted in servers without garbage collection (BUN_JSC_useGC=0), from the state of their heap
// before and after requests that come one by one, after a full load that lets the compiler optimize. Memory of Bun's native
// code is only counted where Bun reports it to its heap. Collections are those that the runtime logs under full load.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { knownAddresses, openCurrent, releaseFolder } from "../lib/data.ts";
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
];
interface Server {
  readonly who: string;
  readonly start: (env: Readonly<Record<string, string>>) => Promise<Running>;
}

async function countObjects(run: Run, { who, start }: Server, known: readonly string[], paths: string) {
  const file = join(temporaryFolder(run), "heap.json");
  const preload = { BUN_OPTIONS: `--preload ${join(PEERS, "heap.ts")}`, BENCH_HEAP: file };
  const running = await start({ ...preload, BUN_JSC_useGC: "0" });
  await fullLoad(running, paths, run.size(2, 1));
  const state = () => heapOf(running.pid, file);
  await state(); // makes what it needs once
  const [first, before] = [await state(), await state()];
  for (const address of known) {
    const response = await fetch(`http://127.0.0.1:${running.port}${PATH}${address}`, {
      headers: AUTHORIZED,
    });
    await response.bytes();
  }
  const { bytes, types } = allocated(first, before, await state(), known.length);
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

export async function measureAllocations(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const segment = openCurrent(releaseFolder(run.checkout)).segmentPath("geo");
  const { known, size } = knownAddresses(segment, 100_000);
  const few = known.slice(0, run.size(4_000, 1_000));
  const paths = pathsFile(
    run,
    known.map((address) => PATH + address),
  );
  const ours = (env: Readonly<Record<string, string>>) =>
    startInkling(run, run.checkout, { core: SERVER_CORE, env: { INKLING_LOG_LEVEL: "info", ...env } });
  const sample = await ours({});
  const { headers } = await fetch(`http://127.0.0.1:${sample.port}${PATH}${known[0]}`, {
    headers: AUTHORIZED,
  });
  await sample.stop();
  const kept = [...headers].filter(([name]) => !["content-length", "date"].includes(name));
  const step = (count: number) => (env: Readonly<Record<string, string>>) => {
    const port = freePort();
    const script = [process.execPath, "--no-install", join(PEERS, "steps.ts"), String(port), String(count)];
    const command = [...script, segment, String(size), JSON.stringify(Object.fromEntries(kept))];
    return startServer(run, command, port, PATH + known[0], { core: SERVER_CORE, env });
  };
  const servers: Server[] = [
    ...STEPS.map((name, i) => ({ who: i === 0 ? name : `+ ${name}`, start: step(i) })),
    { who: "inkling", start: ours },
  ];
  for (const server of servers) {
    const types = await countObjects(run, server, few, paths);
    for (const [type, count] of server === servers[0] || server === servers.at(-1)
      ? Object.entries(types)
      : [])
      run.row(TYPES, type, `${server.who}, number`, [count]);
  }
  const contestants = [];
  for (const { who, start } of servers) {
    const running = await start({ BUN_JSC_logGC: "1" });
    await countCollections(run, who, running, paths);
    const measure = async () => (await fullLoad(running, paths, run.size(2, 1))).cpu;
    contestants.push({ who, measure });
  }
  const rounds = run.size(5, 1);
  if (run.hasPressure)
    await compareUnderPressure(run, { what: WHAT, measure: CPU, unit: "µs", contestants, rounds });
  else {
    const quiet = contestants.map(({ who, measure }) => {
      return { what: WHAT, who, measure: async () => ({ [`${CPU}, µs`]: await measure() }) };
    });
    await run.alternate(quiet, rounds, true);
  }
  run.note(`objects and bytes of ${few.length.toLocaleString("en-US")} requests, one by one`);
}
