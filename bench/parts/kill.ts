// kill.ts: workers are killed under load; at most the requests in flight on the killed worker fail.
//
// Two workers, 64 connections, each with a request in flight. Before each kill the connections of the worker with the most
// are counted (by ss): each may lose one request, and no other may fail.

import { addressFiles, openCurrent, readLines, releaseFolder } from "../lib/data.ts";
import { CONNECTIONS } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { output } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { startInkling, TOKEN } from "../lib/server.ts";
import { sum } from "../lib/stats.ts";
import { storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const WORKERS = 2;
const EVERY_SECONDS = 4;
const REPLACED_MS = 10_000;

/** The process of each socket that listens on a port or has a connection there. */
async function ownersOf(port: number, state: "listening" | "established"): Promise<number[]> {
  const command = ["ss", "--no-header", "--tcp", "--numeric", "--processes", "state", state];
  const lines = await output([...command, "sport", "=", `:${port}`]);
  return [...lines.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid));
}

/** Waits until so many workers listen, `without` aside. @returns whether they do */
async function listen(port: number, without?: number): Promise<boolean> {
  for (const from = performance.now(); performance.now() - from < REPLACED_MS; await Bun.sleep(50)) {
    const workers = new Set(await ownersOf(port, "listening"));
    if (workers.size >= WORKERS && !workers.has(without ?? 0)) return true;
  }
  return false;
}

export async function measureKill(run: Run): Promise<void> {
  if (!hasCommand(run, "ss", "ss (counts connections)")) return;
  const { port } = await startInkling(run, run.checkout, { workers: WORKERS });
  await listen(port);
  const count = run.size(5, 2);
  let [mayFail, replaced] = [0, 0];
  const kill = async () => {
    const owners = await ownersOf(port, "established");
    const connectionsOf = (pid: number) => owners.filter((owner) => owner === pid).length;
    const workers = await ownersOf(port, "listening");
    const victim = workers.reduce((a, b) => (connectionsOf(b) > connectionsOf(a) ? b : a));
    mayFail += connectionsOf(victim);
    process.kill(victim, "SIGKILL");
    if (await listen(port, victim)) replaced++;
  };
  const paths = readLines(addressFiles(1 << 17).v4).slice(0, 5_000);
  const order = {
    ports: [port],
    seconds: (count + 1) * EVERY_SECONDS,
    connections: CONNECTIONS,
    paths: paths.map((address) => `/v1/ip-intel/geolocate/${address}`),
    token: TOKEN,
    expected: { [openCurrent(releaseFolder(run.checkout)).manifest.id]: [['"city":']] },
  };
  const kills: Promise<void>[] = [];
  const seconds = await storm(run, order, ({ second, answers, failed }) => {
    log(`${second + 1} s: ${answers} answers, ${failed} failed`);
    if (second % EVERY_SECONDS !== EVERY_SECONDS - 1 || kills.length === count) return;
    kills.push((kills.at(-1) ?? Promise.resolve()).then(kill)); // one worker always listens
  });
  await Promise.all(kills);
  const total = (key: "failed" | "mixed" | "answers") => sum(seconds.map((second) => second[key]));
  const [failed, answers] = [total("failed"), total("answers").toLocaleString("en-US")];
  run.check(
    CHECKS.kill,
    failed <= mayFail && total("mixed") === 0 && kills.length === count && mayFail > 0,
    `${failed} of ${answers} requests failed in ${count} kills; ${mayFail} connections were on the killed workers`,
  );
  run.check(CHECKS.killReplaced, replaced === count, `${replaced} of ${count}`);
  const rates = seconds.map((second) => second.answers);
  run.row(`kill -9 of a worker every ${EVERY_SECONDS} s`, "inkling", "answers, /s", rates);
}
