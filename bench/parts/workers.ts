// workers.ts: what a further worker costs and adds: memory and requests per second; and that limits, quotas and usage hold
// for the machine.
//
// Nothing is pinned, since several workers need several cores: server and client share them. Private memory is what a
// process shares with no other, at the end of the load and 5 s after it.

import { join } from "node:path";
import { inkling, linkedCopy, openCurrent, releaseFolder, removeFolder, whyRefused } from "../lib/data.ts";
import { CONNECTIONS, fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { cpuMicroseconds, memoryOf, output, processTree } from "../lib/proc.ts";
import { publicIpv4 } from "../lib/random.ts";
import type { Run } from "../lib/record.ts";
import { startInkling, TOKEN, temporaryFolder } from "../lib/server.ts";
import { figure, sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const WHAT = "workers, nothing pinned, client on the same cores";
const AT_REST_MS = 5_000;
const BURST = 5_000;
const QUOTA = 7_000;
const LIMIT_SECONDS = 3;

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

/** Requests as fast as possible for some seconds. */
async function countAllowed(run: Run, port: number, token: string) {
  const paths = publicIpv4(1_000).map((address) => `/v1/ip-intel/geolocate/${address}`);
  const from = performance.now();
  const all = await storm(run, {
    ports: [port],
    seconds: LIMIT_SECONDS,
    connections: CONNECTIONS,
    paths,
    token,
  });
  const allowed = sum(all.map(({ answers, failed }) => answers - failed));
  return { allowed, seconds: (performance.now() - from) / 1000 };
}

/** All lookups that the metrics count. */
export async function countedLookups(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const counts = text.matchAll(/^inkling_lookups_total\{[^}]*\} (\d+)$/gm);
  return sum([...counts].map(([, value]) => Number(value)));
}

async function checkLimits(run: Run): Promise<void> {
  const { checkout } = run;
  const dataDir = await linkedCopy(releaseFolder(checkout), "limits");
  run.defer(() => removeFolder("limits"));
  const database = { INKLING_DATABASE_URL: `sqlite://${join(temporaryFolder(run), "inkling.db")}` };
  const env = { INKLING_RATE: "1", INKLING_BURST: String(BURST), ...database };
  const server = await startInkling(run, checkout, { dataDir, workers: 2, env });
  const limits = ["--rate", "0", "--quota", String(QUOTA)];
  const create = inkling(checkout.root, "keys", "create", "--name", "quota", ...limits);
  const quotaKey = await output(create, { env: { INKLING_DATA_DIR: dataDir, ...database } });
  await Bun.sleep(2_500); // until every worker listens and knows the key
  const before = await countedLookups(server.adminPort);
  const rate = await countAllowed(run, server.port, TOKEN);
  const isExact = rate.allowed >= BURST && rate.allowed <= BURST + Math.ceil(rate.seconds) + 1;
  const allowed = `${rate.allowed} allowed by a burst of ${BURST} and 1 a second`;
  run.check(CHECKS.limits, isExact, `${allowed}, in ${figure(rate.seconds)} s`);
  const quota = await countAllowed(run, server.port, quotaKey.trim());
  run.check(CHECKS.quotas, quota.allowed === QUOTA, `${quota.allowed} allowed by a quota of ${QUOTA}`);
  await Bun.sleep(1_500); // workers report each second
  const counted = (await countedLookups(server.adminPort)) - before;
  const allAllowed = rate.allowed + quota.allowed;
  run.check(CHECKS.usage, counted === allAllowed, `${counted} counted, ${allAllowed} answered`);
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
  await checkLimits(run);
}
