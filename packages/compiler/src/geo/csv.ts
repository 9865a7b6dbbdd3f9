// csv.ts: the project's own small tables (packages/compiler/data/*.csv): "#" starts a comment line, fields may be quoted.
//
// in   text of a table; its first line that is no comment names the columns
// out  the rows below it, as lists of fields
// err  Error with the line, when a row has not as many fields as there are columns
// src  RFC 4180, without line breaks inside fields

export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let columns: number | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const row = [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "",
    );
    if (columns === undefined) {
      columns = row.length;
      continue;
    }
    if (row.length !== columns)
      throw new Error(`line ${index + 1}: has ${row.length} fields, want ${columns}`);
    rows.push(row);
  }
  return rows;
}

/** One row as a line of a table. */
export function csvLine(fields: readonly string[]): string {
  return fields.map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",");
}
