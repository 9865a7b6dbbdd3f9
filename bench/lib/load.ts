// load.ts: puts HTTP load on a server from the client's core: wrk sends as fast as the server answers, and h2load sends
// at a fixed rate.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./data.ts";
import { CLIENT_CORE, cpuMicroseconds, pinned } from "./proc.ts";
import type { Run } from "./record.ts";
import { type Running, TOKEN, temporaryFolder } from "./server.ts";

export const CONNECTIONS = 64;

/**
 * Writes the requests of {@link fullLoad}, which sends them in turn: each is a path, or the JSON body of a decision.
 * {@link steadyLoad} takes only paths.
 * @returns the file's path
 */
export function pathsFile(run: Run, paths: readonly string[]): string {
  const file = join(temporaryFolder(run), "paths.txt");
  writeFileSync(file, `${paths.join("\n")}\n`);
  return file;
}

export interface Loaded {
  readonly requests: number;
  readonly rate: number;
  /** Server CPU time per request in µs, including all processes that the server started. */
  readonly cpu: number;
  /** Share of one core that the client used. If it is near 1, the client limits the rate. */
  readonly clientShare: number;
}

/** Puts full load on a server from {@link CONNECTIONS} keep-alive connections, with one request at a time on each. */
export async function fullLoad({ pid, port }: Running, paths: string, seconds: number): Promise<Loaded> {
  const script = join(ROOT, "bench/peers/wrk.lua");
  const load = [`-c${CONNECTIONS}`, `-d${seconds}s`, "--timeout", "60s"]; // a busy machine must not cause a failure
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

/**
 * Milliseconds between the first requests of two consecutive connections, so that connections do not send at the same
 * moments.
 */
const STAGGER_MS = 7;

/**
 * Puts load at a fixed rate on a server from {@link CONNECTIONS} keep-alive connections. Each connection sends its
 * share of the rate at its own times, and requests the paths in order from the first one. If an answer is late, the
 * client sends the next request late, and measures from the time at which that request was sent.
 *
 * @param rate requests per second of all connections together
 * @returns the 99.9th percentile of the milliseconds from sending a request to receiving its complete answer
 */
export async function steadyLoad(run: Run, { port }: Running, paths: string, rate: number, seconds: number) {
  const log = join(temporaryFolder(run), "answers.tsv");
  const ofConnection = rate / CONNECTIONS;
  const requests = Math.ceil(ofConnection * seconds) * CONNECTIONS;
  const load = [`-c${CONNECTIONS}`, "-t1", `-n${requests}`, "-r1", `--rate-period=${STAGGER_MS}ms`];
  const h2load = ["h2load", "--h1", ...load, `--rps=${ofConnection}`, `--log-file=${log}`, "-i", paths];
  const command = [...h2load, "-B", `http://127.0.0.1:${port}`, "-H", `authorization: Bearer ${TOKEN}`];
  const child = Bun.spawn(pinned(CLIENT_CORE, command), { stdout: "pipe", stderr: "pipe" });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  const times = new Float64Array(requests);
  let count = 0;
  for (const line of readFileSync(log, "utf8").split("\n")) {
    const [, status = "", microseconds] = line.split("\t");
    if (status.startsWith("2")) times[count++] = Number(microseconds);
  }
  if (count !== requests) throw new Error(`h2load: ${count} of ${requests} answers are 2xx: ${out}${errors}`);
  times.sort();
  return times[Math.floor(requests * 0.999)]! / 1_000;
}
