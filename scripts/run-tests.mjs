// run-tests.mjs: runs the checks of `npm test`: `bun test --parallel` and, at the same time, Biome, the prose check,
// the type checks, and the tests of packages on Node.
//
// A file without a result counts as a failure. Bun has no result for a file that cannot be loaded, has no test, or did
// not run before the time was up.
//
// exit 1 on any failure; 2 for an unknown option, or if a folder of the data tests is missing

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findBun } from "../packages/cli/bin/launch.mjs";
import { binary, ROOT } from "./install.mjs";

const OPTIONS = {
  unit: { type: "boolean" },
  data: { type: "boolean" },
  full: { type: "boolean" },
  // Tests of running systems wait more than they compute, so one job for each core would leave the cores idle.
  jobs: { type: "string", default: String(Math.min(8, 3 * availableParallelism())) },
  fuzz: { type: "string" },
  timings: { type: "boolean" },
};
const USAGE = "usage: npm test -- [--unit | --data] [--full] [--jobs=N] [--fuzz=MINUTES] [--timings] [PATH…]";
/** The environment variables that `npm run test:data` needs. */
const DATA_FOLDERS = {
  INKLING_MIRROR: "one file per feed, such as tor-bulk-exits.txt",
  INKLING_VECTORS: "the conformance files, in maxmind-db/, opt-in/ and guards/",
};
const MINUTE_MS = 60_000;
/** Time limit of one test. Even on a slow machine, only a test that hangs reaches it. */
const TEST_MINUTES = 10;
/** Time limit of the whole run, because a test that loops without a pause blocks its own timer. */
const RUN_MINUTES = 75;
const FULL_RUN_MINUTES = 600;
/** With this file, the slowest files begin first. `npm test -- --timings` measures all files again. */
const TIMINGS = "test/timings.json";
/** Maximum lines for all failures at the end. A CI log may keep only its last 40 lines. */
const REPORT_LINES = 32;
const LINE_LENGTH = 160;
/** Makes random values the same in every run. */
const SEED = "./test/harness/seed.mjs";
/**
 * Marks tests with sockets, processes or servers. `npm run test:unit` leaves these out, for machines that cannot run
 * them.
 */
const IO =
  /\bBun\.(serve|listen|connect|spawn)|node:(net|http|child_process)|startServer|publisher\.testing|fake-server/;

/**
 * @param {{ root?: string, minutes?: number }} limits another root and time limit, for the tests of this function
 * @returns {Promise<number>} the exit code
 */
export async function runTests(args, { root = ROOT, minutes } = {}) {
  let options, parts;
  try {
    ({ values: options, positionals: parts } = parseArgs({ args, options: OPTIONS, allowPositionals: true }));
    if (options.unit && options.data) throw new Error("--unit and --data exclude each other");
    for (const name of ["jobs", "fuzz"])
      if (!/^\d+$/.test(options[name] ?? "1"))
        throw new Error(`--${name} must be a whole number: it is "${options[name]}"`);
    if (options.data) for (const variable of Object.keys(DATA_FOLDERS)) dataFolder(variable);
  } catch (error) {
    process.stderr.write(`inkling: ${error.message}\n${error.hint ?? USAGE}\n`);
    return 2;
  }
  const temp = mkdtempSync(join(tmpdir(), "inkling-test-"));
  chmodSync(temp, 0o711); // so that PostgreSQL can enter: it runs as another user if the tests run as root
  const results = { passed: 0, failures: [], skipped: [] };
  const files = findTests(root, options, parts);
  const all = !options.unit && !options.data && parts.length === 0;
  // Tests that pack the packages build them again, so whatever reads their builds runs first.
  if (all) await Promise.all([runChecks(nodeChecks(), results), runChecks(sourceChecks(), results)]);
  if (files.length > 0)
    await runFiles(files, { ...options, root, minutes, temp, quiet: parts.length === 0 }, results);
  try {
    rmSync(temp, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    fail(results, "", "(clean-up)", `The temporary folder could not be removed: ${error.message}`);
  }
  if (results.passed + results.failures.length === 0)
    fail(results, "", "(no test ran)", `No test file matches: ${parts.join(" ")}`);
  process.stdout.write(report(results));
  return results.failures.length > 0 ? 1 : 0;
}

const fail = (results, file, name, message) => results.failures.push({ file, name, message });

/**
 * Returns the test files to run. Files named *.data.test.ts belong to `npm run test:data`. They read real feeds and
 * other projects' files, from folders outside the repository.
 */
export function findTests(root, { unit = false, data = false }, parts) {
  return ["bench", "packages", "test"]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
    )
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".test.ts") && !/\/(node_modules|dist|dist-test)\//.test(path))
    .filter((path) => path.endsWith(".data.test.ts") === data)
    .filter(
      (path) => !unit || (path.startsWith("packages/") && !IO.test(readFileSync(join(root, path), "utf8"))),
    )
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .sort();
}

