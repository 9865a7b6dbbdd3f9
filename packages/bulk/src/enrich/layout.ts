// layout.ts: detects the format of a file, and its columns of IP and email addresses.

import { parseEmail } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import { addressesIn, firstAddressIn } from "../values.ts";
import {
  addressIn,
  choose,
  clientAmong,
  emailIn,
  fieldAt,
  objectOf,
  pathsOf,
  rowsThatFit,
  shareOf,
} from "./cells.ts";
import {
  delimiterIn,
  endsLinesWithCr,
  type FormatName,
  firstRow,
  hintIn,
  type JsonLayout,
  type LinesLayout,
  type RowLayout,
  splitRow,
  splitRows,
  type TableFormat,
  type TableLayout,
} from "./rows.ts";

const EMAIL_NAME = /^(user|customer|contact)?[-_ ]?(e-?mail|e-?mail[-_ ]?addr(ess)?|mail)$/i;

const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== "");

const isTable = (format: FormatName) => format === "csv" || format === "tsv";

interface Header {
  /** Whether the first row is a header. */
  readonly hasHeader: boolean;
  /** Whether the first line only sets the delimiter, for Excel. */
  readonly hasHint?: boolean | undefined;
  /**
   * The column of email or IP addresses that was detected but is not used, because the user named only the other
   * column.
   */
  readonly leftOut?: number | string | undefined;
  /** Columns that were not chosen, although most rows have an IP or email address there. */
  readonly others?: {
    readonly ip: readonly (number | string)[];
    readonly email: readonly (number | string)[];
  };
}

export type FileLayout = RowLayout & Header;

/** What the user states about a file. */
export interface LayoutOptions {
  readonly format?: FormatName | undefined;
  /** The name of a column or field, or a column number counted from 1. */
  readonly ipColumn?: string | undefined;
  readonly emailColumn?: string | undefined;
  /** Number of a field of each line, from 1. */
  readonly field?: number | undefined;
}

/** A layout, and the first rows that it was detected in. */
export type Layout = FileLayout & { readonly lines: readonly string[] };

/** @throws BulkError */
export function layoutOf(head: string, name: string, options: LayoutOptions): Layout {
  if (endsLinesWithCr(head)) throw linesEndWithCr();
  const layout = fileLayout(head, linesOf(head), name, options);
  const { format, delimiter = ",", hasHint } = layout;
  const table = hasHint ? head.slice(hintIn(head).length) : head;
  return { ...layout, lines: isTable(format) ? splitRows(table, delimiter, HEAD_ROWS) : linesOf(head) };
}

export const linesEndWithCr = (): BulkError =>
  usage("lines end with CR, as in files of Excel for Mac", "convert them: tr '\\r' '\\n' < IN.csv > OUT.csv");

