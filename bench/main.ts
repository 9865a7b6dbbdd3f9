// main.ts: `npm run bench` runs the parts of the suite, one after the other, and writes a report on all of them.
//
// exit 1 if a part failed, in which case its figures so far are kept and marked as incomplete; 2 for a wrong command
//      line
//
// Each part's results are kept as JSON, with commit and time, until the part runs again.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import * as data from "./lib/data.ts";
import { APT, BENCH, installPackages } from "./lib/peers.ts";
import { drawPlots, type Plot } from "./lib/plots.ts";
import { log, type Options, type Part, type PartResult, Run } from "./lib/record.ts";
import { comparison, renderReport } from "./lib/report.ts";
import { figure } from "./lib/stats.ts";
import { TARGETS } from "./lib/targets.ts";
import { COMPARABLE, PARTS } from "./parts/index.ts";

/** Seconds for the whole command with --quick, including installation and build. */
const QUICK_SECONDS = 56;
/** When the command began. scripts/tool.mjs may have installed packages first. */
const STARTED = Number(process.env.BENCH_STARTED ?? Date.now());
const OTHER = " (other)";
const { ROOT } = data;

function help(): string {
  const line = (part: Part) =>
    `  ${part.name.padEnd(13)}${part.title}${COMPARABLE.includes(part) ? " *" : ""}${part.pressureSeconds === undefined ? "" : " +"}`;
  return `npm run bench                          all parts, about 20 minutes, then bench/RESULTS.md and bench/plots
npm run bench -- PART ...              only these parts; the report keeps the newest results of the others
npm run bench -- --quick               smaller rounds, a minute; the report goes beside the cached data
npm run bench -- --against DIR [PART]  parts marked * in turn with the checkout in DIR: ratios, no report
npm run bench -- --pressure            parts marked + also beside neighbours that use the caches, 10 minutes more
npm run bench -- soak --hours N        full load with changes for N hours (1): failures, counts, memory, descriptors
npm run bench -- truth                 how right the answers are, by samples: bench/TRUTH.md and docs/accuracy.md
                                       INKLING_SAMPLES=DIR keeps samples, INKLING_PEERS=NAME=FILE.mmdb,NAME=FILE.txt
                                       also scores other databases and lists
npm run bench -- --report              only the report, from the results of earlier runs
npm run bench -- --help, --list        print this help

parts:
${PARTS.map(line).join("\n")}

Peers from Debian: ${APT}
The command installs Vega, which draws the plots, into bench/node_modules if it is missing.
Results are kept in bench/results, data in ${data.CACHE.replace(`${ROOT}/`, "")}; INKLING_BENCH_CACHE sets another folder.
`;
}

interface Command extends Options {
  readonly parts: readonly Part[];
  /** Whether parts were named, in which case --quick leaves none of them out. */
  readonly areNamed: boolean;
  readonly isReportOnly: boolean;
}

const OPTIONS = {
  quick: { type: "boolean", default: false },
  report: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
  pressure: { type: "boolean", default: false },
  against: { type: "string" },
  hours: { type: "string" },
} as const;

/** @returns undefined for --help @throws Error that shows the mistake */
function readCommand(args: string[]): Command | undefined {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
  if (values.help || values.list) return undefined;
  const other = values.against === undefined ? undefined : { root: resolve(values.against), suffix: OTHER };
  if (other && !existsSync(data.inkling(other.root)[1]!))
    throw new Error(`${other.root} is not a checkout of Inkling`);
  const possible = other ? COMPARABLE : PARTS;
  const unknown = positionals.filter((name) => !possible.some((part) => part.name === name));
  if (unknown.length > 0) throw new Error(`${unknown.join(", ")}: no such part`);
  const isAll = positionals.length === 0;
  const parts = possible.filter(({ name, onlyIfNamed }) =>
    isAll ? onlyIfNamed !== true : positionals.includes(name),
  );
  const hours = Number(values.hours ?? (values.quick ? 0 : 1));
  if (!(hours >= 0)) throw new Error(`--hours: ${values.hours} is not a number of hours`);
  const hasPressure = values.pressure;
  if (hasPressure && parts.every(({ pressureSeconds }) => pressureSeconds === undefined))
    throw new Error(`--pressure: ${positionals.join(", ")} is not measured beside neighbours`);
  const areNamed = positionals.length > 0;
  const isReportOnly = values.report;
  return { isQuick: values.quick, hasPressure, hours, other, parts, areNamed, isReportOnly };
}

/** Measures one part until its end or its time limit. */
async function runPart(part: Part, run: Run): Promise<PartResult> {
  log(`\n== ${part.name}: ${part.title}`);
  const started = Date.now();
  const pressure = run.hasPressure ? (part.pressureSeconds ?? 0) : 0;
  const limit = (part.limitSeconds + pressure) * run.checkouts.length;
  const late = Bun.sleep(limit * 1000).then(() => `longer than ${limit} s`);
  const measured = part.measure(run).then(
    () => undefined,
    (error: Error) => error.message,
  );
  const failed = await Promise.race([measured, late]);
  await run.end();
  const seconds = (Date.now() - started) / 1000;
  log(`== ${part.name}: ${figure(seconds)} s${failed === undefined ? "" : `, FAILED: ${failed}`}`);
  return {
    part: part.name,
    commit: commitLine(),
    at: `${new Date(started).toISOString().slice(0, 19)}Z`,
    seconds,
    command: `npm run bench -- ${part.name}${pressure > 0 ? " --pressure" : ""}`,
    machine: machineLine(),
    data: data.sourcesLine(data.openCurrent(data.releaseFolder(run.checkout)).manifest),
    ...(failed !== undefined && { failed }),
    lines: run.lines,
  };
}

