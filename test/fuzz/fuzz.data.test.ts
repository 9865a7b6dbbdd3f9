// Runs the MMDB fuzzer on MaxMind's conformance files. fuzz.test.ts has all other fuzzers, and explains how to run one
// for longer.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { FUZZ_MINUTES, FUZZ_SEED } from "../harness/share.ts";
import { fuzz } from "./fuzzer.ts";

const MB = 1024 * 1024;

test(
  "damaged conformance files are refused or answered",
  async () => {
    const options = { cases: 1_500, minutes: FUZZ_MINUTES, seed: FUZZ_SEED };
    const report = await fuzz(join(import.meta.dir, "mmdb-vectors.data.ts"), options);
    process.stdout.write(`mmdb, seed ${FUZZ_SEED}: ${JSON.stringify(report)}\n`);
    expect(report.cases).toBeGreaterThanOrEqual(options.cases);
    const outcomes = ["answered", "metadata", "separator", "search tree", "data section"];
    expect(Object.keys(report.outcomes)).toEqual(expect.arrayContaining(outcomes));
    expect(report.peakBytes).toBeLessThan(400 * MB);
  },
  FUZZ_MINUTES * 60_000 + 300_000,
);
