// enrich.ts: `inkling enrich` over a file of one column, beside what users have: npm `maxmind` in a script, and
// mmdblookup in a loop.
//
// run  npx bun bench/enrich.ts [--quick]
// From start to end of the process, on all cores. Rows are random IPv4 addresses. Ours adds its default members, or
// country and city alone, as the peers do; they get fewer rows, for they take as long for those.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { addressFiles, databaseFiles, ROOT, readLines, releaseFolder } from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { findNode, npmPeers, PEERS } from "./lib/peers.ts";
import { alternate, emit, tell } from "./lib/record.ts";
import { temporaryFolder } from "./lib/server.ts";
import { told } from "./lib/stats.ts";

const ROUNDS = sized(5, 2);
const MILLIONS = sized(3, 1);
const SCRIPT_ROWS = sized(300_000, 50_000);
const LOOP_ROWS = sized(500, 100);
const WHAT = "enrich, a column of random IPv4";
const RATE = "rows a second";

const folder = temporaryFolder();
const dataDir = await releaseFolder();
const addresses = readLines(addressFiles().v4);

function file(name: string, rows: number): string {
  const path = join(folder, `${name}.csv`);
  writeFileSync(path, "");
  for (let left = rows; left > 0; left -= addresses.length) {
    appendFileSync(path, `${addresses.slice(0, left).join("\n")}\n`);
  }
  return path;
}

/** The most memory of each command's last run, in bytes. */
const memory = new Map<string, number>();

/** @returns rows a second @throws Error when it fails, or did not write every row */
async function pace(who: string, rows: number, command: readonly string[], out: string): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([...command], { cwd: ROOT, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  await child.exited;
  const seconds = (performance.now() - started) / 1000;
  if (child.exitCode !== 0) throw new Error(`${who} ended with ${child.exitCode}: ${said.slice(0, 500)}`);
  const written = readFileSync(out).reduce((lines, byte) => lines + (byte === 0x0a ? 1 : 0), 0);
  if (written !== rows) throw new Error(`${who} wrote ${written} rows of ${rows}`);
  memory.set(who, child.resourceUsage()!.maxRSS);
  return rows / seconds;
}

const out = join(folder, "out.csv");
const many = file("many", MILLIONS * 1e6);
const some = file("some", SCRIPT_ROWS);
const few = file("few", LOOP_ROWS);
const main = join(ROOT, "packages/cli/src/main.ts");
const ours = (...more: string[]) => {
  const command = [process.execPath, "--no-install", main, "enrich", many, "--out", out];
  return [...command, "--data-dir", dataDir, ...more];
};
const { v4 } = databaseFiles();
const loop = `while read ip; do echo "$ip,$(mmdblookup --file ${v4} --ip "$ip" country iso_code | cut -d '"' -s -f 2)"; done < ${few} > ${out}`;

const node = findNode();
const mayAsk = {
  script: node !== undefined && (await npmPeers()),
  loop: Bun.which("mmdblookup") !== null,
};
if (!mayAsk.loop) {
  emit({
    type: "missing",
    who: "mmdblookup in a loop",
    why: "it is not installed",
    install: "apt-get install -y mmdb-bin",
  });
}
const script = [node ?? "", join(PEERS, "enrich-maxmind.mjs"), v4, some, out];

const measured = await alternate(ROUNDS, {
  inkling: () => pace("inkling", MILLIONS * 1e6, ours(), out),
  "inkling, country and city": () =>
    pace("inkling, country and city", MILLIONS * 1e6, ours("--add", "country_iso_code,city_name"), out),
  ...(mayAsk.script && {
    "npm maxmind in a script, country and city": () =>
      pace("npm maxmind in a script, country and city", SCRIPT_ROWS, script, out),
  }),
  ...(mayAsk.loop && {
    "mmdblookup in a loop, country": () =>
      pace("mmdblookup in a loop, country", LOOP_ROWS, ["bash", "-c", loop], out),
  }),
});
for (const [who, values] of Object.entries(measured)) {
  emit({ type: "row", what: WHAT, who, measure: RATE, unit: "/s", values });
  tell(`${who}: ${told(values)} rows/s`);
  if (who.startsWith("mmdblookup")) continue; // a process for each row
  emit({
    type: "row",
    what: WHAT,
    who,
    measure: "memory, mapped files included",
    unit: "GB",
    values: [memory.get(who)! / 1e9],
  });
}
emit({
  type: "note",
  text: `from start to end of the process, on ${cpus().length} cores: ${MILLIONS} million rows for inkling, ${SCRIPT_ROWS} for the script, ${LOOP_ROWS} for the loop${IS_QUICK ? " (quick)" : ""}`,
});
