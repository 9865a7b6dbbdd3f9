// run.mjs: runs the jobs of `npm test`, several at a time, and reports.

import { chmodSync, mkdtempSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DATA_VARIABLES, dataFolder } from "./data-folders.mjs";
import { makeJobs, removeFolder } from "./jobs.mjs";
import { makeProgress, report } from "./report.mjs";

/** Beyond that the slowest file decides, and each process may hold a gigabyte. */
const MOST_JOBS = 8;
const OPTIONS = {
  unit: { type: "boolean" },
  data: { type: "boolean" },
  full: { type: "boolean" },
  jobs: { type: "string" },
  fuzz: { type: "string" },
};
const USAGE = "usage: npm test -- [--unit | --data] [--full] [--jobs=N] [--fuzz=MINUTES] [PATH…]\n";

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
    const [unit, data] = [values.unit === true, values.data === true];
    if (unit && data) throw new Error("--unit and --data exclude each other");
    options = { unit, data, full: values.full === true, fuzz, parts, parallel: Number(jobs) };
  } catch (error) {
    process.stderr.write(`inkling: ${error.message}\n${USAGE}`);
    return 2;
  }
  try {
    if (options.data) for (const variable of DATA_VARIABLES) dataFolder(variable);
  } catch (error) {
    process.stderr.write(`inkling: ${error.message}\nhint: CONTRIBUTING.md, "Test data", has an example\n`);
    return 2;
  }
  const temp = mkdtempSync(join(tmpdir(), "inkling-test-"));
  chmodSync(temp, 0o711); // see withFolder in jobs.mjs
  process.on("exit", () => {
    const left = removeFolder(temp);
    if (left) process.stderr.write(`inkling: ${temp} could not be removed: ${left}\n`);
  });
  return runJobs(makeJobs({ ...options, temp }), options);
}

/** Exported for its tests. */
export async function runJobs(jobs, { parallel, parts }) {
  const total = { passed: 0, failures: [], skipped: [] };
  const progress = makeProgress(process.stdout, jobs.length);
  const queue = [...jobs];
  const work = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const from = performance.now();
      progress.begin(job.name);
      const results = await job.run().catch((error) => crashed(job, error));
      progress.end(job.name, results, performance.now() - from);
      if (parts.length > 0) process.stdout.write(results.output ?? "");
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

/** The results of a job that could not run: those of all other jobs are still reported. */
const crashed = (job, error) => ({
  passed: 0,
  failures: [{ file: "", name: job.name, message: `the test runner failed: ${error.stack ?? error}` }],
  skipped: [],
});