function machineLine(): string {
  const system =
    /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown system";
  const memory = `${Math.round(totalmem() / 1e9)} GB`;
  return `${cpus().length} cores (${cpus()[0]?.model}), ${memory}, Linux ${release()}, ${system}; Bun ${Bun.version}`;
}

/** Returns the commit, with a note if there are uncommitted changes. */
function commitLine(): string {
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-C", ROOT, "-c", "safe.directory=*", ...args])
      .stdout.toString()
      .trim();
  const changes = git(
    "status",
    "--porcelain",
    "--",
    "packages",
    "bench",
    ":!*.md",
    ":!bench/plots",
    ":!bench/results",
  );
  return `${git("rev-parse", "--short", "HEAD") || "no commit"}${changes === "" ? "" : " with changes"}`;
}

/**
 * Returns the file of a part's results. Results of full rounds are part of the repository, so running one part in any
 * clone keeps the results of the other parts.
 */
const resultFile = ({ name }: Part, isQuick: boolean) =>
  join(isQuick ? data.cacheFolder("results-quick") : join(BENCH, "results"), `${name}.json`);

/** Formats a result as JSON with one recorded line per text line. */
function formatResult({ lines, ...rest }: PartResult): string {
  const about = JSON.stringify(rest).slice(1, -1);
  return `{${about},"lines":[\n${lines.map((line) => JSON.stringify(line)).join(",\n")}\n]}\n`;
}

/** @returns the report's path */
async function writeReport(isQuick: boolean): Promise<string> {
  const folder = isQuick ? data.cacheFolder("report-quick") : BENCH;
  const files = PARTS.map((part) => resultFile(part, isQuick)).filter(existsSync);
  const results: PartResult[] = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
  const plots = (await installPackages()) ? await drawPlots(results) : new Map<Plot, string>();
  rmSync(join(folder, "plots"), { recursive: true, force: true });
  mkdirSync(join(folder, "plots"), { recursive: true });
  for (const [{ name }, svg] of plots) writeFileSync(join(folder, "plots", `${name}.svg`), svg);
  const file = join(folder, "RESULTS.md");
  writeFileSync(file, renderReport({ parts: PARTS, results, targets: TARGETS, plots: [...plots.keys()] }));
  return file;
}

/** Runs the parts. @returns the names of failed parts, and of parts that --quick had no time for */
async function runParts({
  parts,
  areNamed,
  ...options
}: Command): Promise<{ failed: string[]; left: string[] }> {
  const [failed, left]: [string[], string[]] = [[], []];
  const runs = [new Run(ROOT, options)];
  const stop = async () => {
    await runs.at(-1)!.end();
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop());
  await installPackages();
  for (const checkout of runs[0]!.checkouts) await data.updateRelease(checkout);
  for (const part of parts) {
    const until = (Date.now() - STARTED) / 1000 + (part.quickSeconds ?? QUICK_SECONDS);
    if (options.isQuick && !areNamed && until > QUICK_SECONDS) {
      left.push(part.name);
      continue;
    }
    const run = new Run(ROOT, options);
    runs.push(run);
    const result = await runPart(part, run);
    if (result.failed !== undefined) failed.push(part.name);
    if (options.other) process.stdout.write(comparison(run.lines, OTHER));
    else writeFileSync(resultFile(part, options.isQuick), formatResult(result));
  }
  return { failed, left };
}

async function main(command: Command): Promise<number> {
  const { failed, left } = command.isReportOnly ? { failed: [], left: [] } : await runParts(command);
  if (!command.other) log(`\nthe report: ${await writeReport(command.isQuick)}`);
  if (!command.other && !command.isQuick)
    log("`npm run generate` writes its figures into README.md and other pages");
  if (command.isQuick) log("smaller rounds, fewer variants: a first look");
  if (left.length > 0) log(`left out for lack of time: ${left.join(", ")}`);
  if (failed.length > 0) log(`failed: ${failed.join(", ")}`);
  return failed.length > 0 ? 1 : 0;
}

function commandLine(): Command | undefined {
  try {
    return readCommand(process.argv.slice(2));
  } catch (error) {
    log(`npm run bench: ${(error as Error).message}\nhint: npm run bench -- --help`);
    return process.exit(2);
  }
}

const isTruth = process.argv[2] === "truth" && process.argv.length === 3;
const command = isTruth ? undefined : commandLine();
if (isTruth) {
  await installPackages(); // one of the packages is a sample
  const { writeTruth } = await import("./truth/truth.ts");
  log(`the report: ${await writeTruth(commitLine())}`);
} else if (command === undefined) process.stdout.write(help());
else {
  const failed = (error: Error) => {
    log(`npm run bench: ${error.message}`);
    return 1;
  };
  process.exit(await main(command).catch(failed));
}
