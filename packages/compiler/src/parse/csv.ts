// csv.ts: our own CSV files: a header line, "#" comment lines, quotes around a field that holds a comma.
//
// err  FeedError naming the line: these files are ours, so nothing in them is passed over

import { FeedError } from "../catalog/feed.ts";
import { forEachLine, readText } from "./text.ts";

const FIELD = /("(?:[^"]|"")*"|[^",]*)(,|$)/y;

/**
 * Calls `visit` with the fields of each row.
 * @throws FeedError when the header is not `columns` or a row has other fields than the header
 */
export function forEachRow(
  body: Uint8Array,
  columns: readonly string[],
  visit: (row: readonly string[], line: number) => void,
): void {
  let header = false;
  forEachLine(readText(body), (line, number) => {
    if (line.startsWith("#")) return;
    const fields = splitRow(line);
    if (!header) {
      if (fields?.join() !== columns.join())
        throw new FeedError(`line ${number} is not the header ${columns.join()}`);
      header = true;
      return;
    }
    if (fields?.length !== columns.length)
      throw new FeedError(`line ${number} does not have ${columns.length} fields`);
    visit(fields, number);
  });
  if (!header) throw new FeedError(`lacks its header ${columns.join()}`);
}

function splitRow(line: string): string[] | undefined {
  const fields: string[] = [];
  FIELD.lastIndex = 0;
  for (;;) {
    const match = FIELD.exec(line);
    if (match === null) return undefined;
    const field = match[1]!;
    fields.push((field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field).trim());
    if (match[2] === "") return fields;
  }
}
