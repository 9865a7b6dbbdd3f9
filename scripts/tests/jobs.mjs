// jobs.mjs: what `npm test` runs: one job is a check, a process of `bun test`, or a package's tests on Node.
//
// out  each job's results; a process that was killed, crashed or ran nothing is a failure with its file's name

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findBun } from "../../packages/cli/bin/launch.mjs";
import { ROOT } from "../install.mjs";
import { DATA_VARIABLES, dataFolder } from "./data-folders.mjs";
import { groupTests } from "./files.mjs";
import { readJunit } from "./junit.mjs";
import { binary, runProcess } from "./process.mjs";

/** Packages that are promised to run on plain Node. */
const NEUTRAL = ["contract", "engine", "client"];
const NEUTRAL_WITH_TESTS = ["engine", "client"];
/** For one test: only a test that hangs takes as long, however slow the machine. */
const TEST_MINUTES = 5;
const FILE_MINUTES = 15;
/** In full size a file may take as many times as long. */
const FULL_FACTOR = 6;
/** More than there are: each runs for the minutes of --fuzz. */
const MOST_FUZZERS = 20;

/**
 * @typedef {import("./junit.mjs").Results & { output?: string }} Results
 * @typedef {{ name: string, run: () => Promise<Results> }} Job
 */

const failure = (file, name, message) => ({ file, name, message });

/** One command that counts as one test. */
function checkJob(name, tool, args) {
  return {
    name,
    run: async () => {
      await buildContract();
      const { problem, output } = await runProcess(binary(tool), args, { minutes: FILE_MINUTES });
      const failures = problem ? [failure("", name, `${output.trim()}\n${problem}`)] : [];
      return { passed: problem ? 0 : 1, failures, skipped: [] };
    },
  };
}

/**
 * One process of `bun test`. After a crash each file of a group runs again by itself, to find the one at fault.
 * @param {string[]} files
 * @param {{ root?: string, temp: string, data?: boolean, full?: boolean, fuzz?: number, minutes?: number }} options
 */
export function bunJob(
  files,
  { root = ROOT, temp, data = false, full = false, fuzz, minutes = FILE_MINUTES },
) {
  const name = files.length === 1 ? files[0] : `${files[0]} and ${files.length - 1} more`;
  const runFiles = async (group) => {
    const report = join(temp, `${group[0].replaceAll("/", "_")}.${group.length}.xml`);
    const args = ["test", ...group.map((file) => `./${file}`)];
    args.push(`--timeout=${TEST_MINUTES * 60_000}`, "--reporter=junit", `--reporter-outfile=${report}`);
    const { problem, output, left } = await withFolder(temp, (folder) =>
      runProcess(findBun(), args, {
        cwd: root,
        minutes: minutes * (full ? FULL_FACTOR : 1) + (fuzz ?? 0) * MOST_FUZZERS,
        env: {
          TMPDIR: folder,
          ...dataVariables(data),
          ...(full && { INKLING_TEST_FULL: "1" }),
          ...(fuzz !== undefined && { INKLING_FUZZ_MINUTES: String(fuzz) }),
        },
      }),
    );
    const results = { ...readJunit(readOr(report, "")), output };
    for (const failed of results.failures) failed.message ||= printedBefore(output, `(fail) ${failed.name}`);
    for (const file of group.filter((file) => !results.files.has(file)))
      results.failures.push(failure(file, "(the whole file)", `no test of it ran: ${problem ?? "no test"}`));
    if (problem && results.failures.length === 0)
      results.failures.push(
        failure(group.join(" "), "(outside of the tests)", `${lastLines(output)}\n${problem}`),
      );
    if (left)
      results.failures.push(
        failure(group.join(" "), "(clean-up)", `its temporary folder could not be removed: ${left}`),
      );
    return { results, crashed: results.files.size === 0 };
  };
  return {
    name,
    run: async () => {
      const { results, crashed } = await runFiles(files);
      if (!crashed || files.length === 1) return results;
      const message = `${results.failures[0].message}\nEach file ran again by itself.`;
      results.failures = [failure(files.join(" "), `(a process with ${files.length} files)`, message)];
      for (const file of files) merge(results, (await runFiles([file])).results);
      return results;
    },
  };
}

