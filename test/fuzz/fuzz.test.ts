// Runs every fuzzer. Its inputs are damaged copies of good inputs, the same in every run. By default the
// number of cases is fixed; in full size, each fuzzer runs for minutes. Inputs that failed once are in kept/,
// and are tried again each time.
//
//   npm run test:full -- test/fuzz               a minute each
//   npm run test:full -- --fuzz=120 test/fuzz    two hours each
//   INKLING_FUZZ_SEED=2 npm run …                other cases

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FUZZ_MINUTES, FUZZ_SEED } from "../harness/share.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { type FuzzOptions, fuzz } from "./fuzzer.ts";

const MB = 1024 * 1024;
const TARGETS = join(import.meta.dir, "targets");
const LIMIT_MS = FUZZ_MINUTES * 60_000 + 300_000;

/** For each target: the default number of cases, the memory limit, and outcomes that must all occur. */
const ROWS: readonly [name: string, cases: number, mostBytes: number, outcomes: readonly string[]][] = [
  ["address", 20_000, 300 * MB, ["IPv4", "IPv6", "network", "refused"]],
  ["agents", 500, 500 * MB, ["answered", "refused", "protocol error"]],
  ["archives", 1_000, 400 * MB, ["unpacked", "refused", "too large"]],
  ["backups", 1_500, 400 * MB, ["restorable", "damaged", "not a backup"]],
  ["batches", 600, 500 * MB, ["JSON", "NDJSON", "damaged gzip", "BATCH_INVALID"]],
  ["channel-rulesets", 300, 300 * MB, ["downloaded", "wrong-object"]],
  ["channels", 3_000, 300 * MB, ["signed", "other-key", "unsigned", "unreadable"]],
  ["dns", 20_000, 300 * MB, ["none of ours", "failed", "none", "nxdomain", "records", "truncated"]],
  ["email", 10_000, 400 * MB, ["disposable", "valid", "not valid", "no host"]],
  ["feeds", 4_000, 400 * MB, ["read", "empty", "refused"]],
  ["host-reports", 5_000, 300 * MB, ["ready", "not-ready", "unreadable"]],
  ["http", 1_000, 500 * MB, ["200", "400", "401", "404", "closed"]],
  ["key-copies", 3_000, 300 * MB, ["copy", "copy in part", "not a key snapshot"]],
  ["mmdb", 1_500, 400 * MB, ["answered", "metadata", "separator", "search tree", "data section"]],
  ["outcomes", 10_000, 300 * MB, ["read", "refused", "skipped"]],
  ["overrides", 3_000, 400 * MB, ["imported", "refused", "no JSON", "no file", "copy", "copy in part"]],
  ["revocations", 300, 300 * MB, ["entries", "entries, and invalid lines", "empty"]],
  ["rows", 2_000, 400 * MB, ["csv", "tsv", "ndjson", "lines", "refused"]],
  ["rulesets", 3_000, 400 * MB, ["live rules", "no live rule", "refused"]],
  ["segments", 150, 500 * MB, ["refused at open", "found by verify", "sound"]],
  ["settings", 2_000, 400 * MB, ["settings", "refused", "choice", "choice refused"]],
  ["visitors", 10_000, 300 * MB, ["visitor", "no JSON", "refused"]],
  [
    "webhooks",
    120,
    400 * MB,
    ["URL refused, failed", "URL refused, delivered", "URL of a name, failed", "URL of a name, delivered"],
  ],
];

describe("damaged", () => {
  test("every target has a row", () => {
    expect(ROWS.map(([name]) => `${name}.ts`)).toEqual(readdirSync(TARGETS).sort());
  });
  test.each(ROWS)(
    "%s",
    async (name, cases, mostBytes, outcomes) => {
      const options = { cases, minutes: FUZZ_MINUTES, seed: FUZZ_SEED };
      const report = await fuzz(join(TARGETS, `${name}.ts`), options);
      process.stdout.write(`${name}, seed ${FUZZ_SEED}: ${JSON.stringify(report)}\n`);
      expect(report.cases).toBeGreaterThanOrEqual(cases);
      expect(Object.keys(report.outcomes)).toEqual(expect.arrayContaining([...outcomes]));
      expect(report.peakBytes).toBeLessThan(mostBytes);
    },
    LIMIT_MS,
  );
});

describe("a target that", () => {
  const folder = temporaryFolder();
  const options: FuzzOptions = { cases: 500, minutes: 0, seed: 3, kept: folder, hangMs: 1_000 };
  const madeUp = (name: string, body: string) => {
    const file = join(folder, `${name}.ts`);
    const corpus = 'corpus: [Buffer.from("abcdefgh")], tokens: ["!"]';
    writeFileSync(
      file,
      `export default () => ({ ${corpus}, check: (bytes) => { ${body} return "fine"; } });`,
    );
    return file;
  };
  test.each([
    ["throws", 'if (bytes.includes(33)) throw new Error("it broke");', /exit code 1[\s\S]*it broke/],
    ["hangs", "if (bytes.includes(33)) Bun.sleepSync(600_000);", /no end within 1 s/],
    ["is killed", "if (bytes.includes(33)) process.kill(process.pid, 'SIGKILL');", /SIGKILL/],
  ])(
    "%s is a failure whose input is kept, and fails again before all others",
    async (what, body, message) => {
      const name = what.replace(" ", "-");
      const module = madeUp(name, body);
      const failure = await fuzz(module, options).catch((error: Error) => error.message);
      expect(failure).toMatch(message);
      const [file] = readdirSync(join(folder, name));
      expect(failure).toContain(join(folder, name, file!));
      expect(readFileSync(join(folder, name, file!)).includes("!")).toBe(true);
      const again = await fuzz(module, { ...options, cases: 0 }).catch((error: Error) => error.message);
      expect(again).toContain("case -1");
      expect((await fuzz(madeUp(name, ""), options)).kept).toBe(1);
    },
  );
});
