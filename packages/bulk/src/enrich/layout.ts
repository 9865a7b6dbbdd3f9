// layout.ts: detects the format of a file, and its columns of IP and email addresses.
//
// in   the first lines of the file, its name, and what the user states about it
// out  a Layout, and the names of its columns for people
// err  BulkError for an unknown format, a column that does not exist, or nothing to look up

import { parseEmail } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import {
  addressIn,
  choose,
  clientAmong,
  emailIn,
  memberAt,
  objectOf,
  pathsOf,
  rowsThatFit,
  shareOf,
} from "./cells.ts";
import { CLIENT, fieldNames, LOG_FORMATS, type LogName, recognize } from "./logs.ts";
import type {
  FormatName,
  JsonLayout,
  LogLayout,
  RowFormat,
  RowLayout,
  TableFormat,
  TableLayout,
  W3cLayout,
} from "./row-layout.ts";
import { delimiterIn, firstRow, splitRow, splitRows, W3C_FIELDS } from "./rows.ts";

const EMAIL_NAME = /^(user|customer|contact)?[-_ ]?(e-?mail|e-?mail[-_ ]?addr(ess)?|mail)$/i;

const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== "");

const isTable = (format: RowFormat) => format === "csv" || format === "tsv";

interface Header {
  /** Whether the first row names the columns. */
  readonly hasHeader: boolean;
  /** The line that names the columns (w3c). */
  readonly fieldsLine?: string | undefined;
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
  /** The name of a column, member or field, or a column number counted from 1. */
  readonly ipColumn?: string | undefined;
  readonly emailColumn?: string | undefined;
}

/** A layout, and the first rows that it was detected in. */
export type Layout = FileLayout & { readonly lines: readonly string[] };

/** @throws BulkError */
export function layoutOf(head: string, name: string, options: LayoutOptions): Layout {
  const layout = fileLayout(head, linesOf(head), name, options);
  const { format, delimiter = "," } = layout;
  return { ...layout, lines: isTable(format) ? splitRows(head, delimiter, HEAD_ROWS) : linesOf(head) };
}

