// load.ts: HTTP load by wrk from the client's core, as fast as the server answers.
//
// err  Error when an answer is not 2xx, or a connection fails

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./data.ts";
import { CLIENT_CORE, cpuMicroseconds, pinned } from "./proc.ts";
import type { Run } from "./record.ts";
import { type Running, TOKEN, temporaryFolder } from "./server.ts";

export const CONNECTIONS = 64;

/** Writes the paths that a load requests in turn. @returns the file */
export function pathsFile(run: Run, paths: readonly string[]): string {
  const file = join(temporaryFolder(run), "paths.txt");
  writeFileSync(file, `${paths.join("\n")}\n`);
  return file;
}

export interface Loaded {
  readonly requests: number;
  readonly rate: number;
  /** µs of the server with all that it started, per request. */
  readonly cpu: number;
  /** Share of one core that the client used: near 1, the rate is the client's. */
  readonly clientShare: number;
}

/** Full load from {@link CONNECTIONS} keep-alive connections, each with one request in flight. */
export async function fullLoad({ pid, port }: Running, paths: string, seconds: number): Promise<Loaded> {
  const script = join(ROOT, "bench/peers/wrk.lua");
  const load = [`-c${CONNECTIONS}`, `-d${seconds}s`, "--timeout", "60s"]; // a busy machine is no failure
  const wrk = ["wrk", "-t1", ...load, "-s", script, `http://127.0.0.1:${port}`];
  const command = [...wrk, "--", paths, TOKEN];
  const before = cpuMicroseconds(pid);
  const child = Bun.spawn(pinned(CLIENT_CORE, command), {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const cpu = cpuMicroseconds(pid) - before;
  await child.exited;
  const found = /RESULT (\d+) (\d+) (\d+) (\d+)/.exec(out)?.slice(1).map(Number);
  const [requests = 0, refused = 0, broken = 0, microseconds = 0] = found ?? [];
  if (requests === 0 || refused + broken > 0) throw new Error(`wrk: ${out}${errors}`);
  const used = Number(child.resourceUsage()?.cpuTime.total ?? 0n);
  return {
    requests,
    rate: (requests * 1e6) / microseconds,
    cpu: cpu / requests,
    clientShare: used / microseconds,
  };
}
