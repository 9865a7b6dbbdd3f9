// batch.ts: NDJSON streams over HTTP: look-ups for each second of the server's CPU, and its memory while a stream goes on.
//
// run  npx bun bench/batch.ts [--quick]
//      npx bun bench/batch.ts --lines 10    (million lines in the stream whose memory is watched; 10)
// The server runs on one core, the client on the other; the limit is on, just high. CPU is the operating system's account.
// Memory is the server's own, no file's: that of a leak grows with the lines, so the second half of a stream is held
// against the first, whose beginning does not count: buffers and the collector find their sizes there.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressFiles, ROOT, readLines, releaseFolder } from "./lib/data.ts";
import type { NdjsonOrder, NdjsonResult } from "./lib/ndjson-client.ts";
import { IS_QUICK, numberAfter, sized } from "./lib/options.ts";
import { CLIENT_CORE, cpuMicroseconds, memoryOf, pinned } from "./lib/proc.ts";
import { alternate, emit, tell } from "./lib/record.ts";
import { openCurrent, whyRefused } from "./lib/release.ts";
import { AUTHORIZED, type Running, SERVER_CORE, startInkling, temporaryFolder } from "./lib/server.ts";
import { figure, told } from "./lib/stats.ts";
import { CHECKS } from "./lib/targets.ts";

const ROUNDS = sized(7, 2);
const SECONDS = sized(3, 1);
const MILLIONS = numberAfter("--lines", 10);
const VALUES = 1 << 18;
const WARM_UP_LINES = 2e6;
const SAMPLE_MS = 200;
/** The share of a stream that is its run-up. */
const RUN_UP = 0.1;
/** What the second half may take beyond the first, as garbage comes and goes; every line kept makes it 530 MB more. */
const MORE_MB = 200;
/** What a stream may take beyond the idle server. */
const STREAM_MB = 640;

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

const ownMegabytes = ({ pid }: Running): number => (memoryOf(pid)?.anonymous ?? 0) / 1e6;

/** The most memory in each half of a stream of so many lines, without its run-up. */
async function halves(running: Running, lines: number): Promise<{ first: number; second: number }> {
  const samples: number[] = [];
  const look = setInterval(() => samples.push(ownMegabytes(running)), SAMPLE_MS);
  await stream(running, { lines, seconds: 600 });
  clearInterval(look);
  const [from, middle] = [RUN_UP, 0.5].map((share) => Math.floor(samples.length * share));
  return { first: Math.max(...samples.slice(from, middle)), second: Math.max(...samples.slice(middle)) };
}

async function judgeMemory(running: Running, idle: number): Promise<void> {
  const { first, second } = await halves(running, MILLIONS * 1e6);
  const held = `${figure(second)} MB at most in the second half of a stream of ${MILLIONS} million lines, ${figure(first)} in the first, ${figure(idle)} before`;
  const isFlat = second <= first + MORE_MB && Math.max(first, second) <= idle + STREAM_MB;
  emit({ type: "check", what: CHECKS.batchMemory, isKept: isFlat, figure: held });
  tell(`memory that is no file's: ${held}`);
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
});
try {
  const idle = ownMegabytes(running);
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
  if (IS_QUICK) emit({ type: "note", text: "left out: memory during a long stream" });
  else await judgeMemory(running, idle);
} finally {
  await running.stop();
}
