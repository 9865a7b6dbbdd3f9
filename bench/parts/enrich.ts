// enrich.ts: `inkling enrich` over a file of one column, beside npm `maxmind` in a script and mmdblookup in a loop.
//
// From start to end of the process, on all cores. Rows are random IPv4 addresses. Ours adds its default members, or country
// and city alone as the peers do; the peers get fewer rows, for which they take as long. Memory is that of the process
// with the most, mapped files included.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { addressFiles, databaseFiles, inkling, readLines, releaseFolder } from "../lib/data.ts";
import { hasCommand, hasNpmPeers, PEERS } from "../lib/peers.ts";
import { BARE_ENV, peakOf, processTree } from "../lib/proc.ts";
import type { Contestant, Run } from "../lib/record.ts";
import { temporaryFolder } from "../lib/server.ts";

const WHAT = "enrich, a column of random IPv4";
const SAMPLE_MS = 50;
const NEWLINE = 0x0a;

/** Runs a command over a file. @throws Error when it fails, or did not write every row */
async function enrich(
  command: readonly string[],
  rows: number,
  out: string,
): Promise<Record<string, number>> {
  const started = performance.now();
  const child = Bun.spawn([...command], { env: BARE_ENV, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  let peak = 0;
  const look = () => processTree(child.pid).map((pid) => (peak = Math.max(peak, peakOf(pid))));
  const timer = setInterval(look, SAMPLE_MS);
  const errors = await child.stderr.text();
  await child.exited;
  clearInterval(timer);
  const seconds = (performance.now() - started) / 1000;
  if (child.exitCode !== 0)
    throw new Error(`${command[0]} ended with ${child.exitCode}: ${errors.slice(0, 500)}`);
  let written = 0;
  for (const byte of readFileSync(out)) if (byte === NEWLINE) written++;
  if (written !== rows) throw new Error(`${command[0]} wrote ${written} rows of ${rows}`);
  return { "rows a second, /s": rows / seconds, "memory, mapped files included, GB": peak / 1000 };
}

export async function measureEnrich(run: Run): Promise<void> {
  const folder = temporaryFolder(run);
  const addresses = readLines(addressFiles().v4);
  const write = (rows: number) => {
    const path = join(folder, `${rows}.csv`);
    writeFileSync(
      path,
      Array.from({ length: rows }, (_, i) => `${addresses[i % addresses.length]}\n`).join(""),
    );
    return path;
  };
  const [many, some, few] = [run.size(3e6, 1e6), run.size(300_000, 50_000), run.size(500, 100)];
  const out = join(folder, "out.csv");
  const contestants: Contestant[] = [];
  const add = (who: string, rows: number, command: readonly string[]) =>
    contestants.push({ what: WHAT, who, measure: () => enrich(command, rows, out) });
  const file = write(many);
  for (const checkout of run.checkouts) {
    const { root, suffix } = checkout;
    const ours = inkling(root, "enrich", file, "--out", out, "--data-dir", releaseFolder(checkout));
    add(`inkling${suffix}`, many, ours);
    add(`inkling, country and city${suffix}`, many, [...ours, "--add", "country_iso_code,city_name"]);
  }
  const { v4 } = databaseFiles();
  if (run.hasPeers && hasNpmPeers(run)) {
    const script = ["node", join(PEERS, "enrich-maxmind.mjs"), v4, write(some), out];
    add("npm maxmind in a script, country and city", some, script);
  }
  if (run.hasPeers && hasCommand(run, "mmdblookup", "mmdblookup in a loop")) {
    const lookup = `mmdblookup --file ${v4} --ip "$ip" country iso_code | cut -d '"' -s -f 2`;
    const loop = `while read ip; do echo "$ip,$(${lookup})"; done < ${write(few)} > ${out}`;
    add("mmdblookup in a loop, country", few, ["bash", "-c", loop]);
  }
  await run.alternate(contestants, run.size(5, 2));
  run.note(
    `from start to end of the command, on ${cpus().length} cores: ${many / 1e6} million rows for inkling, ` +
      `${some.toLocaleString("en-US")} for the script, ${few} for the loop`,
  );
}
