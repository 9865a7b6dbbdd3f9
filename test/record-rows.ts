// record-rows.ts: runs the tests that fill a table in docs/, and writes the table.
//
//   npx bun test/record-rows.ts                     software on the other side, for docs/compatibility.md
//   npx bun test/record-rows.ts compatibility PATH  only tests whose path contains PATH
//   npm run test:faults                             faults, for docs/faults.md
//
// Rows are in test/compatibility.json and test/faults.json. A row remains if its test did not run, for example because
// this machine lacks the software. If a test fails, nothing is written.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFiles, ROOT } from "./harness/project-files.ts";
import type { RecordedRow } from "./harness/recorded-rows.ts";

const TABLES = {
  compatibility: { calls: /\btried\(\s*import\.meta\.path/, key: ["software", "tried"], env: {} },
  faults: { calls: /\bdrilled\(\s*import\.meta\.path/, key: ["fault"], env: { FAULT_DRILL: "1" } },
} as const;

const table = process.argv[2] === "faults" ? "faults" : "compatibility";
const { calls, key, env } = TABLES[table];
const stored = join(ROOT, `test/${table}.json`);
const cells = (row: RecordedRow): Readonly<Record<string, string>> => ({ ...row });
const keyOf = (row: RecordedRow) =>
  key
    .map((name) => cells(row)[name])
    .join("\0")
    .toLowerCase();

const files = projectFiles().filter(({ path, text }) => path.endsWith(".test.ts") && calls.test(text));
const folder = mkdtempSync(join(tmpdir(), "inkling-rows-"));
const written = join(folder, "rows");
try {
  writeFileSync(written, "");
  const parts = process.argv.slice(3);
  const paths = files
    .map(({ path }) => `./${path}`)
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
  const command = [process.execPath, "test", "--parallel=2", "--max-concurrency=4", "--timeout=3600000"];
  const { exitCode } = Bun.spawnSync([...command, "--only-failures", ...paths], {
    cwd: ROOT,
    env: { ...process.env, ...env, RECORDED_ROWS: written },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (exitCode !== 0) throw new Error("a test failed, so the table did not change");
  const rows = new Map<string, RecordedRow>();
  const isLive = ({ test }: RecordedRow) => files.some(({ path }) => path === test);
  const before: RecordedRow[] = existsSync(stored) ? JSON.parse(readFileSync(stored, "utf8")) : [];
  for (const row of before.filter(isLive)) rows.set(keyOf(row), row);
  const kept = new Set(rows.keys());
  for (const line of readFileSync(written, "utf8").split("\n").filter(Boolean)) {
    const row: RecordedRow = JSON.parse(line);
    kept.delete(keyOf(row));
    rows.set(keyOf(row), row);
  }
  const sorted = [...rows.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  writeFileSync(stored, `${JSON.stringify(sorted, null, 2)}\n`);
  for (const row of sorted) {
    const { table: _, test, ...shown } = cells(row);
    const age = kept.has(keyOf(row)) ? " (not run now)" : "";
    process.stdout.write(`${Object.values(shown).join(" | ")}${age}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const generate = Bun.spawnSync([process.execPath, join(ROOT, "scripts/generate.ts")], { cwd: ROOT });
if (!generate.success) throw new Error(generate.stderr.toString());