/** The folders of data for data tests; no other test gets them, so that it is the same with and without the folders. */
function dataVariables(data) {
  return Object.fromEntries(DATA_VARIABLES.map((name) => [name, data ? dataFolder(name) : undefined]));
}

let contractBuild;
/** Builds `packages/contract/dist`, once: the engine imports it as Node finds it. */
function buildContract() {
  contractBuild ??= runProcess(binary("tsc"), ["-p", "packages/contract"], { minutes: FILE_MINUTES });
  return contractBuild;
}

/** A package's own tests, compiled, on the Node that runs this. */
function nodeJob(name, temp) {
  const title = `${name} tests on Node ${process.versions.node}`;
  // As deep as src, so that a test finds files beside the repository from either.
  const built = join(ROOT, "packages", name, "dist-test");
  const run = async () => {
    rmSync(built, { recursive: true, force: true });
    const config = join(ROOT, "packages", name, "tsconfig.test.json");
    const minutes = FILE_MINUTES;
    await buildContract();
    const compiled = await runProcess(binary("tsc"), ["-p", config, "--outDir", built], { minutes });
    const files = readdirSync(built, { recursive: true })
      .filter((path) => path.endsWith(".test.js"))
      .map((path) => join(built, path));
    const report = join(temp, `${name}.xml`);
    const reporter = ["--test-reporter=junit", `--test-reporter-destination=${report}`];
    const ran = await runProcess(process.execPath, ["--test", ...reporter, ...files], { minutes });
    const results = { ...readJunit(readOr(report, "")), output: compiled.output + ran.output };
    const problem = compiled.problem ?? ran.problem;
    if (results.failures.length === 0 && (problem || results.passed === 0))
      results.failures.push(failure("", title, `${lastLines(results.output)}\n${problem ?? "no test ran"}`));
    return results;
  };
  return {
    name: title,
    run: () => run().finally(() => rmSync(built, { recursive: true, force: true })),
  };
}

/** @returns {Job[]} in the order in which they begin */
export function makeJobs({ unit, data, full, fuzz, parts, temp }) {
  const groups = groupTests(ROOT, { unit, data, parts });
  const tests = groups.map((files) => bunJob(files, { temp, data, full, fuzz }));
  if (unit || data || parts.length > 0) return tests;
  const checks = [
    checkJob("biome check", "biome", ["check", "."]),
    checkJob("types", "tsc", ["-p", "."]),
    checkJob("types of the console", "tsc", ["-p", "packages/console"]),
    ...NEUTRAL.map((name) =>
      checkJob(`${name} builds for Node`, "tsc", ["-p", `packages/${name}`, "--outDir", join(temp, name)]),
    ),
  ];
  return [...checks, ...tests, ...NEUTRAL_WITH_TESTS.map((name) => nodeJob(name, temp))];
}

/**
 * Runs `use` with a folder for temporary files, which is then removed: bun test runs no exit handlers, a killed one no
 * code. Everybody may look through it, for PostgreSQL runs as another user when the tests run as root.
 * @returns what `use` returns, and in `left` why the folder could not be removed: something in it may be mounted
 */
async function withFolder(temp, use) {
  const folder = mkdtempSync(join(temp, "tmp-"));
  chmodSync(folder, 0o711);
  const result = await use(folder);
  return { ...result, left: removeFolder(folder) };
}

/** @returns {string | undefined} why it could not be removed */
export function removeFolder(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return undefined;
  } catch (error) {
    return error.message;
  }
}

function merge(into, { passed, failures, skipped, output }) {
  into.passed += passed;
  into.failures.push(...failures);
  into.skipped.push(...skipped);
  into.output += output;
}

/** What was printed between the test before and the line of this one. */
function printedBefore(output, line) {
  const lines = output.split("\n");
  const end = lines.findIndex((text) => text.startsWith(line));
  const start = lines.slice(0, Math.max(0, end)).findLastIndex((text) => /^\((pass|fail|skip)\)/.test(text));
  return lines.slice(start + 1, Math.max(0, end)).join("\n");
}

const lastLines = (output) => output.trim().split("\n").slice(-20).join("\n");

function readOr(path, fallback) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return fallback;
  }
}
