// kill.ts: workers are killed under load; at most the requests in flight on the killed worker fail.
//
// Two workers, 64 connections, each with a request in flight. Before each kill the connections of the worker with the most
// are counted (by ss): each may lose one request, and no other may fail.

import { addressFiles, openCurrent, readLines, releaseFolder } from "../lib/data.ts";
import { CONNECTIONS } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { output, processTree } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { startInkling, TOKEN } from "../lib/server.ts";
import { sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const WORKERS = 2;
const EVERY_SECONDS = 4;
const REPLACED_MS = 10_000;
/** A worker that has just started does not listen yet. */
const SETTLE_MS = 2_000;

const workersOf = (primary: number): number[] => processTree(primary).slice(1);

/** How many connections of clients a process holds on a port. */
async function connectionsOf(pid: number, port: number): Promise<number> {
  const ss = ["ss", "--no-header", "--tcp", "--numeric", "--processes", "state", "established"];
  const lines = (await output([...ss, "sport", "=", `:${port}`])).split("\n");
  return lines.filter((line) => line.includes(`pid=${pid},`)).length;
}

export async function measureKill(run: Run): Promise<void> {
  if (!hasCommand(run, "ss", "ss (counts connections)")) return;
  const server = await startInkling(run, run.checkout, { workers: WORKERS });
  while (workersOf(server.pid).length < WORKERS) await Bun.sleep(50);
  await Bun.sleep(SETTLE_MS);
  const count = run.size(5, 2);
  let [mayFail, replaced] = [0, 0];
  const kill = async () => {
    const workers = workersOf(server.pid);
    const connections = async (pid: number) => ({ pid, connections: await connectionsOf(pid, server.port) });
    const held = await Promise.all(workers.map(connections));
    const victim = held.reduce((a, b) => (b.connections > a.connections ? b : a));
    mayFail += victim.connections;
    process.kill(victim.pid, "SIGKILL");
    for (const from = performance.now(); performance.now() - from < REPLACED_MS; await Bun.sleep(50)) {
      const now = workersOf(server.pid);
      if (now.length === WORKERS && !now.includes(victim.pid)) return replaced++;
    }
    return replaced;
  };
  const paths = readLines(addressFiles(1 << 17).v4).slice(0, 5_000);
  const order = {
    port: server.port,
    seconds: (count + 1) * EVERY_SECONDS,
    connections: CONNECTIONS,
    paths: paths.map((address) => `/v1/ip-intel/geolocate/${address}`),
    token: TOKEN,
    expected: { [openCurrent(releaseFolder(run.checkout)).manifest.id]: [['"city":']] },
  };
  const kills: Promise<number>[] = [];
  const seconds = await storm(run, order, ({ second, answered, failed }) => {
    log(`${second + 1} s: ${answered} answers, ${failed} failed`);
    if (second % EVERY_SECONDS === EVERY_SECONDS - 1 && kills.length < count) kills.push(kill());
  });
  await Promise.all(kills);
  const total = (key: "failed" | "mixed" | "answered") => sum(seconds.map((second) => second[key]));
  const [failed, answered] = [total("failed"), total("answered").toLocaleString("en-US")];
  run.check(
    CHECKS.kill,
    failed <= mayFail && total("mixed") === 0 && kills.length === count && mayFail > 0,
    `${failed} of ${answered} requests failed in ${count} kills; ${mayFail} connections were on the killed workers`,
  );
  run.check(CHECKS.killReplaced, replaced === count, `${replaced} of ${count}`);
  const rates = seconds.map((second) => second.answered);
  run.row(`kill -9 of a worker every ${EVERY_SECONDS} s`, "inkling", "answers, /s", rates);
}
