// recorded-tables.ts: generates the tables whose rows tests have recorded (test/record-rows.ts): software on the other
// side in docs/compatibility.md, and faults in docs/faults.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Drilled, Tried } from "../../test/harness/recorded-rows.ts";
import { type GeneratedSection, tableOn } from "./generated.ts";

const rowsOf = <Row>(table: string): readonly Row[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../test/${table}.json`), "utf8"));

const testLink = (test: string) => `[${test.split("/").at(-1)}](../${test})`;

export function recordedTables(): GeneratedSection[] {
  const software = rowsOf<Tried>("compatibility").map((row) => [
    row.software,
    row.version,
    row.tried,
    testLink(row.test),
  ]);
  const faults = rowsOf<Drilled>("faults").map((row) => [
    row.fault,
    row.meanwhile,
    row.remained,
    testLink(row.test),
  ]);
  return [
    tableOn(
      "docs/compatibility.md",
      "compatibility",
      ["software", "version", "what was tried", "test"],
      software,
    ),
    tableOn("docs/faults.md", "faults", ["fault", "served meanwhile", "what remained", "test"], faults),
  ];
}
