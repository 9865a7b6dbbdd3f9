// kill.ts: workers are killed under load: nobody loses more than what was under way on the worker that died.
//
// run  npx bun bench/kill.ts [--quick]
// Two workers; 64 connections, each with a request under way. Before each kill the connections of that worker are counted
// (its sockets in /proc): each may lose one request, and no other may fail. The worker with the most connections is chosen, and
// clients open a lost connection anew after 50 ms: at once, the system may hand it to the queue of the process that dies.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { requestText } from "./lib/client.ts";
import { addressFiles, readLines, releaseFolder } from "./lib/data.ts";
import { sized } from "./lib/options.ts";
import { processTree } from "./lib/proc.ts";
import { emit, tell } from "./lib/record.ts";
import { currentId } from "./lib/release.ts";
import { AUTHORIZED, startInkling } from "./lib/server.ts";
import { storm, sum } from "./lib/storm.ts";
import { CHECKS } from "./lib/targets.ts";
import { CONNECTIONS } from "./lib/wrk.ts";

const WORKERS = 2;
const KILLS = sized(5, 2);
const EVERY_SECONDS = 4;
const REPLACED_MS = 10_000;
/** A worker that was just started does not listen yet. */
const SETTLE_MS = 2_000;
const ESTABLISHED = "01";

/** The processes that answer. */
function workersOf(pid: number): number[] {
  return processTree(pid).filter((one) => commandOf(one).includes("worker-main"));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // it ended
  }
}

/** How many connections of clients a process holds on a port. */
function connectionsOf(pid: number, port: number): number {
  const folder = `/proc/${pid}/fd`;
  const sockets = new Set(
    readdirSync(folder).map((name) => /^socket:\[(\d+)\]$/.exec(link(join(folder, name)))?.[1]),
  );
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, address, , state, , , , , , inode]) =>
        address?.endsWith(local) && state === ESTABLISHED && sockets.has(inode),
    ).length;
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed between two questions
  }
}

const dataDir = await releaseFolder();
const id = currentId(dataDir);
const server = await startInkling({ dataDir, workers: WORKERS });
try {
  for (let i = 0; workersOf(server.pid).length < WORKERS && i < 200; i++) await Bun.sleep(50);
  await Bun.sleep(SETTLE_MS);
  const requests = readLines(addressFiles(1 << 17).v4)
    .slice(0, 5_000)
    .map((address) => requestText(`/v1/ip-intel/geolocate/${address}`, AUTHORIZED));
  const order = {
    port: server.port,
    seconds: (KILLS + 1) * EVERY_SECONDS,
    connections: CONNECTIONS,
    requests,
    expected: { [id]: [['"city":']] },
  };
  let mayFail = 0;
  let replaced = 0;
  const kills: Promise<void>[] = [];
  const kill = async () => {
    const held = workersOf(server.pid).map((pid) => ({ pid, connections: connectionsOf(pid, server.port) }));
    const most = held.sort((a, b) => b.connections - a.connections)[0];
    if (most === undefined) return;
    const victim = most.pid;
    mayFail += most.connections;
    process.kill(victim, "SIGKILL");
    for (const from = performance.now(); performance.now() - from < REPLACED_MS; await Bun.sleep(50)) {
      const now = workersOf(server.pid);
      if (now.length === WORKERS && !now.includes(victim)) {
        replaced++;
        return;
      }
    }
  };
  const seconds = await storm(order, ({ second, answered, failed }) => {
    tell(`${second + 1} s: ${answered} answers, ${failed} failed`);
    if (second % EVERY_SECONDS === EVERY_SECONDS - 1 && kills.length < KILLS) kills.push(kill());
  });
  await Promise.all(kills);
  const failed = sum(seconds.map((second) => second.failed));
  const wrong = sum(seconds.map((second) => second.mixed));
  const answered = sum(seconds.map((second) => second.answered));
  emit({
    type: "check",
    what: CHECKS.kill,
    isKept: failed <= mayFail && wrong === 0 && kills.length === KILLS && mayFail > 0,
    figure: `${failed} of ${answered.toLocaleString("en-US")} requests failed in ${KILLS} kills; ${mayFail} connections were on the workers that died`,
  });
  emit({
    type: "check",
    what: CHECKS.killReplaced,
    isKept: replaced === KILLS,
    figure: `${replaced} of ${KILLS}`,
  });
  emit({
    type: "row",
    what: "kill -9 of a worker every 4 s",
    who: "inkling",
    measure: "answers",
    unit: "/s",
    values: seconds.map((second) => second.answered),
  });
} finally {
  await server.stop();
}
