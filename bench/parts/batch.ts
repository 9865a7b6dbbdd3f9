// batch.ts: measures NDJSON streams over HTTP: lookups per second of server CPU, and memory during a long stream.
//
// The server runs on one core and curl on the other. The rate limit is on, but high. The CPU time is what the operating
// system records. Memory is what the server allocated, without mapped files. A leak grows with the lines, so the second
// half of a stream is compared with the first. The first tenth is left out, because buffers and the heap reach their
// sizes during it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressFiles, openCurrent, readLines, releaseFolder, whyRefused } from "../lib/data.ts";
import { hasCommand } from "../lib/peers.ts";
import { CLIENT_CORE, cpuMicroseconds, memoryOf, output, pinned, SERVER_CORE } from "../lib/proc.ts";
import type { Run } from "../lib/record.ts";
import { type Running, startInkling, TOKEN, temporaryFolder } from "../lib/server.ts";
import { figure } from "../lib/stats.ts";
import { BATCH_MEMORY } from "../lib/targets.ts";

/** Lines in a file. A stream sends the file several times. */
const LINES = 1 << 18;
const DOMAINS = ["gmail.com", "mailinator.com", "company.de", "mail.uni.ac.uk"];
const GEO = "/v1/ip-intel/geolocate";
/** Number of times that a long stream sends the file: 10 million lines in total. */
const LONG = 38;
const SAMPLE_MS = 200;
const [MORE_MB, STREAM_MB] = [200, 640];

interface Stream {
  readonly path: string;
  readonly file: string;
  readonly times: number;
  readonly isGzip?: true;
}

/**
 * Sends a file several times and reads all answers.
 * @throws Error if the numbers of answers and lines differ, except for gzip
 */
async function send(server: Running, { path, file, times, isGzip }: Stream): Promise<void> {
  const url = `http://127.0.0.1:${server.port}${path}`;
  const headers = `-H 'Authorization: Bearer ${TOKEN}' -H 'Content-Type: application/x-ndjson' -H 'Expect:'`;
  const curl = `curl --silent --show-error --fail --request POST --upload-file - ${headers}`;
  const repeat = `for i in $(seq ${times}); do cat ${file}; done`;
  const gzip = isGzip ? "-H 'Accept-Encoding: gzip'" : "";
  const script = `set -o pipefail; (${repeat}) | ${curl} ${gzip} '${url}' | wc --lines`;
  const lines = Number(await output(pinned(CLIENT_CORE, ["bash", "-c", script])));
  if (lines !== times * LINES && !isGzip) throw new Error(`${lines} answers to ${times * LINES} lines`);
}

/** Compares the memory of the two halves of a long stream. */
async function judgeMemory(run: Run, server: Running, stream: Stream, idle: number): Promise<void> {
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(memoryOf(server.pid).anonymous), SAMPLE_MS);
  await send(server, { ...stream, times: LONG }).finally(() => clearInterval(timer));
  const [from, middle] = [0.1, 0.5].map((share) => Math.floor(samples.length * share));
  const [first, second] = [Math.max(...samples.slice(from, middle)), Math.max(...samples.slice(middle))];
  const isFlat = second <= first + MORE_MB && Math.max(first, second) <= idle + STREAM_MB;
  const lines = Math.round((LONG * LINES) / 1e6);
  const most = `${figure(second)} MB at most in the second half of a stream of ${lines} million lines`;
  run.check(BATCH_MEMORY, isFlat, `${most}, ${figure(first)} in the first, ${figure(idle)} before`);
}

/** Returns the streams, each of which takes a few seconds. */
function streams(run: Run): Record<string, Stream> {
  const folder = temporaryFolder(run);
  const addresses = readLines(addressFiles(LINES).v4);
  const write = (name: string, values: readonly string[]) => {
    const path = join(folder, `${name}.ndjson`);
    writeFileSync(path, `${values.map((value) => JSON.stringify(value)).join("\n")}\n`);
    return path;
  };
  const file = write("addresses", addresses);
  const geo: Stream = { path: GEO, file, times: run.size(16, 4) };
  if (run.isQuick) return { "batch, geolocate NDJSON": geo };
  const emails = addresses.map((_, i) => `jane.doe${i}@${DOMAINS[i % DOMAINS.length]}`);
  const refused = whyRefused(openCurrent(releaseFolder(run.checkout)).manifest, "reputation");
  if (refused !== undefined) run.note(`left out: batch, reputation NDJSON: ${refused}`);
  return {
    "batch, geolocate NDJSON": geo,
    "batch, geolocate NDJSON, answers as gzip": { ...geo, times: 4, isGzip: true },
    "batch, geolocate NDJSON, with evidence": { ...geo, path: `${GEO}?include=evidence`, times: 4 },
    ...(refused === undefined && { "batch, reputation NDJSON": { ...geo, path: "/v1/ip-intel/reputation" } }),
    "batch, email NDJSON": { ...geo, path: "/v1/user-intel/email", file: write("emails", emails) },
  };
}

export async function measureBatch(run: Run): Promise<void> {
  if (!hasCommand(run, "curl", "curl (the client)")) return;
  const all = streams(run);
  const contestants = [];
  for (const checkout of run.checkouts) {
    const server = await startInkling(run, checkout, { core: SERVER_CORE });
    const idle = memoryOf(server.pid).anonymous;
    for (const [what, stream] of Object.entries(all)) {
      const measure = async () => {
        const before = cpuMicroseconds(server.pid);
        await send(server, stream);
        const seconds = (cpuMicroseconds(server.pid) - before) / 1e6;
        return { "lookups per second of server CPU, /s": (stream.times * LINES) / seconds };
      };
      contestants.push({ what, who: `inkling${checkout.suffix}`, measure });
    }
    const [stream] = Object.values(all);
    await send(server, stream!); // reads the segment into memory and compiles hot code
    if (run.isQuick) run.note("left out: memory during a long stream");
    else if (run.hasPeers) await judgeMemory(run, server, stream!, idle);
  }
  await run.alternate(contestants, run.size(7, 2));
}