/**
 * @returns {string} the absolute path of an existing folder
 * @throws Error with a hint
 */
export function dataFolder(variable) {
  const value = process.env[variable];
  const found = value ? statSync(value, { throwIfNoEntry: false }) : undefined;
  if (value && found?.isDirectory()) return resolve(value);
  const problem = !value ? "it is not set" : `${value} ${found ? "is not a folder" : "does not exist"}`;
  const message = `npm run test:data needs ${variable}, a folder with ${DATA_FOLDERS[variable]}: ${problem}`;
  throw Object.assign(new Error(message), { hint: 'hint: CONTRIBUTING.md, "Test data", has an example' });
}

async function runFiles(files, options, results) {
  const { data, full, fuzz, jobs, root, temp, timings, quiet } = options;
  const minutes =
    options.minutes ?? (full ? FULL_RUN_MINUTES : RUN_MINUTES) + Number(fuzz ?? 0) * files.length;
  const junit = join(temp, "junit.xml");
  const args = ["test", `--parallel=${jobs}`, `--timeout=${TEST_MINUTES * MINUTE_MS}`];
  // Concurrent tests wait for each other's servers. With more than four at the same time, each would only be later.
  args.push("--max-concurrency=4");
  args.push("--reporter=junit", `--reporter-outfile=${junit}`, ...(quiet ? ["--only-failures"] : []));
  if (timings || existsSync(join(root, TIMINGS))) args.push(`--timings=${TIMINGS}`);
  if (timings) args.push("--update-timings");
  const env = { ...process.env, TMPDIR: temp };
  if (full) env.INKLING_TEST_FULL = "1";
  if (fuzz !== undefined) env.INKLING_FUZZ_MINUTES = fuzz;
  // Other tests do not get these variables, so that they behave the same with and without the folders.
  for (const variable of Object.keys(DATA_FOLDERS))
    if (data) env[variable] = dataFolder(variable);
    else delete env[variable];
  const paths = files.map((path) => `./${path}`);
  const { problem } = await run([findBun(), ...args, ...paths], { cwd: root, env, minutes, show: true });
  const from = results.failures.length;
  const seen = readJunit(existsSync(junit) ? readFileSync(junit, "utf8") : "", results);
  for (const file of files.filter((path) => !seen.has(path)))
    fail(
      results,
      file,
      "(the whole file)",
      `No test of it ran: see above. bun test: ${problem ?? "no test"}`,
    );
  if (problem && results.failures.length === from) fail(results, "", "bun test", problem);
}

const tsc = (...args) => [binary("tsc"), "-p", ...args];

const sourceChecks = () => [
  ["biome check", [binary("biome"), "check", "."]],
  ["prose", [process.execPath, join(ROOT, "scripts/prose.mjs")]],
  ["types", tsc(".")],
  ["types of the console", tsc("packages/console")],
];

/** The contract is built first, because the engine imports the built contract on Node and for types. */
function nodeChecks() {
  return [
    ["contract builds for Node", tsc("packages/contract")],
    ...["engine", "client"].flatMap((name) => {
      const out = `packages/${name}/dist-test`; // as deep as src: tests find repository files from both
      return [
        [`${name} builds for Node`, tsc(`packages/${name}`, "--noEmit")],
        [`${name} tests build for Node`, tsc(`packages/${name}/tsconfig.test.json`, "--outDir", out)],
        [
          `${name} tests on Node ${process.versions.node}`,
          () => [process.execPath, "--import", SEED, "--test", "--test-reporter=tap", ...builtTests(out)],
        ],
      ];
    }),
  ];
}

async function runChecks(checks, results) {
  for (const [name, command] of checks) {
    const { problem, output } = await run(typeof command === "function" ? command() : command, {
      minutes: 15,
    });
    if (!problem) results.passed++;
    else {
      process.stdout.write(`${name}:\n${output}`);
      const failed = failuresOfTap(output);
      for (const { test, message } of failed) fail(results, "", `${name}: ${test}`, message);
      if (failed.length === 0) fail(results, "", name, `${problem}\n${output.trim()}`);
    }
  }
}

