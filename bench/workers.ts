// workers.ts: what a further worker takes and gives: memory, requests per second, and how connections spread.
//
// run  npx bun bench/workers.ts [--quick]
// in   wrk; a release of the full data (bench/lib/data.ts)
// out  rows of memory and requests per second, and the checks that limits, quotas and usage hold for the machine
//
// Server and client share the machine's cores here: nothing is pinned, because several workers need several cores.
// Private memory is what a process does not share: anonymous and changed pages (/proc/PID/smaps_rollup, Private_Dirty and
// Private_Clean): at the end of the load, and some seconds after it, which is what an operator sees. "Each" is the greatest.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { requestText } from "./lib/client.ts";
import { emptyFolder, linkedCopy, ROOT, releaseFolder } from "./lib/data.ts";
import { numberAfter, sized } from "./lib/options.ts";
import { cpuMicroseconds, processTree } from "./lib/proc.ts";
import { publicIpv4 } from "./lib/random.ts";
import { emit } from "./lib/record.ts";
import { openCurrent, whyRefused } from "./lib/release.ts";
import { AUTHORIZED, startInkling, TOKEN, temporaryFolder } from "./lib/server.ts";
import { figure } from "./lib/stats.ts";
import { storm, sum } from "./lib/storm.ts";
import { CHECKS } from "./lib/targets.ts";
import { CONNECTIONS, wrkScript } from "./lib/wrk.ts";

const SECONDS = sized(8, 2);
/** So long after the load a server is at rest. */
const REST_MS = 5_000;
const MOST = numberAfter("--workers", 3);

interface ProcessMemory {
  readonly pid: number;
  readonly private_mb: number;
  readonly resident_mb: number;
  readonly proportional_mb: number;
}

function memoryOf(pid: number): ProcessMemory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
  const megabytes = (...names: string[]) =>
    Math.round(names.reduce((sum, name) => sum + kilobytes(name), 0) / 102.4) / 10;
  return {
    pid,
    private_mb: megabytes("Private_Dirty", "Private_Clean"),
    resident_mb: megabytes("Rss"),
    proportional_mb: megabytes("Pss"),
  };
}

/** Sockets of a process, its listeners and pipes aside: near enough to see how many connections it has. */
function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

async function wrk(port: number, script: string, seconds: number, during: () => void): Promise<number> {
  const url = `http://127.0.0.1:${port}`;
  const child = Bun.spawn(
    ["wrk", "-t", "1", "-c", String(CONNECTIONS), "-d", `${seconds}s`, "-s", script, url],
    { stdout: "pipe", stderr: "inherit" },
  );
  const timer = setTimeout(during, (seconds * 1_000) / 2);
  const said = await new Response(child.stdout).text();
  clearTimeout(timer);
  const [, requests, wrong, failed, microseconds] = /RESULT (\d+) (\d+) (\d+) (\d+)/.exec(said) ?? [];
  if (Number(wrong) + Number(failed) !== 0 || !requests) throw new Error(`wrk: ${said}`);
  return (Number(requests) / Number(microseconds)) * 1e6;
}

interface Measured {
  readonly workers: number;
  readonly requests_per_second: number;
  readonly cpu_us_per_request: number;
  readonly share_of_each: readonly number[];
  readonly supervisor: ProcessMemory | null;
  readonly loaded: readonly ProcessMemory[];
  readonly answering: readonly ProcessMemory[];
}

function report({
  workers,
  requests_per_second,
  cpu_us_per_request,
  share_of_each,
  supervisor,
  loaded,
  answering,
}: Measured): void {
  const what = "workers, nothing pinned, client on the same cores";
  const who = `${workers} ${workers === 1 ? "process, no supervisor" : "workers"}`;
  const row = (measure: string, unit: string, values: number[]) =>
    emit({ type: "row", what, who, measure, unit, values });
  row("requests", "/s", [requests_per_second]);
  row("CPU for a request", "µs", [cpu_us_per_request]);
  row(
    "private memory of each, end of the load",
    "MB",
    loaded.map(({ private_mb }) => private_mb),
  );
  row(
    "private memory of each, at rest",
    "MB",
    answering.map(({ private_mb }) => private_mb),
  );
  if (supervisor === null) return;
  row("of the supervisor", "MB", [supervisor.private_mb]);
  furtherLoaded.push(...loaded.map(({ private_mb }) => private_mb));
  further.push(...answering.map(({ private_mb }) => private_mb));
  emit({ type: "note", text: `${who}: shares of the work ${share_of_each.join(", ")}` });
}

/** Private memory of all workers beside a supervisor. */
const further: number[] = [];
const furtherLoaded: number[] = [];

const dataDir = await releaseFolder();
const asked = ["geolocate"];
const refused = whyRefused(openCurrent(dataDir).manifest, "reputation");
if (refused === undefined) asked.push("reputation");
else emit({ type: "note", text: `asked for places alone, without reputation: ${refused}` });
const paths = publicIpv4(20_000).flatMap((address) => asked.map((what) => `/v1/ip-intel/${what}/${address}`));
const script = wrkScript({ paths, headers: AUTHORIZED });

