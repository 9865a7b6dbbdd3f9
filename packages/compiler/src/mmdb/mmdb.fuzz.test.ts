// Damaged copies of good files: an MmdbError or an answer, in bounded memory, and never anything else.

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { share } from "../../../../test/share.ts";
import { describeWith, VECTORS } from "../../../../test/shared.ts";
import type { FuzzReport } from "../../test/mmdb-fuzz.ts";

const MOST_BYTES = 300 * 1024 * 1024;
/** Damaged copies of each file. */
const FLIPS = { own: share(600, 200), conformance: share(100, 25) };
/** A hang ends here, and fails. */
const HANG_MS = 240_000;

async function fuzz(seed: number, flips: number, paths: readonly string[]): Promise<FuzzReport> {
  const script = join(import.meta.dir, "../../test/mmdb-fuzz.ts");
  const child = Bun.spawn([process.execPath, script, `${seed}`, `${flips}`, ...paths], {
    stdout: "pipe",
    stderr: "pipe",
    timeout: HANG_MS,
  });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect(error).toBe("");
  expect(await child.exited).toBe(0);
  return JSON.parse(out);
}

function expectNotVacuous(report: FuzzReport, each: number): void {
  for (const { refused, answered } of Object.values(report.cases)) {
    expect(refused + answered).toBeGreaterThanOrEqual(each);
    expect(refused).toBeGreaterThan(each / 20);
  }
  // A cut file has no metadata left, so nothing of it may answer.
  expect(report.cases.cut.answered).toBe(0);
  for (const damage of ["flipped", "overwritten", "spliced"] as const) {
    expect(report.cases[damage].answered).toBeGreaterThan(each / 50);
  }
  for (const refused of Object.values(report.refusedBy)) expect(refused).toBeGreaterThan(each / 100);
  expect(report.maxRssBytes).toBeLessThan(MOST_BYTES);
}

describe("damaged fixtures", () => {
  test("end in an MmdbError or an answer", async () => {
    const report = await fuzz(1, FLIPS.own, []);
    expect(report.files).toBe(5);
    expectNotVacuous(report, Math.floor((FLIPS.own * 10) / 3));
  });
});

const good = join(VECTORS, "maxmind-db/test-data");
describeWith([good], "damaged conformance files", () => {
  const names = readdirSync(good).filter((name) => name.endsWith(".mmdb") && !/broken|invalid/i.test(name));
  test("end in an MmdbError or an answer", async () => {
    const report = await fuzz(
      2,
      FLIPS.conformance,
      names.map((name) => join(good, name)),
    );
    expect(report.files).toBeGreaterThan(35);
    expectNotVacuous(report, 35 * FLIPS.conformance);
  });
});
