// kill.ts: workers are killed under load; at most the requests in flight on the killed worker fail.
//
// Two workers, 64 connections, each with a request in flight. Before each kill the connections of the worker with the most
// are counted (its sockets in /proc): each may lose one request, and no other may fail.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { addressFiles, openCurrent, readLines, releaseFolder } from "../lib/data.ts";
import { CONNECTIONS } from "../lib/load.ts";
import { processTree } from "../lib/proc.ts";
import { log, type Part, type Run } from "../lib/record.ts";
import { startInkling, TOKEN } from "../lib/server.ts";
import { sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const WORKERS = 2;
const EVERY_SECONDS = 4;
const REPLACED_MS = 10_000;
/** A worker that has just started does not listen yet. */
const SETTLE_MS = 2_000;
const ESTABLISHED = "01";

const workersOf = (primary: number): number[] => processTree(primary).slice(1);

/** How many connections of clients a process holds on a port. */
function connectionsOf(pid: number, port: number): number {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return ""; // closed meanwhile
      }
    }),
  );
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows.filter(
    ([, address, , state, , , , , , inode]) =>
      address?.endsWith(local) && state === ESTABLISHED && sockets.has(`socket:[${inode}]`),
  ).length;
}

async function measure(run: Run): Promise<void> {
  const { checkout } = run;
  const dataDir = releaseFolder(checkout);
  const server = await startInkling(run, { checkout, dataDir, workers: WORKERS });
  while (workersOf(server.pid).length < WORKERS) await Bun.sleep(50);
  await Bun.sleep(SETTLE_MS);
  const count = run.size(5, 2);
  let [mayFail, replaced] = [0, 0];
  const kill = async () => {
    const workers = workersOf(server.pid);
    const held = workers.map((pid) => ({ pid, connections: connectionsOf(pid, server.port) }));
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
    expected: { [openCurrent(dataDir).manifest.id]: [['"city":']] },
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
  const what = `kill -9 of a worker every ${EVERY_SECONDS} s`;
  run.row(
    what,
    "inkling",
    "answers, /s",
    seconds.map((second) => second.answered),
  );
}

export const killPart: Part = {
  name: "kill",
  title: "kill -9 of a worker under load",
  limitSeconds: 90,
  measure,
};
