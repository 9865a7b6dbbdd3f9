// csv.ts: reads Inkling's own tables (packages/compiler/data): a header, comment lines that begin with "#", and quotes
// around fields that contain a comma.
//
// err  FeedError, which shows the line; nothing is skipped in Inkling's own files
// src  RFC 4180, without line breaks inside fields
// cost 1 ms for 1,356 rows. csv-parse 7.0.3 took 70 to 200 ms on each build, and 1.7 MB of disk, so no library is
//      used

import { readFileSync } from "node:fs";
import { programFile } from "@inkling/data/program";
import { FeedError } from "../catalog/feed.ts";
import { forEachLine } from "./text.ts";

const MAX_FIELDS = 64;
const FIELD = /("(?:[^"]|"")*"|[^",]*)(,|$)/y;

/**
 * Calls `visit` with the fields of each row.
 * @param columns the names that the header must have
 * @throws FeedError if the header has other names, or a row has more or fewer fields than the header
 */
export function forEachRow(
  text: string,
  visit: (row: readonly string[], line: number) => void,
  columns?: readonly string[],
): void {
  let header: readonly string[] | undefined;
  forEachLine(text, (line, number) => {
    if (line.startsWith("#")) return;
    const fields = splitRow(line);
    if (header === undefined) {
      header = fields ?? [];
      if (columns !== undefined && header.join() !== columns.join())
        throw new FeedError(`line ${number} is not the header ${columns.join()}`);
    } else if (fields?.length === header.length) visit(fields, number);
    else throw new FeedError(`line ${number} does not have ${header.length} fields`);
  });
  if (header === undefined) throw new FeedError(`lacks its header ${columns?.join() ?? ""}`.trimEnd());
}

/** Returns the fields of one line; undefined if a quote is misplaced or open, or if there are more than MAX_FIELDS. */
export function splitRow(line: string): string[] | undefined {
  if (!line.includes('"')) {
    const plain = line.split(",", MAX_FIELDS + 1);
    return plain.length > MAX_FIELDS ? undefined : plain.map((field) => field.trim());
  }
  const fields: string[] = [];
  FIELD.lastIndex = 0;
  for (;;) {
    const match = FIELD.exec(line);
    if (match === null) return undefined;
    const field = match[1]!;
    fields.push((field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field).trim());
    if (match[2] === "") return fields;
    if (fields.length === MAX_FIELDS) return undefined;
  }
}

/** Formats one row as a line of a table. */
export function csvLine(fields: readonly string[]): string {
  return fields.map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",");
}

/** Returns the rows of `data/<file>`, as lists of fields. @throws FeedError, which shows the line */
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
