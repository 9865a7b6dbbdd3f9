// main.ts: `npm run bench`: every part of the suite, one after the other, and the report made of all of them.
//
// in   names of parts (all by default), --quick, --minutes N, --report, --help
// out  bench/RESULTS.md and bench/plots/*.svg; with --quick both go beside the cached data, and RESULTS.md stays
// exit 1 when a part failed; what it said until then is kept and told as not whole
//
// Results of each part are kept as JSON with their commit and time until the part is run again, so a run that was
// stopped goes on where it was, and one part can be run anew.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linesOf } from "./lib/asked.ts";
import { CACHE, cacheFolder, ROOT, releaseFolder } from "./lib/data.ts";
import { commitLine, machineLine } from "./lib/machine.ts";
import { numberAfter } from "./lib/options.ts";
import { PARTS, type Part } from "./lib/parts.ts";
import { bringNpmPeers } from "./lib/peers.ts";
import { PLOTS } from "./lib/plots.ts";
import { type Line, line, type PartResult, partResult, tell } from "./lib/record.ts";
import { openCurrent, sourcesLine } from "./lib/release.ts";
import { renderReport } from "./lib/report.ts";
import { figure } from "./lib/stats.ts";
import { TARGETS } from "./lib/targets.ts";
import { LIMITS } from "./limits.ts";

/** Of the whole command with --quick, what it installs and builds included; the rest of the minute is for estimates. */
const QUICK_SECONDS = 56;
/** When the command began: scripts/bench.mjs may have installed packages first. */
const STARTED = Number(process.env.BENCH_STARTED ?? Date.now());
/** A part that was asked to end has this long before it is killed. */
const GRACE_MS = 5_000;

function help(): string {
  const width = Math.max(...PARTS.map(({ name }) => name.length)) + 2;
  const parts = PARTS.map(({ name, title }) => `  ${name.padEnd(width)}${title}`);
  return `npm run bench                  all parts, about 20 minutes, then bench/RESULTS.md and bench/plots
npm run bench -- PART ...      these parts alone; the report has the newest results of all
npm run bench -- --quick       smaller rounds, a minute; the report goes beside the cached data
npm run bench -- --minutes N   length of the swap storm (5)
npm run bench -- --report      no measuring: the report from the results that are kept
npm run bench -- --help        this

parts:
${parts.join("\n")}

Peers from Debian: apt-get install nginx libnginx-mod-http-geoip2 libmaxminddb-dev mmdb-bin wrk gcc
Peers from npm are installed into bench/node_modules when they are missing.
Data and results are kept in ${CACHE.startsWith(ROOT) ? CACHE.slice(ROOT.length + 1) : CACHE}; INKLING_BENCH_CACHE names another folder.
`;
}

interface Options {
  readonly parts: readonly Part[];
  readonly isQuick: boolean;
  readonly isReportOnly: boolean;
}

/** @throws Error naming what is no option and no part */
function readOptions(args: readonly string[]): Options {
  const minutesAt = args.indexOf("--minutes");
  if (minutesAt >= 0) numberAfter("--minutes", 5);
  const rest = args.filter((_, i) => minutesAt < 0 || (i !== minutesAt && i !== minutesAt + 1));
  const names = rest.filter((arg) => !arg.startsWith("--"));
  const unknown = [
    ...rest.filter((arg) => arg.startsWith("--") && !["--quick", "--report"].includes(arg)),
    ...names.filter((name) => !PARTS.some((part) => part.name === name)),
  ];
  if (unknown.length > 0) throw new Error(`${unknown.join(", ")}: no such part or option`);
  const parts = names.length === 0 ? PARTS : PARTS.filter(({ name }) => names.includes(name));
  return { parts, isQuick: rest.includes("--quick"), isReportOnly: rest.includes("--report") };
}

const resultsFolder = (isQuick: boolean) => cacheFolder(isQuick ? "results-quick" : "results");

function keep(result: PartResult): void {
  writeFileSync(
    join(resultsFolder(result.isQuick), `${result.part}.json`),
    `${JSON.stringify(result, null, 1)}\n`,
  );
}

function keptResults(isQuick: boolean): PartResult[] {
  return PARTS.flatMap(({ name }) => {
    const path = join(resultsFolder(isQuick), `${name}.json`);
    return existsSync(path) ? [partResult.parse(JSON.parse(readFileSync(path, "utf8")))] : [];
  });
}

let stopPart: (() => void) | undefined;