function fileLayout(
  head: string,
  lines: readonly string[],
  name: string,
  options: LayoutOptions,
): FileLayout {
  const { format, field, ipColumn, emailColumn } = options;
  const named = format ?? endingOf(name) ?? (field === undefined ? undefined : "lines");
  if (named !== undefined && named !== "lines" && field !== undefined)
    throw usage("--field is only for lines", `set a column or field of ${named} with --ip-column`);
  switch (named) {
    case "csv":
    case "tsv":
      return columnsOf(named, head, options);
    case "ndjson":
      return fieldsOf(lines, options);
    case "lines":
      return linesLayout(options);
    case undefined:
      break;
  }
  if (/^\s*\{/.test(lines[0] ?? "")) return fieldsOf(lines, options);
  const table = firstRow(head).includes("\t") ? "tsv" : "csv";
  const { names, ...found } = tableIn(table, head, options);
  const isNamed = ipColumn !== undefined || emailColumn !== undefined;
  const isTable = found.ip !== undefined || found.email !== undefined;
  if (isTable || isNamed || isJsonArray(head) || !areLines(lines)) return requireColumns(found, names, head);
  return linesLayout(options);
}

const isJsonArray = (head: string) => /^\s*\[\s*(?:[{"]|$)/.test(head);

/** @throws BulkError if no column holds addresses */
function requireColumns<Found extends RowLayout & Header>(
  found: Found,
  names: readonly string[],
  head: string,
): Found {
  if (found.ip !== undefined || found.email !== undefined) return found;
  if (isJsonArray(head))
    throw usage(
      "a JSON array is not supported",
      "write each of its values on a line of its own: jq -c '.[]' rows.json | inkling enrich - --format ndjson",
    );
  const seen = names.length === 0 ? "no row has a field" : `columns: ${namesText(names)}`;
  throw usage(
    `no column with IP addresses or email addresses was found (${seen})`,
    "name the column: --ip-column NAME or --email-column NAME; column numbers start at 1",
  );
}

/** Returns whether most lines contain an address. Many logs begin with comments. */
const areLines = (lines: readonly string[]) =>
  shareOf(
    lines.filter((line) => !line.startsWith("#")).slice(0, HEAD_ROWS),
    (line) => firstAddressIn(line) !== undefined,
  ) > 0.5;

/** Returns the file name without the extension of a compressed file. */
const bareName = (name: string) => name.replace(/\.(gz|zst)$/i, "");

/** The format for each ending of a file name. `access.log.1` is a log that was rotated. */
const ENDINGS: readonly (readonly [ending: RegExp, format: FormatName])[] = [
  [/\.csv$/i, "csv"],
  [/\.tsv$/i, "tsv"],
  [/\.(ndjson|jsonl)$/i, "ndjson"],
  [/\.log(\.\d+)?$/i, "lines"],
];

export const endingOf = (name: string): FormatName | undefined =>
  ENDINGS.find(([ending]) => ending.test(bareName(name)))?.[1];

export function columnTitle(layout: Layout, key: number | string | undefined): string {
  if (key === undefined) return "";
  if (typeof key === "string") return key;
  if (layout.format === "lines") return key === 0 ? "each line" : `field ${key}`;
  return headerOf(layout)[key] || `column ${key + 1}`;
}

/** Returns the names of a table's columns; none if it has no header. */
const headerOf = ({ hasHeader, delimiter, lines }: Layout): string[] =>
  hasHeader ? splitRow(lines[0] ?? "", delimiter ?? ",").map((cell) => cell.trim()) : [];

/** Describes the format and its columns for people. */
export function titleOf(layout: Layout): string {
  const { format, ip, email } = layout;
  if (format === "lines")
    return `lines, the first public address ${ip === 0 ? "of each line" : `in field ${ip}`}`;
  const parts: string[] = [format];
  if (ip !== undefined) parts.push(`IP addresses in ${columnTitle(layout, ip)}`);
  if (email !== undefined) parts.push(`email addresses in ${columnTitle(layout, email)}`);
  return parts.join(", ");
}

const MAX_COLUMNS = 9_999;

/** Number of rows that are searched for columns. */
const HEAD_ROWS = 100;

const LOG_VALUE = String.raw`("(\\.|[^"\\])*"|[^\s"]+)`;

/**
 * Returns whether most lines end with values of this name, as enriched lines do. A few lines prove nothing, because a
 * client can put the same text into them.
 */
function isAtMostEnds(name: string, lines: readonly string[]): boolean {
  const end = new RegExp(` ${RegExp.escape(name)}=${LOG_VALUE}( [\\w.-]+=${LOG_VALUE})*$`);
  return 2 * lines.filter((line) => end.test(line)).length > lines.length;
}

/**
 * Returns a test for names that the rows already contain, because few programs can read two values with the same name.
 */
export function namesThere(layout: Layout): (name: string) => boolean {
  const { format, lines } = layout;
  const head = lines.slice(0, HEAD_ROWS);
  if (format === "lines") return (name) => isAtMostEnds(name, head);
  const names = format === "ndjson" ? head.flatMap((line) => Object.keys(objectOf(line))) : headerOf(layout);
  const known = new Set(names);
  return (name) => known.has(name);
}

/** Whether most lines have more than one public address. Then the first one may be the server's. */
export function hasSeveralAddresses({ format, ip, lines }: Layout): boolean {
  if (format !== "lines" || ip !== 0) return false;
  return shareOf(lines.slice(0, HEAD_ROWS), (line) => new Set(addressesIn(line)).size > 1) > 0.5;
}

function linesLayout({ ipColumn, emailColumn, field = 0 }: LayoutOptions): LinesLayout & Header {
  for (const [flag, column] of [
    ["--ip-column", ipColumn],
    ["--email-column", emailColumn],
  ] as const)
    if (column !== undefined)
      throw usage(`${flag}: lines have no columns`, "name a field by its number: --field 1");
  return { format: "lines", ip: field, hasHeader: false };
}

function fieldsOf(lines: readonly string[], options: LayoutOptions): JsonLayout & Header {
  const rows = lines.slice(0, HEAD_ROWS).map(objectOf);
  const paths = [...new Set(rows.flatMap((row) => pathsOf(row)))];
  const values = (path: string) => rows.map((row) => fieldAt(row, path));
  const columns = addressColumns(
    options,
    paths,
    (path) => path,
    values,
    rows.length,
    (name) => name,
  );
  return requireColumns({ format: "ndjson", ...columns, hasHeader: false }, paths, lines[0] ?? "");
}

function columnsOf(format: TableFormat, head: string, options: LayoutOptions): TableLayout & Header {
  const { names, ...found } = tableIn(format, head, options);
  return requireColumns(found, names, head);
}

interface FoundTable extends TableLayout, Header {
  /** The cells of the first row. */
  readonly names: readonly string[];
}

/** Returns the layout of a table. It may have no column with addresses. */
function tableIn(format: TableFormat, head: string, options: LayoutOptions): FoundTable {
  const hint = hintIn(head);
  const delimiter = format === "tsv" && hint === "" ? "\t" : delimiterIn(head);
  const rows = splitRows(head.slice(hint.length), delimiter, HEAD_ROWS).map((row) =>
    splitRow(row, delimiter),
  );
  const first = rows[0] ?? [];
  if (first.length > MAX_COLUMNS)
    throw usage(
      `the first row has ${first.length} columns; the maximum is ${MAX_COLUMNS}`,
      "check that the file is a table with this format",
    );
  const hasHeader = !first.some((cell) => isIp(cell) || isEmail(cell)) && first.length > 0;
  const data = hasHeader ? rows.slice(1) : rows;
  const columns = addressColumns(
    options,
    first.map((_, i) => i),
    (i) => (hasHeader ? first[i]!.trim() : ""),
    (i) => data.map((row) => row[i]),
    data.length,
    (name, flag) => columnNamed(name, flag, first, hasHeader),
  );
  return {
    format,
    ...columns,
    hasHeader,
    ...(hint !== "" && { hasHint: true }),
    delimiter,
    width: hasHeader ? first.length : undefined,
    names: first,
  };
}

/**
 * Returns the named columns, or otherwise the detected columns. If the user names only one kind, a detected column of
 * the other kind is left out.
 * @param rows number of rows in which columns are detected
 */
function addressColumns<Key extends number | string>(
  { ipColumn, emailColumn }: LayoutOptions,
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  values: (key: Key) => readonly unknown[],
  rows: number,
  named: (name: string, flag: string) => Key,
): Pick<Header, "leftOut" | "others"> & { ip: Key | undefined; email: Key | undefined } {
  const isNamed = (name: string, flag: string) => ({ chosen: named(name, flag), others: [] });
  const { chosen: ip, others: otherIps } =
    ipColumn === undefined
      ? clientAmong(keys, nameOf, (key) => rowsThatFit(values(key), isIp), rows)
      : isNamed(ipColumn, "--ip-column");
  const byName = keys.filter((key) => EMAIL_NAME.test(nameOf(key)));
  const ofEmail = (key: Key) => rowsThatFit(values(key), isEmail);
  const { chosen: email, others: otherEmails } =
    emailColumn === undefined
      ? choose(byName, keys, byName[0], ofEmail, rows)
      : isNamed(emailColumn, "--email-column");
  if (ipColumn !== undefined && emailColumn === undefined) return { ip, email: undefined, leftOut: email };
  if (emailColumn !== undefined && ipColumn === undefined) return { ip: undefined, email, leftOut: ip };
  return { ip, email, others: { ip: otherIps, email: otherEmails } };
}

function columnNamed(column: string, flag: string, names: readonly string[], areNames: boolean): number {
  const byName = areNames ? names.findIndex((name) => name.trim() === column) : -1;
  if (byName >= 0) return byName;
  const number = /^[1-9]\d{0,3}$/.test(column) ? Number(column) : 0;
  if (number >= 1 && number <= names.length) return number - 1;
  const there = areNames
    ? `the columns are ${namesText(names)}`
    : `the file has ${names.length === 1 ? "one column" : `${names.length} columns`} and no header`;
  throw usage(`${flag}: there is no column ${JSON.stringify(column)}`, `${there}; column numbers start at 1`);
}

const MAX_NAMES = 20;
const MAX_NAME = 60;

/**
 * Lists the first names for a message. If the file is not a table, its first line may be long and may contain control
 * characters.
 */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => {
    const text = name.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, "\ufffd");
    return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
  });
  return [...shown, ...(names.length > MAX_NAMES ? ["…"] : [])].join(", ");
}

const isIp = (text: string) => addressIn(text) !== undefined;

const isEmail = (text: string) => text.includes("@") && parseEmail(emailIn(text)).host !== undefined;

export function usage(message: string, hint: string): BulkError {
  return new BulkError(message, hint, true);
}
