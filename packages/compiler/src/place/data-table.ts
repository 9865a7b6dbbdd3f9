// data-table.ts: reads the project's own tables in packages/compiler/data, each on first use.

import { readFileSync } from "node:fs";
import { programFile } from "@inkling/release-store/program";
import { forEachRow } from "../parse/csv.ts";

/** The rows of `data/<file>`, as lists of fields. @throws FeedError naming the line */
export function dataTable(file: string): (readonly string[])[] {
  const rows: (readonly string[])[] = [];
  forEachRow(readFileSync(programFile(`compiler/data/${file}`), "utf8"), (row) => rows.push(row));
  return rows;
}

/** The same value at each call, made at the first one. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