/** Runs one part's script to its end, or to its limit. */
async function run(part: Part, isQuick: boolean, args: readonly string[]): Promise<PartResult> {
  const started = performance.now();
  const at = new Date().toISOString();
  const script = join(ROOT, "bench", part.script);
  const child = Bun.spawn([process.execPath, "--no-install", script, ...args], {
    cwd: ROOT,
    env: { ...process.env, INKLING_BENCH_READY: "1" },
    stdout: "pipe",
    stderr: "inherit",
    detached: true, // a group of its own: what it started ends with it
  });
  const end = (signal: "SIGTERM" | "SIGKILL") => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // it ended by itself
    }
  };
  let isLate = false;
  stopPart = () => {
    end("SIGTERM");
    setTimeout(() => end("SIGKILL"), GRACE_MS).unref();
  };
  const timer = setTimeout(() => {
    isLate = true;
    stopPart?.();
  }, part.limitSeconds * 1000);
  const lines: Line[] = [];
  const stray: string[] = [];
  for await (const text of linesOf(child.stdout)) {
    const said = readLine(text);
    if (said === undefined) stray.push(text);
    else lines.push(said);
  }
  const status = await child.exited;
  clearTimeout(timer);
  end("SIGKILL");
  stopPart = undefined;
  const failed = isLate
    ? `it took longer than ${part.limitSeconds} s`
    : status !== 0
      ? `it ended with ${child.signalCode ?? status}`
      : stray.length > 0
        ? `it said what is no result: ${stray[0]!.slice(0, 100)}`
        : undefined;
  return {
    part: part.name,
    commit: commitLine(),
    at,
    seconds: (performance.now() - started) / 1000,
    isQuick,
    command: `npm run bench -- ${[part.name, ...args].join(" ")}`,
    machine: machineLine(),
    data: sourcesLine(openCurrent(cacheFolder("release")).manifest),
    ...(failed !== undefined && { failed }),
    lines,
  };
}

function readLine(text: string): Line | undefined {
  try {
    return line.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function writeReport(isQuick: boolean): string {
  const folder = isQuick ? cacheFolder("report-quick") : join(ROOT, "bench");
  const results = keptResults(isQuick);
  const { markdown, plots } = renderReport({
    parts: PARTS,
    results,
    targets: TARGETS,
    plots: PLOTS,
    limits: LIMITS,
  });
  rmSync(join(folder, "plots"), { recursive: true, force: true });
  mkdirSync(join(folder, "plots"), { recursive: true });
  for (const [name, svg] of plots) writeFileSync(join(folder, "plots", `${name}.svg`), svg);
  writeFileSync(join(folder, "RESULTS.md"), markdown);
  return join(folder, "RESULTS.md");
}

/** Runs what was asked for. @returns parts that failed, and with --quick those that there was no time for */
async function runParts({ parts, isQuick }: Options): Promise<{ failed: string[]; left: string[] }> {
  const failed: string[] = [];
  const left: string[] = [];
  const args = process.argv.slice(2).filter((arg) => !PARTS.some(({ name }) => name === arg));
  for (const part of parts) {
    const seconds = (Date.now() - STARTED) / 1000;
    if (isQuick && (part.quickSeconds === undefined || seconds + part.quickSeconds > QUICK_SECONDS)) {
      left.push(part.name);
      continue;
    }
    tell(`\n== ${part.name}: ${part.title}`);
    const result = await run(part, isQuick, args);
    keep(result);
    tell(
      `== ${part.name}: ${figure(result.seconds)} s${result.failed === undefined ? "" : `, FAILED: ${result.failed}`}`,
    );
    if (result.failed !== undefined) failed.push(part.name);
  }
  return { failed, left };
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    process.stdout.write(help());
    return 0;
  }
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    tell(`npm run bench: ${(error as Error).message}\nhint: npm run bench -- --help`);
    return 2;
  }
  let outcome = { failed: [] as string[], left: [] as string[] };
  if (!options.isReportOnly) {
    const bringing = options.parts.some(({ hasNpmPeers }) => hasNpmPeers) ? bringNpmPeers() : undefined;
    await Promise.all([releaseFolder(), bringing]);
    outcome = await runParts(options);
  }
  tell(`\nthe report: ${writeReport(options.isQuick)}`);
  if (options.isQuick) tell("smaller rounds, fewer variants; such figures are a first look");
  if (outcome.left.length > 0) tell(`left out for want of time: ${outcome.left.join(", ")}`);
  if (outcome.failed.length > 0) tell(`failed: ${outcome.failed.join(", ")}`);
  return outcome.failed.length > 0 ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopPart?.();
    setTimeout(() => process.exit(130), GRACE_MS + 500);
  });
}
process.exitCode = await main();