function fileLayout(
  head: string,
  lines: readonly string[],
  name: string,
  options: LayoutOptions,
): FileLayout {
  const { format } = options;
  const [first = ""] = lines;
  const named = format ?? endingOf(name);
  switch (named) {
    case "csv":
      return columnsOf("csv", head, options);
    case "tsv":
      return columnsOf("tsv", head, options);
    case "ndjson":
      return membersOf(lines, options);
    case "w3c":
      return w3cLayout(lines, options);
    case "log":
    case undefined:
      break;
    default:
      return lineLayout(named, options);
  }
  if (/^#(Version|Fields):/.test(first)) return w3cLayout(lines, options);
  if (/^\s*\{/.test(first)) return membersOf(lines, options);
  const log = recognize(lines);
  if (log !== undefined) return lineLayout(log, options);
  const row = firstRow(head);
  const isNoTable = !/[,;\t]/.test(row) && row.includes(" ");
  if (format === "log" || /\.log$/i.test(bareName(name)) || (isNoTable && !isColumn(lines)))
    throw usage(
      `${name === "-" ? "standard input" : name} has an unknown format`,
      "name the format with --format, or put the addresses into a CSV column first",
    );
  const table = row.includes("\t") ? "tsv" : "csv";
  return columnsOf(table, head, options);
}

/** Returns whether the lines consist of a single column whose name contains a space. */
const isColumn = (lines: readonly string[]) =>
  shareOf(lines.slice(1), (text) => isIp(text) || isEmail(text)) > 0.5;

/** Returns the file name without the extension of a compressed file. */
const bareName = (name: string) => name.replace(/\.(gz|zst)$/i, "");

export function endingOf(name: string): "csv" | "tsv" | "ndjson" | undefined {
  const ending = /\.(csv|tsv|ndjson|jsonl)$/i.exec(bareName(name))?.[1]?.toLowerCase();
  return ending === "jsonl" ? "ndjson" : (ending as "csv" | "tsv" | "ndjson" | undefined);
}

export function columnTitle(
  { format, hasHeader, delimiter, lines }: Layout,
  key: number | string | undefined,
): string {
  if (key === undefined) return "";
  if (typeof key === "string") return key;
  const named =
    format === "w3c"
      ? fieldsOf(lines)
      : hasHeader
        ? splitRow(lines[0] ?? "", delimiter ?? ",").map((cell) => cell.trim())
        : [];
  return named[key] ?? `column ${key + 1}`;
}

/** Describes the format and its columns for people. */
export function titleOf(layout: Layout): string {
  const { format, ip, email } = layout;
  const parts = [format in LOG_FORMATS ? `${format} (${LOG_FORMATS[format as LogName].title})` : format];
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
export function namesThere({ format, lines, hasHeader, delimiter }: Layout): (name: string) => boolean {
  const head = lines.slice(0, HEAD_ROWS);
  const hasColumns = isTable(format) || format === "w3c";
  if (!hasColumns && format !== "ndjson") return (name) => isAtMostEnds(name, head);
  const names =
    format === "ndjson"
      ? head.flatMap((line) => Object.keys(objectOf(line)))
      : format === "w3c"
        ? fieldsOf(lines)
        : hasHeader
          ? splitRow(lines[0] ?? "", delimiter ?? ",").map((cell) => cell.trim())
          : [];
  const known = new Set(names);
  return (name) => known.has(name);
}

function lineLayout(format: LogName, { ipColumn, emailColumn }: LayoutOptions): LogLayout & Header {
  refuseEmail(emailColumn);
  const names = fieldNames(format);
  const column = ipColumn === undefined ? undefined : columnNamed(ipColumn, "--ip-column", names, true);
  const ip = (column === undefined ? undefined : names[column]) ?? CLIENT;
  return { format, ip, email: undefined, hasHeader: false, delimiter: undefined, width: undefined };
}

function refuseEmail(emailColumn: string | undefined): void {
  if (emailColumn !== undefined)
    throw usage("--email-column: a log has no column with email addresses", "leave out --email-column");
}

/** Returns the column names of a w3c log. */
const fieldsOf = (lines: readonly string[]) =>
  lines
    .find((line) => line.startsWith(W3C_FIELDS))
    ?.slice(W3C_FIELDS.length)
    .trim()
    .split(/\s+/) ?? [];

/** CloudFront separates values by tabs, and IIS by spaces. Both separate the names by spaces. */
function w3cLayout(lines: readonly string[], { ipColumn, emailColumn }: LayoutOptions): W3cLayout & Header {
  refuseEmail(emailColumn);
  const fieldsLine = lines.find((line) => line.startsWith(W3C_FIELDS))?.trimEnd();
  if (fieldsLine === undefined)
    throw usage(
      `there is no line that starts with ${W3C_FIELDS}`,
      "this line names the columns: keep it in the file",
    );
  const names = fieldsOf(lines);
  const ip =
    ipColumn === undefined ? names.indexOf("c-ip") : columnNamed(ipColumn, "--ip-column", names, true);
  if (ip === -1)
    throw usage(
      "there is no column c-ip, which has the client's address",
      `name the column: --ip-column NAME; the columns are ${namesText(names)}`,
    );
  const row = lines.find((line) => !line.startsWith("#")) ?? "\t";
  const delimiter = row.includes("\t") ? "\t" : " ";
  return {
    format: "w3c",
    ip,
    email: undefined,
    hasHeader: false,
    delimiter,
    width: names.length,
    fieldsLine,
  };
}

function membersOf(lines: readonly string[], options: LayoutOptions): JsonLayout & Header {
  const rows = lines.slice(0, HEAD_ROWS).map(objectOf);
  const paths = [...new Set(rows.flatMap((row) => pathsOf(row)))];
  const values = (path: string) => rows.map((row) => memberAt(row, path));
  const columns = addressColumns(
    options,
    paths,
    paths,
    (path) => path,
    values,
    rows.length,
    (name) => name,
  );
  return { format: "ndjson", ...columns, hasHeader: false, delimiter: undefined, width: undefined };
}

function columnsOf(format: TableFormat, head: string, options: LayoutOptions): TableLayout & Header {
  const delimiter = format === "tsv" ? "\t" : delimiterIn(head);
  const rows = splitRows(head, delimiter, HEAD_ROWS).map((row) => splitRow(row, delimiter));
  const first = rows[0]!;
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
    first,
    (i) => (hasHeader ? first[i]!.trim() : ""),
    (i) => data.map((row) => row[i]),
    data.length,
    (name, flag) => columnNamed(name, flag, first, hasHeader),
  );
  return { format, ...columns, hasHeader, delimiter, width: hasHeader ? first.length : undefined };
}

/**
 * Returns the named columns, or otherwise the detected columns. If the user names only one kind, a detected column of
 * the other kind is left out.
 * @param rows number of rows in which columns are detected
 * @throws BulkError if there are no columns
 */
function addressColumns<Key extends number | string>(
  { ipColumn, emailColumn }: LayoutOptions,
  keys: readonly Key[],
  names: readonly string[],
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
  if (ip === undefined && email === undefined) {
    if (/^\s*\[\s*(?:[{"]|$)/.test(names[0] ?? "")) {
      throw usage(
        "a JSON array is not supported",
        "write each of its values on a line of its own: jq -c '.[]' rows.json | inkling enrich - --format ndjson",
      );
    }
    const seen = names.length === 0 ? "no row has a member" : `columns: ${namesText(names)}`;
    throw usage(
      `no column with IP addresses or email addresses was found (${seen})`,
      "name the column: --ip-column NAME or --email-column NAME; column numbers start at 1",
    );
  }
  return { ip, email, others: { ip: otherIps, email: otherEmails } };
}

function columnNamed(column: string, flag: string, names: readonly string[], areNames: boolean): number {
  const byName = areNames ? names.findIndex((name) => name.trim() === column) : -1;
  if (byName >= 0) return byName;
  const number = /^[1-9]\d{0,3}$/.test(column) ? Number(column) : 0;
  if (number >= 1 && number <= names.length) return number - 1;
  const there = areNames
    ? `the columns are ${namesText(names)}`
    : `the file has ${names.length} columns and no header`;
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
