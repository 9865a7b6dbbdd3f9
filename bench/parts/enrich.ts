// enrich.ts: measures `inkling enrich` over a file with one column.
//
// It measures from the start to the end of the process, on all cores. Rows are random IPv4 addresses. `enrich` adds the
// default fields, or only country and city. Memory is the peak of the largest process, including mapped files.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { addressFiles, inkling, readLines, releaseFolder } from "../lib/data.ts";
import { BARE_ENV, peakOf, processTree } from "../lib/proc.ts";
import type { Contestant, Run } from "../lib/record.ts";
import { temporaryFolder } from "../lib/server.ts";

const WHAT = "enrich, a column of random IPv4";
const SAMPLE_MS = 50;
const NEWLINE = 0x0a;

/** Runs a command over a file. @throws Error if it fails or does not write every row */
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
  const rows = run.size(3e6, 1e6);
  const [file, out] = [join(folder, "in.csv"), join(folder, "out.csv")];
  writeFileSync(
    file,
    Array.from({ length: rows }, (_, i) => `${addresses[i % addresses.length]}\n`).join(""),
  );
  const contestants: Contestant[] = [];
  const add = (who: string, command: readonly string[]) =>
    contestants.push({ what: WHAT, who, measure: () => enrich(command, rows, out) });
  for (const checkout of run.checkouts) {
    const { root, suffix } = checkout;
    const ours = inkling(root, "enrich", file, "--out", out, "--data-dir", releaseFolder(checkout));
    add(`inkling${suffix}`, ours);
    add(`inkling, country and city${suffix}`, [...ours, "--add", "country_iso_code,city_name"]);
  }
  await run.alternate(contestants, run.size(5, 2));
  run.note(`from start to end of the command, on ${cpus().length} cores: ${rows / 1e6} million rows`);
}