for (let workers = 1; workers <= MOST; workers++) {
  const server = await startInkling({ dataDir, workers });
  try {
    await wrk(server.port, script, SECONDS / 2, () => {}); // warm-up
    const all = processTree(server.pid).filter((pid) => pid !== server.pid);
    const answering = workers === 1 ? [server.pid] : all;
    const before = answering.map(cpuMicroseconds);
    let sockets: number[] = [];
    const requestsPerSecond = await wrk(server.port, script, SECONDS, () => {
      sockets = answering.map(socketsOf);
    });
    const cpu = answering.map((pid, i) => cpuMicroseconds(pid) - before[i]!);
    const total = cpu.reduce((sum, microseconds) => sum + microseconds, 0);
    const loaded = answering.map(memoryOf);
    await Bun.sleep(REST_MS);
    const row = {
      loaded,
      workers,
      requests_per_second: Math.round(requestsPerSecond),
      cpu_us_per_request: Math.round((total / (requestsPerSecond * SECONDS)) * 100) / 100,
      share_of_each: cpu.map((microseconds) => Math.round((microseconds / total) * 100) / 100),
      open_files_of_each: sockets,
      supervisor: workers === 1 ? null : memoryOf(server.pid),
      answering: answering.map(memoryOf),
    };
    report(row);
    const memory = row.answering.map(({ private_mb }) => `${private_mb} MB`).join(", ");
    process.stderr.write(
      `${workers} workers: ${row.requests_per_second} requests/s, ${row.cpu_us_per_request} µs, private ${memory}\n`,
    );
  } finally {
    await server.stop();
  }
}
for (const [measure, values] of [
  ["private memory of each further worker, at rest", further],
  ["private memory of each further worker, end of the load", furtherLoaded],
] as const) {
  emit({ type: "row", what: "workers", who: "inkling", measure, unit: "MB", values });
}

const BURST = 5_000;
const QUOTA = 7_000;
const LIMIT_SECONDS = 3;

/** Asks as much as it can for some seconds. @returns how many answers were 200, and seconds that it took */
async function ask(port: number, token: string): Promise<{ allowed: number; seconds: number }> {
  const headers = { Authorization: `Bearer ${token}` };
  const requests = publicIpv4(1_000).map((address) =>
    requestText(`/v1/ip-intel/geolocate/${address}`, headers),
  );
  const order = { port, seconds: LIMIT_SECONDS, connections: CONNECTIONS, requests, expected: {} };
  const from = performance.now();
  const told = await storm(order, () => {});
  const allowed = sum(told.map(({ answered, failed }) => answered - failed));
  return { allowed, seconds: (performance.now() - from) / 1000 };
}

/** All look-ups that the metrics know. */
async function counted(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return sum(
    [...text.matchAll(/^inkling_lookups_total\{[^}]*\} (\d+)$/gm)].map(([, value]) => Number(value)),
  );
}

const ofOwn = linkedCopy(dataDir, "limits");
const databaseUrl = `sqlite://${join(temporaryFolder(), "inkling.db")}`;
const limited = { INKLING_RATE: "1", INKLING_BURST: String(BURST), INKLING_DATABASE_URL: databaseUrl };
const server = await startInkling({ dataDir: ofOwn, workers: 2, env: limited });
try {
  const command = [
    "packages/cli/src/main.ts",
    "keys",
    "create",
    "--name",
    "quota",
    "--rate",
    "0",
    "--quota",
    String(QUOTA),
  ];
  const made = Bun.spawnSync([process.execPath, ...command], {
    cwd: ROOT,
    env: { ...process.env, INKLING_DATA_DIR: ofOwn, INKLING_DATABASE_URL: databaseUrl },
  });
  const quotaToken = made.stdout.toString().trim();
  await Bun.sleep(2_500); // until every worker listens and knows the key
  const before = await counted(server.adminPort!);
  const rate = await ask(server.port, TOKEN);
  const most = BURST + Math.ceil(rate.seconds) + 1;
  const isExact = rate.allowed >= BURST && rate.allowed <= most;
  const limitFigure = `${rate.allowed} allowed by a burst of ${BURST} and 1 a second, in ${figure(rate.seconds)} s`;
  emit({ type: "check", what: CHECKS.limits, isKept: isExact, figure: limitFigure });
  const quota = await ask(server.port, quotaToken);
  const quotaFigure = `${quota.allowed} allowed by a quota of ${QUOTA}`;
  emit({ type: "check", what: CHECKS.quotas, isKept: quota.allowed === QUOTA, figure: quotaFigure });
  await Bun.sleep(1_500); // workers report each second
  const lookups = (await counted(server.adminPort!)) - before;
  const asked = rate.allowed + quota.allowed;
  emit({
    type: "check",
    what: CHECKS.usage,
    isKept: lookups === asked,
    figure: `${lookups} counted, ${asked} answered`,
  });
} finally {
  await server.stop();
  emptyFolder("limits");
}
