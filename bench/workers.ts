// workers.ts: what a further worker takes and gives: memory, requests per second, and how connections spread.
//
// run  npx bun bench/workers.ts [--quick]
// in   wrk; a release of the full data (bench/lib/data.ts)
// out  on standard output JSON lines { workers, ... }; text for people on standard error
//
// Server and client share the machine's cores here: nothing is pinned, because several workers need several cores.
// Private memory is what a process does not share: anonymous and changed pages (/proc/PID/smaps_rollup, Private_Dirty and
// Private_Clean), after the load.

import { readdirSync, readFileSync } from "node:fs";
import { releaseFolder } from "./lib/data.ts";
import { numberAfter, sized } from "./lib/options.ts";
import { cpuMicroseconds, processTree } from "./lib/proc.ts";
import { publicIpv4 } from "./lib/random.ts";
import { AUTHORIZED, startInkling } from "./lib/server.ts";
import { CONNECTIONS, wrkScript } from "./lib/wrk.ts";

const SECONDS = sized(8, 2);
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

const paths = publicIpv4(20_000).flatMap((address) => [
  `/v1/ip-intel/geolocate/${address}`,
  `/v1/ip-intel/reputation/${address}`,
]);
const script = wrkScript({ paths, headers: AUTHORIZED });
const dataDir = await releaseFolder();

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
    const row = {
      workers,
      requests_per_second: Math.round(requestsPerSecond),
      cpu_us_per_request: Math.round((total / (requestsPerSecond * SECONDS)) * 100) / 100,
      share_of_each: cpu.map((microseconds) => Math.round((microseconds / total) * 100) / 100),
      open_files_of_each: sockets,
      supervisor: workers === 1 ? null : memoryOf(server.pid),
      answering: answering.map(memoryOf),
    };
    process.stdout.write(`${JSON.stringify(row)}\n`);
    const memory = row.answering.map(({ private_mb }) => `${private_mb} MB`).join(", ");
    process.stderr.write(
      `${workers} workers: ${row.requests_per_second} requests/s, ${row.cpu_us_per_request} µs, private ${memory}\n`,
    );
  } finally {
    await server.stop();
  }
}
