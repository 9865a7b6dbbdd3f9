// growth.ts: geolocation with today's ranges, 4 and 10 times as many (lib/grow.ts): look-up, memory, build time, file size.
//
// run  npx bun bench/growth.ts [--most N]   (10; N below that leaves larger ones out)
// The same addresses for all sizes, rounds alternate. 10 times takes two minutes, 8 GB of memory and 3 GB of disk.

import { rmSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/release-store";
import { AskedProgram } from "./lib/asked.ts";
import { ADDRESS_COUNT, addressFiles, emptyFolder, ROOT } from "./lib/data.ts";
import type { MadeGeo } from "./lib/make-geo.ts";
import { numberAfter, sized } from "./lib/options.ts";
import { PEERS } from "./lib/peers.ts";
import { memoryOf } from "./lib/proc.ts";
import { emit, tell } from "./lib/record.ts";
import { figure, told } from "./lib/stats.ts";

const MOST = numberAfter("--most", 10);
const FACTORS = [1, 4, 10].filter((factor) => factor <= MOST);
const ROUNDS = sized(7, 2);
const BLOCK = 64;
/** What making a segment takes at most, for each time of today's ranges. */
const BYTES_FOR_EACH = 0.9e9;

const dataDir = emptyFolder("growth");
const addresses = addressFiles();
const programs: { what: string; family: "IPv4" | "IPv6"; program: AskedProgram; values: number[] }[] = [];

function row(what: string, who: string, measure: string, unit: string, values: number[]): void {
  emit({ type: "row", what, who, measure, unit, values });
  tell(`${what}: ${who}: ${measure} ${told(values)} ${unit}`);
}

async function makeSegment(factor: number): Promise<MadeGeo> {
  const command = [process.execPath, join(ROOT, "bench/lib/make-geo.ts"), dataDir, String(factor)];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0)
    throw new Error(`making ${factor} times the ranges ended with ${child.exitCode ?? child.signalCode}`);
  return JSON.parse(said);
}

try {
  for (const factor of FACTORS) {
    const what = `growth, ${factor}×`;
    if (freemem() < factor * BYTES_FOR_EACH) {
      emit({ type: "note", text: `${what}: left out, the machine has ${figure(freemem() / 1e9)} GB free` });
      continue;
    }
    tell(`making ${factor} times the ranges`);
    const made = await makeSegment(factor);
    row(what, "segment", "IPv4 ranges", "million", [made.ranges.v4 / 1e6]);
    row(what, "segment", "IPv6 ranges", "million", [made.ranges.v6 / 1e6]);
    row(what, "segment", "answers", "million", [made.answers / 1e6]);
    row(what, "segment", "build", "s", [made.seconds]);
    row(what, "segment", "peak memory of the build", "GB", [made.peakBytes / 1e9]);
    row(what, "segment", "file", "MB", [made.bytes / 1e6]);
    const path = join(dataDir, DATA_FOLDER.segmentFile(made.sha256));
    for (const [family, values] of [
      ["IPv4", addresses.v4],
      ["IPv6", addresses.v6],
    ] as const) {
      const command = [process.execPath, join(PEERS, "inkling.mjs"), "geo", path, values];
      programs.push({ what, family, program: await AskedProgram.start(command, ROOT), values: [] });
    }
  }
  for (let round = -1; round < ROUNDS; round++) {
    for (const { program, values } of programs) {
      const { mean } = await program.ask("answer", ADDRESS_COUNT, BLOCK);
      if (round >= 0) values.push(mean);
    }
  }
  for (const { what, family, program, values } of programs) {
    row(what, family, "time per look-up", "ns", values);
    const memory = memoryOf(program.pid);
    if (memory) row(what, family, "memory of one process after all look-ups", "MB", [memory.resident / 1e6]);
  }
} finally {
  for (const { program } of programs) await program.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
