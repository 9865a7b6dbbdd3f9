// stages.mjs: the stages of `npm test` and how their results are counted.
//
// A check without tests of its own (lint, types) counts as one test, so that its failure is in the sum.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBun } from "../packages/cli/bin/launch.mjs";
import { ROOT } from "./install.mjs";

/** Packages that are promised to run on plain Node. */
const NEUTRAL = ["engine", "client"];
/** As deep as src, so that a test finds files beside the repository from either. */
const builtTests = (name) => join(ROOT, "packages", name, "dist-test");
const MINUTE_MS = 60_000;
const SKIPS_SHOWN = 40;
const FAILURES_SHOWN = 40;
/** Characters of a failed test's message in the summary; the whole stands where the test ran. */
const MESSAGE_SHOWN = 300;

/**
 * Counts of a JUnit file as Bun writes it, and the names of what was skipped and of what failed.
 * @returns {{ passed: number, failed: number, skipped: string[], failures: string[] }}
 */
export function countJunit(xml) {
  const counts = { passed: 0, failed: 0, skipped: [], failures: [] };
  for (const [, attributes, body] of xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const name = unescapeXml(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? "?");
    const failure = /<(?:failure|error)\b([^>]*)/.exec(body ?? "");
    if (failure) {
      const value = (of, key) => unescapeXml(new RegExp(`\\b${key}="([^"]*)"`).exec(of)?.[1] ?? "?");
      const seconds = Number(value(attributes, "time")).toFixed(1);
      const why = value(failure[1], "message").replace(/\s+/g, " ").slice(0, MESSAGE_SHOWN);
      counts.failed++;
      counts.failures.push(`${value(attributes, "file")}: ${name}, after ${seconds} s: ${why}`);
    } else if (/<skipped\b/.test(body ?? "")) counts.skipped.push(name);
    else counts.passed++;
  }
  return counts;
}

function unescapeXml(text) {
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };
  return text.replace(/&(lt|gt|quot|apos|amp|#10);/g, (_, name) => entities[name]);
}

/**
 * Counts of what `node --test` writes in TAP, and the names, those of the groups that hold a failure included.
 * @returns {{ passed: number, failed: number, skipped: string[], failures: string[] }}
 */
export function countTap(tap) {
  const count = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(tap)?.[1] ?? 0);
  const skipped = [...tap.matchAll(/^\s*ok \d+ - (.*?) # SKIP ?(.*)$/gm)].map(([, name, why]) =>
    why ? `${name}: ${why}` : name,
  );
  const failures = [...tap.matchAll(/^\s*not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  return { passed: count("pass"), failed: count("fail") + count("cancelled"), skipped, failures };
}

const NONE = { skipped: [], failures: [] };
const NOTHING = { passed: 0, failed: 0, ...NONE };

/** "12 passed, 0 failed" and ", 3 skipped" where there are any. */
export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

const bin = (name) => join(ROOT, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);

function run(command, args, minutes) {
  const result = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
    timeout: minutes * MINUTE_MS,
    killSignal: "SIGKILL",
    shell: process.platform === "win32",
  });
  if (result.error?.code === "ETIMEDOUT") return `it took longer than ${minutes} minutes`;
  if (result.error) return result.error.message;
  if (result.status !== 0) return `it ended with ${result.status ?? result.signal}`;
  return undefined;
}

/** One command, one test. */
const check = (command, args) => () => {
  const problem = run(command, args, 3);
  return { passed: problem ? 0 : 1, failed: problem ? 1 : 0, ...NONE, problem };
};

/** A problem that no counted failure explains is a failure of the stage itself. */
function settle(counts, problem) {
  if (problem === undefined && counts.passed + counts.failed === 0) problem = "it ran no test";
  const failed = problem === undefined ? counts.failed : Math.max(1, counts.failed);
  return { ...counts, failed, problem };
}

function readOr(path, fallback) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return fallback;
  }
}

