// batch.ts: NDJSON streams over HTTP: look-ups for each second of the server's CPU, and its memory while a stream goes on.
//
// run  npx bun bench/batch.ts [--quick]
//      npx bun bench/batch.ts --lines 10    (million lines in the stream whose memory is watched; 10, with --quick 2)
// The server runs on one core, the client on the other; keys without a rate. CPU is the operating system's account.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressFiles, ROOT, readLines, releaseFolder } from "./lib/data.ts";
import type { NdjsonOrder, NdjsonResult } from "./lib/ndjson-client.ts";
import { IS_QUICK, numberAfter, sized } from "./lib/options.ts";
import { CLIENT_CORE, cpuMicroseconds, pinned } from "./lib/proc.ts";
import { alternate, emit, tell } from "./lib/record.ts";
import { openCurrent, whyRefused } from "./lib/release.ts";
import { AUTHORIZED, type Running, SERVER_CORE, startInkling, temporaryFolder } from "./lib/server.ts";
import { figure, told } from "./lib/stats.ts";
import { CHECKS } from "./lib/targets.ts";

const ROUNDS = sized(7, 2);
const SECONDS = sized(3, 1);
const MILLIONS = numberAfter("--lines", sized(10, 2));
const VALUES = 1 << 18;
const WARM_UP_LINES = 2e6;
const SAMPLE_MS = 200;
/** What the stream may take beyond what a short one took. */
const MORE_BYTES = 64 * 1024 * 1024;

const folder = temporaryFolder();
const addresses = readLines(addressFiles(VALUES).v4);
const DOMAINS = ["gmail.com", "mailinator.com", "company.de", "mail.uni.ac.uk"];
const GEO = "/v1/ip-intel/geolocate";

function file(name: string, values: readonly string[]): string {
  const path = join(folder, `${name}.ndjson`);
  writeFileSync(path, `${values.map((value) => JSON.stringify(value)).join("\n")}\n`);
  return path;
}

const addressFile = file("addresses", addresses);
const emailFile = file(
  "emails",
  addresses.map((_, i) => `jane.doe${i}@${DOMAINS[i % DOMAINS.length]}`),
);

async function stream(running: Running, order: Partial<NdjsonOrder>): Promise<NdjsonResult> {
  const whole: NdjsonOrder = {
    port: running.port,
    path: GEO,
    file: addressFile,
    seconds: SECONDS,
    ...order,
    headers: { ...AUTHORIZED, "Content-Type": "application/x-ndjson", ...order.headers },
  };
  const client = join(ROOT, "bench/lib/ndjson-client.ts");
  const command = pinned(CLIENT_CORE, [process.execPath, client, JSON.stringify(whole)]);
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0)
    throw new Error(`the client ended with ${child.exitCode ?? child.signalCode}`);
  return JSON.parse(said);
}

/** Look-ups for each second of the server's CPU. */
async function rate(running: Running, order: Partial<NdjsonOrder>): Promise<number> {
  const before = cpuMicroseconds(running.pid);
  const { lines } = await stream(running, order);
  return (lines * 1e6) / (cpuMicroseconds(running.pid) - before);
}

/** Memory that is no file's, in bytes. */
function ownMemory(pid: number): number {
  const kB = /^Anonymous:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
  return Number(kB) * 1024;
}

/** The most own memory during a stream of so many lines. */
async function mostMemory(running: Running, lines: number): Promise<number> {
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, ownMemory(running.pid));
  }, SAMPLE_MS);
  await stream(running, { lines, seconds: 600 });
  clearInterval(look);
  return most;
}

const dataDir = await releaseFolder();
const refused = whyRefused(openCurrent(dataDir).manifest, "reputation");
if (refused !== undefined) emit({ type: "note", text: `left out: batch, reputation NDJSON: ${refused}` });

const MAIN: Readonly<Record<string, Partial<NdjsonOrder>>> = { "batch, geolocate NDJSON": {} };
const OTHERS: typeof MAIN = {
  "batch, geolocate NDJSON, answers as gzip": { headers: { "Accept-Encoding": "gzip" } },
  "batch, geolocate NDJSON, with evidence": { path: `${GEO}?include=evidence` },
  ...(refused === undefined && { "batch, reputation NDJSON": { path: "/v1/ip-intel/reputation" } }),
  "batch, e-mail NDJSON": { path: "/v1/user-intel/email", file: emailFile },
};

const running = await startInkling({
  dataDir,
  core: SERVER_CORE,
  env: { INKLING_RATE: "0", INKLING_BURST: "1" },
});
try {
  await stream(running, { lines: WARM_UP_LINES, seconds: 30 }); // reads the segment into memory, compiles what is hot
  const measured = await alternate(
    ROUNDS,
    Object.fromEntries(
      Object.entries(IS_QUICK ? MAIN : { ...MAIN, ...OTHERS }).map(([what, order]) => [
        what,
        () => rate(running, order),
      ]),
    ),
  );
  for (const [what, values] of Object.entries(measured)) {
    emit({
      type: "row",
      what,
      who: "inkling",
      measure: "look-ups for each second of server CPU",
      unit: "/s",
      values,
    });
    tell(`${what}: ${told(values)} look-ups for each second of server CPU`);
  }
  const short = await mostMemory(running, 1e6);
  const long = await mostMemory(running, MILLIONS * 1e6);
  const told1 = `${figure(short / 1e6)} MB in a stream of 1 million lines, ${figure(long / 1e6)} MB in one of ${MILLIONS}`;
  emit({ type: "check", what: CHECKS.batchMemory, isKept: long <= short + MORE_BYTES, figure: told1 });
  tell(`memory that is no file's, at most: ${told1}`);
} finally {
  await running.stop();
}
