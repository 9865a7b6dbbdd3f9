// wrk.ts: load from wrk, pinned to the client's core: keep-alive connections, each with one request under way.
//
// in   requests, the same for all who are compared, sent in turn
// out  requests answered in time, and how many were not 2xx
// err  wrk is not installed, or says what cannot be read: Error

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLIENT_CORE, cpuMicroseconds, pinned } from "./proc.ts";

export const CONNECTIONS = 64;

export interface Load {
  /** Path and query of each request. */
  readonly paths: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Writes the script that sends these requests. @returns its path */
export function wrkScript(load: Load): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-bench-wrk-"));
  process.on("exit", () => Bun.spawnSync(["rm", "-r", folder]));
  const paths = join(folder, "paths.txt");
  writeFileSync(paths, `${load.paths.join("\n")}\n`);
  const headers = Object.entries(load.headers ?? {}).map(
    ([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  const script = join(folder, "load.lua");
  // Requests are made before the load: while it lasts, Lua only hands out the next one.
  writeFileSync(
    script,
    `local requests = {}
function init()
  for path in io.lines(${JSON.stringify(paths)}) do
    requests[#requests + 1] = wrk.format("GET", path, { ${headers.join(", ")} })
  end
end
local i = 0
function request() i = i % #requests + 1; return requests[i] end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %d\\n", summary.requests, e.status, e.connect + e.read + e.write + e.timeout,
    summary.duration, latency:percentile(50), latency:percentile(99.9)))
end
`,
  );
  return script;
}

export interface Loaded {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Of the server with all that it started. */
  readonly cpuMicrosecondsPerRequest: number;
  /** Share of one core that the client used: near 1, it was the client that was measured. */
  readonly clientShare: number;
  readonly medianMs: number;
}

/**
 * Full load on a server for some seconds.
 * @param pid the server's
 * @throws Error when an answer was not 2xx or a connection failed
 */
export async function underLoad(pid: number, port: number, script: string, seconds: number): Promise<Loaded> {
  const before = cpuMicroseconds(pid);
  const command = [
    "wrk",
    "-t1",
    `-c${CONNECTIONS}`,
    `-d${seconds}s`,
    "-s",
    script,
    `http://127.0.0.1:${port}`,
  ];
  const wrk = Bun.spawn(pinned(CLIENT_CORE, command), { stdout: "pipe", stderr: "pipe" });
  const said = await new Response(wrk.stdout).text();
  const cpu = cpuMicroseconds(pid) - before;
  const status = await wrk.exited;
  const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(said)?.slice(1).map(Number);
  if (found === undefined)
    throw new Error(`wrk ended with ${status}: ${said}${await new Response(wrk.stderr).text()}`);
  const [requests, refused, broken, microseconds, median] = found as [number, number, number, number, number];
  if (refused + broken > 0)
    throw new Error(`${refused} answers were not 2xx, ${broken} connections failed: ${said}`);
  const used = wrk.resourceUsage()?.cpuTime.total ?? 0n;
  return {
    requests,
    requestsPerSecond: requests / (microseconds / 1e6),
    cpuMicrosecondsPerRequest: cpu / requests,
    clientShare: Number(used) / microseconds,
    medianMs: median / 1000,
  };
}
