// load.ts: HTTP load from the client's core: wrk as fast as the server answers, peers/paced.c at a fixed rate.
//
// err  Error when an answer is not 2xx, a connection fails, or the server falls 30 s behind the fixed rate

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./data.ts";
import {
  AHEAD,
  CLIENT_CORE,
  cpuMicroseconds,
  output,
  pinned,
  processTree,
  setNiceness,
  waitedMs,
} from "./proc.ts";
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
  readonly rate: number;
  /** µs of the server with all that it started, per request. */
  readonly cpu: number;
  /** Share of one core that the client used: near 1, the rate is the client's. */
  readonly clientShare: number;
}

/** Full load from {@link CONNECTIONS} keep-alive connections, each with one request in flight. */
export async function fullLoad(
  { pid, port }: Running,
  paths: string,
  seconds: number,
  isPinned = true,
): Promise<Loaded> {
  const script = join(ROOT, "bench/peers/wrk.lua");
  const wrk = ["wrk", "-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, `http://127.0.0.1:${port}`];
  const command = [...wrk, "--", paths, TOKEN];
  const before = cpuMicroseconds(pid);
  const child = Bun.spawn(isPinned ? pinned(CLIENT_CORE, command) : command, {
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
  return { rate: (requests * 1e6) / microseconds, cpu: cpu / requests, clientShare: used / microseconds };
}

/** What peers/paced.c prints; times in ms. */
export interface Paced {
  readonly requests: number;
  /** From when a request was due to its whole answer: quantiles. */
  readonly ms: Readonly<Record<"p50" | "p90" | "p99" | "p999" | "p9999" | "most", number>>;
  /** Answers after 5 ms and more. */
  readonly slow: number;
  /** Requests sent 1 ms or more after they were due: no connection was free, or the client was away. */
  readonly sentLate: number;
  /** The client's own pauses of 1 ms and more, and slow answers that may be due to them. */
  readonly client: {
    readonly longestPauseMs: number;
    readonly pauses: number;
    readonly slowByClient: number;
  };
  /** How long the server's main threads were ready and had no core: a tail that is the machine's. */
  readonly waitedMs: number;
}

export interface Schedule {
  readonly port: number;
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly connections: number;
  /** A file of paths, one a line. */
  readonly paths: string;
  readonly token: string;
}

/**
 * Load at a fixed rate; server and client go ahead of other programs where that is allowed (root).
 * @param program the compiled client
 * @param server its process
 */
export async function pacedLoad(program: string, schedule: Schedule, server?: number): Promise<Paced> {
  const { port, rate, seconds, connections, paths, token } = schedule;
  const command = ["nice", "-n", AHEAD, program, port, rate, seconds, connections, paths, token].map(String);
  const pids = server === undefined ? [] : processTree(server);
  const before = waitedMs(pids);
  setNiceness(pids, AHEAD);
  try {
    const measured = JSON.parse(await output(pinned(CLIENT_CORE, command)));
    return { ...measured, waitedMs: waitedMs(pids) - before };
  } finally {
    setNiceness(pids, 0);
  }
}
