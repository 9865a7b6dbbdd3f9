// workers.ts: what a further worker costs and adds: memory and requests per second.
//
// Nothing is pinned, since several workers need several cores: server and client share them. Private memory is what a
// process shares with no other, at the end of the load and 5 s after it.

import { openCurrent, releaseFolder, whyRefused } from "../lib/data.ts";
import { fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { cpuMicroseconds, memoryOf, processTree } from "../lib/proc.ts";
import { publicIpv4 } from "../lib/random.ts";
import type { Run } from "../lib/record.ts";
import { startInkling } from "../lib/server.ts";
import { sum } from "../lib/stats.ts";

const WHAT = "workers, nothing pinned, client on the same cores";
const AT_REST_MS = 5_000;

/** Measures a number of workers. @returns private memory of each, in MB */
async function measureCount(run: Run, paths: string, workers: number) {
  const server = await startInkling(run, run.checkout, { workers });
  const seconds = run.size(8, 2);
  await fullLoad(server, paths, seconds / 2, false); // warm-up
  const serving = workers === 1 ? [server.pid] : processTree(server.pid).slice(1);
  const before = serving.map(cpuMicroseconds);
  const { rate } = await fullLoad(server, paths, seconds, false);
  const cpu = serving.map((pid, i) => cpuMicroseconds(pid) - before[i]!);
  const memory = () => serving.map((pid) => memoryOf(pid).private);
  const loaded = memory();
  await Bun.sleep(AT_REST_MS);
  const atRest = memory();
  const who = workers === 1 ? "1 process, no primary" : `${workers} workers`;
  const row = (key: string, values: number[]) => run.row(WHAT, who, key, values);
  row("requests, /s", [rate]);
  row("CPU per request, µs", [sum(cpu) / (rate * seconds)]);
  row("private memory of each, end of the load, MB", loaded);
  row("private memory of each, at rest, MB", atRest);
  if (workers > 1) {
    row("of the primary, MB", [memoryOf(server.pid).private]);
    run.note(`${who}: shares of the work ${cpu.map((one) => (one / sum(cpu)).toFixed(2)).join(", ")}`);
  }
  await server.stop();
  return { loaded, atRest };
}

export async function measureWorkers(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const { manifest } = openCurrent(releaseFolder(run.checkout));
  const refused = whyRefused(manifest, "reputation");
  if (refused !== undefined) run.note(`geolocation alone, without reputation: ${refused}`);
  const kinds = refused === undefined ? ["geolocate", "reputation"] : ["geolocate"];
  const requests = publicIpv4(20_000).map((address) =>
    kinds.map((kind) => `/v1/ip-intel/${kind}/${address}`),
  );
  const paths = pathsFile(run, requests.flat());
  await measureCount(run, paths, 1);
  const further = [await measureCount(run, paths, 2), await measureCount(run, paths, 3)];
  const row = (measure: string, values: number[]) => run.row("workers", "inkling", `${measure}, MB`, values);
  const atRest = further.flatMap((one) => one.atRest);
  row("greatest private memory of a further worker, at rest", [Math.max(...atRest)]);
  row("private memory of each further worker, at rest", atRest);
  const loaded = further.flatMap((one) => one.loaded);
  row("private memory of each further worker, end of the load", loaded);
}