/**
 * Returns the failures in Node's report, without tests that failed only because of a test inside them.
 * @returns {{ test: string, message: string }[]}
 */
export function failuresOfTap(text) {
  const failures = [];
  let written = []; // output of a file before it ended
  for (const [, comment, indent, test, details] of text.matchAll(
    /^ *(?:# (.*)|ok .*)$|^( *)not ok \d+ - (.*)\n\2 {2}---\n([\s\S]*?)^\2 {2}\.\.\.$/gm,
  )) {
    if (comment !== undefined && !comment.startsWith("Subtest: ")) written.push(comment);
    if (test !== undefined && !details.includes("failureType: 'subtestsFailed'")) {
      const value = (name) =>
        new RegExp(`^ *${name}: (?:'(.*)'|\\|-\n((?:${indent} {4}.*\n)*))`, "m").exec(details);
      const error = value("error")?.slice(1).find(Boolean)?.replaceAll(`${indent}    `, "") ?? "";
      const died = details.includes("exitCode: ");
      failures.push({ test, message: [value("location")?.[1], ...(died ? written : []), error].join("\n") });
    }
    if (comment === undefined) written = [];
  }
  return failures;
}

const builtTests = (folder) =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .filter((path) => path.endsWith(".test.js"))
    .map((path) => join(folder, path));

/** @returns {Promise<{ problem?: string, output: string }>} `problem` states how the command failed */
function run([command, ...args], { cwd = ROOT, env = process.env, minutes, show = false }) {
  return new Promise((done) => {
    const stdio = ["ignore", show ? "inherit" : "pipe", show ? "inherit" : "pipe"];
    const child = spawn(command, args, { cwd, env, stdio, shell: process.platform === "win32" });
    let output = "";
    let late = false;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    // Bun then kills its tests and the processes that they started, and still writes the results.
    const timer = setTimeout(() => {
      late = child.kill();
    }, minutes * MINUTE_MS);
    child.on("error", (error) => done({ problem: error.message, output }));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (late) done({ problem: `stopped: it took longer than ${minutes} minutes`, output });
      else if (code !== 0) done({ problem: signal ? `killed by ${signal}` : `exit code ${code}`, output });
      else done({ output });
    });
  });
}

const TEST_CASE = /<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const PROBLEM = /<(?:failure|error)\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/(?:failure|error)>)/;

/** Adds the results in Bun's report. @returns {Set<string>} the files that have a test in it */
function readJunit(xml, results) {
  const files = new Set();
  for (const [, attributes, body = ""] of xml.matchAll(TEST_CASE)) {
    const file = attribute(attributes, "file");
    const name = [attribute(attributes, "classname"), attribute(attributes, "name")]
      .filter(Boolean)
      .join(" > ");
    files.add(file);
    const problem = PROBLEM.exec(body);
    if (problem)
      fail(results, file, name, unescapeXml(problem[2] ?? "").trim() || attribute(problem[1], "message"));
    else if (body.includes("<skipped")) results.skipped.push(name);
    else results.passed++;
  }
  return files;
}

const attribute = (text, name) => unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? "");

function unescapeXml(text) {
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(?:#(\d+)|(lt|gt|quot|apos|amp));/g, (_, code, name) =>
    code ? String.fromCodePoint(Number(code)) : entities[name],
  );
}

/** Returns the report's text. `.ci/run` reads the last line. */
function report({ passed, failures, skipped }) {
  const lines = skipped.map((name) => `skipped: ${name}`);
  const each = Math.max(1, Math.floor(REPORT_LINES / Math.max(1, failures.length)));
  for (const { file, name, message } of failures.slice(0, REPORT_LINES)) {
    lines.push(`FAILED ${file ? `${file}: ` : ""}${name}`);
    // Of a stack trace, only the lines in test files remain.
    const told = message
      .split("\n")
      .filter((line) => line.trim() !== "" && !/^ *at (?!.*\.test\.)/.test(line));
    lines.push(...told.slice(0, each - 1).map((line) => `    ${line}`));
  }
  if (failures.length > REPORT_LINES) lines.push(`and ${failures.length - REPORT_LINES} more: see above`);
  if (failures.some(({ file }) => file)) lines.push("to run only one file: npm test -- PATH");
  lines.push(
    `${passed} passed, ${failures.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`,
  );
  return lines.map((line) => `${line.slice(0, LINE_LENGTH)}\n`).join("");
}
