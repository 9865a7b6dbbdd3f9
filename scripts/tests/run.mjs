// run.mjs: runs the jobs of `npm test`, several at a time, and reports.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeJobs } from "./jobs.mjs";
import { makeProgress, report } from "./report.mjs";

/** Beyond that the slowest file decides, and each process may hold a gigabyte. */
const MOST_JOBS = 8;
const OPTIONS = {
  unit: { type: "boolean" },
  full: { type: "boolean" },
  jobs: { type: "string" },
  fuzz: { type: "string" },
};
const USAGE = "usage: npm test -- [--unit] [--full] [--jobs=N] [--fuzz=MINUTES] [PATH…]\n";

/** @returns {Promise<number>} the exit code */
export async function runTests(args) {
  let options;
  try {
    const { values, positionals: parts } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const jobs = values.jobs ?? Math.min(MOST_JOBS, Math.max(2, availableParallelism()));
    if (!(Number(jobs) >= 1)) throw new Error(`--jobs must be a number from 1: it is "${jobs}"`);
    if (!(Number(values.fuzz ?? 0) >= 0))
      throw new Error(`--fuzz must be minutes for each fuzzer: it is "${values.fuzz}"`);
    const fuzz = values.fuzz === undefined ? undefined : Number(values.fuzz);
    options = { unit: values.unit === true, full: values.full === true, fuzz, parts, parallel: Number(jobs) };
  } catch (error) {
    process.stderr.write(`inkling: ${error.message}\n${USAGE}`);
    return 2;
  }
  const temp = mkdtempSync(join(tmpdir(), "inkling-test-"));
  chmodSync(temp, 0o711); // see withFolder in jobs.mjs
  process.on("exit", () => rmSync(temp, { recursive: true, force: true }));
  return runJobs(makeJobs({ ...options, temp }), options);
}

async function runJobs(jobs, { parallel, parts }) {
  const total = { passed: 0, failures: [], skipped: [] };
  const progress = makeProgress(process.stdout, jobs.length);
  const queue = [...jobs];
  const work = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const from = performance.now();
      progress.begin(job.name);
      const results = await job.run();
      progress.end(job.name, results, performance.now() - from);
      if (parts.length > 0) process.stdout.write(results.output);
      total.passed += results.passed;
      total.failures.push(...results.failures);
      total.skipped.push(...results.skipped);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  progress.close();
  if (total.passed + total.failures.length === 0)
    total.failures.push({
      file: "",
      name: "no test ran",
      message: `no test file matches: ${parts.join(" ")}`,
    });
  process.stdout.write(report(total));
  return total.failures.length > 0 ? 1 : 0;
}