function bunTests(filters, temp) {
  const bun = findBun();
  if (bun === undefined) return settle(NOTHING, "Bun is not installed: run `npm install`");
  const report = join(temp, "bun.xml");
  const args = [
    "test",
    ...filters,
    `--timeout=${MINUTE_MS}`,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  const problem = run(bun, args, 12);
  return settle(countJunit(readOr(report, "")), problem);
}

/** A package's own tests, compiled, on the Node that runs this. */
function testsOnNode(name, temp) {
  const built = builtTests(name);
  const config = join(ROOT, "packages", name, "tsconfig.test.json");
  const compiled = run(bin("tsc"), ["-p", config, "--outDir", built], 3);
  if (compiled !== undefined) return settle(NOTHING, `compiling: ${compiled}`);
  const files = readdirSync(built, { recursive: true })
    .filter((path) => path.endsWith(".test.js"))
    .map((path) => join(built, path));
  if (files.length === 0) return settle(NOTHING, "there is no test file");
  const report = join(temp, `${name}.tap`);
  const reporters = [
    ["dot", "stdout"],
    ["tap", report],
  ].flatMap(([reporter, to]) => [`--test-reporter=${reporter}`, `--test-reporter-destination=${to}`]);
  const problem = run(process.execPath, ["--test", ...reporters, ...files], 5);
  const tap = readOr(report, "");
  if (problem !== undefined) process.stdout.write(failuresOfTap(tap));
  return settle(countTap(tap), problem);
}

/** The "not ok" blocks: the dot reporter shows that something failed, not what. */
function failuresOfTap(tap) {
  const blocks = tap.match(/^ *not ok .*\n(?: +---\n[\s\S]*?\n +\.\.\.\n)?/gm) ?? [];
  return `\n${blocks.join("\n")}`;
}

/** Runs all stages; with `filters`, only the bun tests whose path contains one of them. */
export function runAll(filters) {
  const temp = mkdtempSync(join(tmpdir(), "inkling-test-"));
  const all = filters.length === 0;
  const stages = [
    all && ["biome check", check(bin("biome"), ["check", "."])],
    all && ["types", check(bin("tsc"), ["-p", "."])],
    ...(all ? NEUTRAL : []).map((name) => [
      `${name} builds for Node`,
      check(bin("tsc"), ["-p", `packages/${name}`]),
    ]),
    ["bun test", () => bunTests(filters, temp)],
    ...(all ? NEUTRAL : []).map((name) => [
      `${name} tests on Node ${process.versions.node}`,
      () => testsOnNode(name, temp),
    ]),
  ].filter(Boolean);
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines = all ? [] : [`only bun tests whose path contains ${filters.join(" or ")}: all else left out`];
  try {
    for (const name of NEUTRAL) rmSync(builtTests(name), { recursive: true, force: true });
    for (const [name, stage] of stages) {
      process.stdout.write(`\n== ${name}\n`);
      const from = performance.now();
      const result = stage();
      const seconds = ((performance.now() - from) / 1000).toFixed(1);
      total.passed += result.passed;
      total.failed += result.failed;
      total.skipped += result.skipped.length;
      const counted = summary({ ...result, skipped: result.skipped.length });
      lines.push(`${result.failed ? "FAILED" : "ok    "} ${name}, ${seconds} s: ${counted}`);
      if (result.problem) lines.push(`       ${result.problem}`);
      for (const failure of result.failures.slice(0, FAILURES_SHOWN)) lines.push(`       ${failure}`);
      for (const skip of result.skipped.slice(0, SKIPS_SHOWN)) lines.push(`       skipped: ${skip}`);
      const more = result.skipped.length - SKIPS_SHOWN;
      if (more > 0) lines.push(`       skipped: and ${more} more`);
    }
  } finally {
    rmSync(temp, { recursive: true, force: true });
    for (const name of NEUTRAL) rmSync(builtTests(name), { recursive: true, force: true });
  }
  process.stdout.write(`\n${lines.join("\n")}\n${summary(total)}\n`);
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}
