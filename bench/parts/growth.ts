// growth.ts: measures geolocation with today's ranges, and with 4 and 10 times as many (lib/grow.ts): lookup time,
// memory, build time and file size.
//
// All sizes use the same addresses. A factor of 10 takes two minutes, 8 GB of memory and 3 GB of disk.

import { freemem } from "node:os";
import { join } from "node:path";
import { ADDRESS_COUNT, addressFiles, emptyFolder, ROOT, removeFolder } from "../lib/data.ts";
import type { MadeGeo } from "../lib/make-geo.ts";
import { PEERS } from "../lib/peers.ts";
import { memoryOf, output } from "../lib/proc.ts";
import { type Program, READER_ENV, startProgram } from "../lib/program.ts";
import { type Contestant, log, type Run } from "../lib/record.ts";
import { figure } from "../lib/stats.ts";

const FACTORS = [1, 4, 10];
const BLOCK = 64;
/** Maximum bytes of memory for building a segment, per unit of the factor. */
const BYTES_PER_FACTOR = 0.9e9;

export async function measureGrowth(run: Run): Promise<void> {
  const folder = emptyFolder("growth");
  run.defer(() => removeFolder("growth"));
  const { v4, v6 } = addressFiles();
  const programs: (Contestant & { readonly program: Program })[] = [];
  for (const factor of FACTORS.slice(0, run.size(3, 2))) {
    const what = `growth, ${factor}×`;
    if (freemem() < factor * BYTES_PER_FACTOR) {
      run.note(`${what}: left out, the machine has ${figure(freemem() / 1e9)} GB free`);
      continue;
    }
    log(`making ${factor} times the ranges`);
    const file = join(folder, `${factor}.seg`);
    const script = join(ROOT, "bench/lib/make-geo.ts");
    const command = [process.execPath, "--no-install", script, file, String(factor)];
    const made: MadeGeo = JSON.parse(await output(command));
    run.row(what, "segment", "IPv4 ranges, million", [made.ranges.v4 / 1e6]);
    run.row(what, "segment", "IPv6 ranges, million", [made.ranges.v6 / 1e6]);
    run.row(what, "segment", "answers, million", [made.answers / 1e6]);
    run.row(what, "segment", "build, s", [made.seconds]);
    run.row(what, "segment", "peak memory of the build, GB", [made.peakMegabytes / 1000]);
    run.row(what, "segment", "file, MB", [made.bytes / 1e6]);
    for (const [who, values] of Object.entries({ IPv4: v4, IPv6: v6 })) {
      const reader = [process.execPath, join(PEERS, "reader.mjs"), "geo", file, values];
      const engine = join(ROOT, "packages/engine/src/index.ts");
      const program = await startProgram(run, [...reader, engine], READER_ENV);
      const mean = async () => (await program.lookUp("answer", ADDRESS_COUNT, BLOCK)).mean;
      programs.push({ what, who, program, measure: async () => ({ "time per lookup, ns": await mean() }) });
    }
  }
  await run.alternate(programs, run.size(7, 2));
  for (const { what, who, program } of programs)
    run.row(what, who, "memory of one process after all lookups, MB", [memoryOf(program.pid).resident]);
}
