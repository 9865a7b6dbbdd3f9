// data-table.ts: reads the project's own tables in packages/compiler/data.

import { readFileSync } from "node:fs";
import { parseCsv } from "./csv.ts";

/** The rows of `data/<file>`, as lists of fields. */
export function dataTable(file: string): string[][] {
  return parseCsv(readFileSync(new URL(`../../data/${file}`, import.meta.url), "utf8"));
}
