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
import type { Part, Run } from "../lib/record.ts";
import { startInkling, TOKEN, temporaryFolder } from "../lib/server.ts";
import { figure, sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const WHAT = "workers, nothing pinned, client on the same cores";
const MOST = 3;
const AT_REST_MS = 5_000;
const BURST = 5_000;
const QUOTA = 7_000;
const LIMIT_SECONDS = 3;
const GEO = "/v1/ip-intel/geolocate/";

/** Measures a number of workers. @returns private memory of each, in MB */
async function measureWorkers(run: Run, paths: string, workers: number) {
  const { checkout } = run;
  const server = await startInkling(run, { checkout, dataDir: releaseFolder(checkout), workers });
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
  run.row(WHAT, who, "requests, /s", [rate]);
  run.row(WHAT, who, "CPU per request, µs", [sum(cpu) / (rate * seconds)]);
  run.row(WHAT, who, "private memory of each, end of the load, MB", loaded);
  run.row(WHAT, who, "private memory of each, at rest, MB", atRest);
  if (workers > 1) {
    run.row(WHAT, who, "of the primary, MB", [memoryOf(server.pid).private]);
    run.note(`${who}: shares of the work ${cpu.map((one) => (one / sum(cpu)).toFixed(2)).join(", ")}`);
  }
  await server.stop();
  return { loaded, atRest };
}

/** Requests as fast as possible for some seconds. */
async function countAllowed(
  run: Run,
  port: number,
  token: string,
): Promise<{ allowed: number; seconds: number }> {
  const paths = publicIpv4(1_000).map((address) => GEO + address);
  const from = performance.now();
  const told = await storm(run, { port, seconds: LIMIT_SECONDS, connections: CONNECTIONS, paths, token });
  const allowed = sum(told.map(({ answered, failed }) => answered - failed));
  return { allowed, seconds: (performance.now() - from) / 1000 };
}

/** All lookups that the metrics count. */
async function countedLookups(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return sum(
    [...text.matchAll(/^inkling_lookups_total\{[^}]*\} (\d+)$/gm)].map(([, value]) => Number(value)),
  );
}

async function checkLimits(run: Run): Promise<void> {
  const { checkout } = run;
  const dataDir = await linkedCopy(releaseFolder(checkout), "limits");
  run.defer(() => removeFolder("limits"));
  const database = { INKLING_DATABASE_URL: `sqlite://${join(temporaryFolder(run), "inkling.db")}` };
  const env = { INKLING_RATE: "1", INKLING_BURST: String(BURST), ...database };
  const server = await startInkling(run, { checkout, dataDir, workers: 2, env });
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
  const answered = rate.allowed + quota.allowed;
  run.check(CHECKS.usage, counted === answered, `${counted} counted, ${answered} answered`);
}

async function measure(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const { manifest } = openCurrent(releaseFolder(run.checkout));
  const refused = whyRefused(manifest, "reputation");
  if (refused !== undefined) run.note(`geolocation alone, without reputation: ${refused}`);
  const kinds = refused === undefined ? ["geolocate", "reputation"] : ["geolocate"];
  const requests = publicIpv4(20_000).flatMap((address) =>
    kinds.map((kind) => `/v1/ip-intel/${kind}/${address}`),
  );
  const paths = pathsFile(run, requests);
  const further = { loaded: [] as number[], atRest: [] as number[] };
  for (let workers = 1; workers <= MOST; workers++) {
    const { loaded, atRest } = await measureWorkers(run, paths, workers);
    if (workers === 1) continue;
    further.loaded.push(...loaded);
    further.atRest.push(...atRest);
  }
  const greatest = "greatest private memory of a further worker, at rest, MB";
  run.row("workers", "inkling", greatest, [Math.max(...further.atRest)]);
  run.row("workers", "inkling", "private memory of each further worker, at rest, MB", further.atRest);
  run.row("workers", "inkling", "private memory of each further worker, end of the load, MB", further.loaded);
  await checkLimits(run);
}

export const workersPart: Part = { name: "workers", title: "Workers", limitSeconds: 180, measure };
