// data-table.ts: reads Inkling's own tables in packages/compiler/data.

import { readFileSync } from "node:fs";
import { programFile } from "@inkling/data/program";
import { forEachRow } from "../parse/csv.ts";

/** Returns the rows of `data/<file>`, as lists of fields. @throws FeedError, which names the line */
export function dataTable(file: string): (readonly string[])[] {
  const rows: (readonly string[])[] = [];
  forEachRow(readFileSync(programFile(`compiler/data/${file}`), "utf8"), (row) => rows.push(row));
  return rows;
}

/** Returns a function that creates the value when first called, and returns the same value from then on. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
