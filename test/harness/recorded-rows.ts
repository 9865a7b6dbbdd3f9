// recorded-rows.ts: rows of tables in docs/ that tests write once they have passed: software that a test ran against
// (`tried`) and faults that it caused (`drilled`).
//
// test/record-rows.ts sets RECORDED_ROWS to a file. Otherwise, nothing is written and no version is read.

import { appendFileSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./project-files.ts";

export interface Tried {
  readonly table: "compatibility";
  readonly software: string;
  readonly version: string;
  readonly tried: string;
  /** The test's file, from the project's folder. */
  readonly test: string;
}

export interface Drilled {
  readonly table: "faults";
  readonly fault: string;
  /** What was served during the fault. */
  readonly meanwhile: string;
  readonly remained: string;
  readonly test: string;
}

export type RecordedRow = Tried | Drilled;

const FILE = process.env.RECORDED_ROWS;
/** True in `npm run test:faults`, in which kills are as many as the table states. */
export const IS_DRILL = process.env.FAULT_DRILL === "1";

/** A line of one short write is never mixed with another process's. */
const record = (row: RecordedRow) => FILE !== undefined && appendFileSync(FILE, `${JSON.stringify(row)}\n`);

const named = (test: string) => relative(ROOT, test).replaceAll("\\", "/");

/**
 * Records that this test passed against other software.
 * @param test `import.meta.path`
 * @param version a command that prints the version, or the name of a package in node_modules
 */
export function tried(
  test: string,
  software: string,
  version: string | readonly string[],
  what: string,
): void {
  if (FILE === undefined) return;
  const found = typeof version === "string" ? versionOfPackage(version) : versionOf(version);
  record({ table: "compatibility", software, version: found, tried: what, test: named(test) });
}

/** Records what a fault left. */
export function drilled(test: string, fault: string, meanwhile: string, remained: string): void {
  record({ table: "faults", fault, meanwhile, remained, test: named(test) });
}

const versionOfPackage = (name: string): string =>
  JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")).version;

function versionOf(command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command]);
  const text = `${stdout}${stderr}`;
  const [version] = /\d+(?:\.\d+)+|\d+/.exec(text) ?? [];
  if (version === undefined) throw new Error(`${command.join(" ")} prints no version: ${text.slice(0, 200)}`);
  return version;
}
