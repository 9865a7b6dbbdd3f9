// plan.ts: the format of a file, its columns of addresses and email addresses, and what is added.
//
// in   the first lines of the file, and the flags
// out  a Plan, plain data that workers can be sent
// err  BulkError: a column that does not exist, unknown members, nothing to look up, names that exist already

import { REPUTATION_FLAGS } from "@inkling/contract";
import { parseEmail } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import { MEMBERS, type Member, namesMatching, perTable, TABLES, type Table } from "../members.ts";
import { addressIn, clientAmong, emailIn, memberAt, objectOf, pathsOf, shareOf } from "./cells.ts";
import { CLIENT, fieldNames, LOG_FORMATS, type LogName, recognize } from "./logs.ts";
import {
  delimiterIn,
  type FormatName,
  firstRow,
  type RowFormat,
  type RowLayout,
  splitRow,
  splitRows,
  type TableFormat,
  W3C_FIELDS,
} from "./rows.ts";

export interface Plan extends RowLayout {
  /** Does the first row name the columns? */
  readonly hasHeader: boolean;
  /** The line that names the columns (w3c). */
  readonly fieldsLine?: string | undefined;
  /** The format and its columns, for people. */
  readonly title: string;
  /** Members that are added, by table, in the order of output. */
  readonly added: Readonly<Record<Table, readonly string[]>>;
  /** Stands before the name of each. */
  readonly prefix: string;
  /** The column of the addresses, for people. */
  readonly ipTitle?: string | undefined;
  /** Adds to what this plan has written: that of the next column, where several are named. */
  readonly next?: Plan | undefined;
}

export interface EnrichOptions {
  readonly format?: FormatName | undefined;
  /** The name of a column, member or field, or a number from 1 on. */
  readonly ipColumn?: string | readonly string[] | undefined;
  readonly emailColumn?: string | undefined;
  readonly add?: readonly string[] | undefined;
  /** Also add whose network each address is. */
  readonly network?: boolean | undefined;
  readonly prefix?: string | undefined;
}

/** What is added by default. */
const USUAL = ["country_iso_code", "city_name", ...REPUTATION_FLAGS, "valid", "disposable"];
const EMAIL_NAME = /^(user|customer|contact)?[-_ ]?(e-?mail|e-?mail[-_ ]?addr(ess)?|mail)$/i;

/**
 * @param head the first lines, whole ones
 * @param name of the file: its extension may give the format
 * @throws BulkError
 */
export function planFor(head: string, name: string, options: EnrichOptions): Plan {
  if (!PREFIX.test(options.prefix ?? ""))
    throw usage("--prefix must be up to 40 letters, digits, _, - or .", "for example --prefix inkling_");
  if (/^[\r\n]*$/.test(head)) return planOfNothing(name, options);
  const columns = [options.ipColumn ?? []].flat();
  if (columns.length > 1) return planOfSeveral(head, name, options, columns);
  const own = { ...options, ipColumn: columns[0] };
  return planOf(layoutOf(head, name, own), name, own);
}

/** A plan for each column of addresses, and one for email; what is added has the name of its column before it. */
function planOfSeveral(head: string, name: string, options: EnrichOptions, columns: readonly string[]): Plan {
  const { add, emailColumn, prefix = "" } = options;
  const isIn = (member: string, table: Table) =>
    namesMatching(
      member,
      MEMBERS[table].map(({ name }) => name),
    ).length > 0;
  const isOfEmail = (member: string) => isIn(member, "email");
  const isOnlyOfEmail = (member: string) =>
    isOfEmail(member) && !TABLES.some((table) => table !== "email" && isIn(member, table));
  const ofAddresses = {
    ...options,
    emailColumn: undefined,
    add: emailColumn === undefined ? add : add?.filter((member) => !isOnlyOfEmail(member)),
  };
  const plans = columns.map((ipColumn) => {
    const own = { ...ofAddresses, ipColumn };
    const layout = layoutOf(head, name, own);
    const title = columnTitle(layout, layout.ip).replaceAll(/[^\w.-]+/g, "_");
    return planOf(layout, name, { ...own, prefix: `${prefix}${title}_` });
  });
  const [{ format }] = plans as [Plan];
  if (format !== "csv" && format !== "tsv" && format !== "ndjson")
    throw usage(
      `--ip-column more than once: ${format} has one address a row`,
      "several are for csv, tsv and ndjson",
    );
  const titles = plans.map(({ ipTitle }) => ipTitle);
  if (new Set(plans.map(({ prefix }) => prefix)).size < plans.length)
    throw usage(`--ip-column names one column twice: ${titles.join(", ")}`, "name each once");
  let title = `${format}, IP addresses in ${titles.join(" and ")}`;
  if (emailColumn !== undefined) {
    const own = {
      ...options,
      ipColumn: undefined,
      network: false,
      add: add?.filter((member) => member === "all" || isOfEmail(member)),
    };
    const email = planOf(layoutOf(head, name, own), name, own);
    plans.push(email);
    title += email.title.slice(format.length);
  }
  return { ...chained(plans), title };
}

/** Each works on what the one before it has written, where rows are wider. */
function chained([first, ...rest]: readonly Plan[], wider = 0): Plan {
  const { width, added } = first!;
  const next = rest.length === 0 ? undefined : chained(rest, wider + TABLES.flatMap((t) => added[t]).length);
  return { ...first!, width: width && width + wider, next };
}

type OneColumn = EnrichOptions & { readonly ipColumn?: string | undefined };

/** What is added to a file of this layout. @throws BulkError */
function planOf(layout: Layout, name: string, options: OneColumn): Plan {
  const { lines, ...kept } = layout;
  const added = addedMembers(options, layout);
  const { prefix = "" } = options;
  const isThere = namesThere(layout);
  const repeated = TABLES.flatMap((table) => added[table].map((name) => prefix + name)).filter(isThere);
  if (repeated.length > 0) {
    throw usage(
      `${name === "-" ? "standard input" : name} has ${repeated.join(", ")} already: was it enriched before?`,
      "take the file that it was made from, or add under other names: --prefix inkling_",
    );
  }
  const ipTitle = layout.ip === undefined ? undefined : columnTitle(layout, layout.ip);
  return { ...kept, added, prefix, title: titleOf(layout), ipTitle };
}

const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== "");
const isTable = (format: RowFormat) => format === "csv" || format === "tsv";

/** Nothing is looked up in a file without a row, and nothing is wrong with it: whoever enriches every night meets one. */
function planOfNothing(name: string, { format, prefix = "" }: EnrichOptions): Plan {
  const named = format ?? endingOf(name) ?? "csv";
  return {
    ...NO_COLUMNS,
    format: named === "tsv" || named === "ndjson" ? named : "csv",
    ip: undefined,
    delimiter: named === "tsv" ? "\t" : ",",
    added: perTable(() => []),
    prefix,
    title: "an empty file",
  };
}

type Columns = Omit<Plan, "format" | "added" | "prefix" | "title" | "ipTitle" | "next">;
type FileLayout = Columns & { readonly format: RowFormat };
/** A layout, and the first rows that it was found in. */
type Layout = FileLayout & { readonly lines: readonly string[] };

/** @throws BulkError */
function layoutOf(head: string, name: string, options: OneColumn): Layout {
  const layout = fileLayout(head, linesOf(head), name, options);
  const { format, delimiter = "," } = layout;
  return { ...layout, lines: isTable(format) ? splitRows(head, delimiter, HEAD_ROWS) : linesOf(head) };
}

function fileLayout(head: string, lines: readonly string[], name: string, options: OneColumn): FileLayout {
  const { format } = options;
  const [first = ""] = lines;
  switch (format ?? endingOf(name)) {
    case "csv":
      return { format: "csv", ...columnsOf("csv", head, options) };
    case "tsv":
      return { format: "tsv", ...columnsOf("tsv", head, options) };
    case "ndjson":
      return { format: "ndjson", ...membersOf(lines, options) };
    case "w3c":
      return w3cLayout(lines, options);
    case "log":
    case undefined:
      break;
    default:
      return lineLayout(format as LogName, options);
  }
  if (/^#(Version|Fields):/.test(first)) return w3cLayout(lines, options);
  if (/^\s*\{/.test(first)) return { format: "ndjson", ...membersOf(lines, options) };
  const log = recognize(lines);
  if (log !== undefined) return lineLayout(log, options);
  const row = firstRow(head);
  const isNoTable = !/[,;\t]/.test(row) && row.includes(" ");
  if (format === "log" || /\.log$/i.test(bareName(name)) || (isNoTable && !isColumn(lines)))
    throw usage(
      `${name === "-" ? "standard input" : name} is in no format that is known`,
      "name one with --format, or write the addresses into a column of a CSV file first",
    );
  const table = row.includes("\t") ? "tsv" : "csv";
  return { format: table, ...columnsOf(table, head, options) };
}

/** One column, with a name that has a space in it. */
const isColumn = (lines: readonly string[]) =>
  shareOf(lines.slice(1), (text) => isIp(text) || isEmail(text)) > 0.5;

/** Without the ending that a compressed file has. */
const bareName = (name: string) => name.replace(/\.(gz|zst)$/i, "");

function endingOf(name: string): "csv" | "tsv" | "ndjson" | undefined {
  const ending = /\.(csv|tsv|ndjson|jsonl)$/i.exec(bareName(name))?.[1]?.toLowerCase();
  return ending === "jsonl" ? "ndjson" : (ending as "csv" | "tsv" | "ndjson" | undefined);
}

function columnTitle(
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

/** The format and its columns, for people. */
function titleOf(layout: Layout): string {
  const { format, ip, email } = layout;
  const parts = [format in LOG_FORMATS ? `${format} (${LOG_FORMATS[format as LogName].title})` : format];
  if (ip !== undefined) parts.push(`IP addresses in ${columnTitle(layout, ip)}`);
  if (email !== undefined) parts.push(`email addresses in ${columnTitle(layout, email)}`);
  return parts.join(", ");
}

const PREFIX = /^[\w.-]{0,40}$/;
const MOST_COLUMNS = 9_999;
/** Rows in which columns are detected. */
const HEAD_ROWS = 100;

const LOG_VALUE = String.raw`("(\\.|[^"\\])*"|[^\s"]+)`;

/** Do most lines end with values of this name, as enriched ones do? A client can put the same text into some of them. */
function isAtMostEnds(name: string, lines: readonly string[]): boolean {
  const end = new RegExp(` ${RegExp.escape(name)}=${LOG_VALUE}( [\\w.-]+=${LOG_VALUE})*$`);
  return 2 * lines.filter((line) => end.test(line)).length > lines.length;
}

/** Whether rows have a value of this name already: few programs read two of one name. */
function namesThere({ format, lines, hasHeader, delimiter }: Layout): (name: string) => boolean {
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

const NO_COLUMNS = { ip: 0, email: undefined, hasHeader: false, delimiter: undefined, width: undefined };

function lineLayout(format: LogName, { ipColumn, emailColumn }: OneColumn): FileLayout {
  refuseEmail(emailColumn);
  const names = fieldNames(format);
  const column = ipColumn === undefined ? undefined : columnNamed(ipColumn, "--ip-column", names, true);
  return { ...NO_COLUMNS, format, ip: column === undefined ? CLIENT : names[column] };
}

function refuseEmail(emailColumn: string | undefined): void {
  if (emailColumn !== undefined)
    throw usage("--email-column: a log has no column of email addresses", "leave --email-column out");
}

/** Names of the columns of a w3c log. */
const fieldsOf = (lines: readonly string[]) =>
  lines
    .find((line) => line.startsWith(W3C_FIELDS))
    ?.slice(W3C_FIELDS.length)
    .trim()
    .split(/\s+/) ?? [];

/** CloudFront separates values by tabs, and IIS by spaces; both separate the names by spaces. */
function w3cLayout(lines: readonly string[], { ipColumn, emailColumn }: OneColumn): FileLayout {
  refuseEmail(emailColumn);
  const fieldsLine = lines.find((line) => line.startsWith(W3C_FIELDS))?.trimEnd();
  if (fieldsLine === undefined)
    throw usage(
      `there is no line that begins with ${W3C_FIELDS}`,
      "it names the columns: keep it in the file",
    );
  const names = fieldsOf(lines);
  const ip =
    ipColumn === undefined ? names.indexOf("c-ip") : columnNamed(ipColumn, "--ip-column", names, true);
  if (ip === -1)
    throw usage(
      "there is no column c-ip, the client",
      `name it: --ip-column NAME; there are: ${names.join(", ")}`,
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

function membersOf(lines: readonly string[], options: OneColumn): Columns {
  const rows = lines.slice(0, HEAD_ROWS).map(objectOf);
  const paths = [...new Set(rows.flatMap((row) => pathsOf(row)))];
  const values = (path: string) => rows.map((row) => memberAt(row, path));
  const { ip, email } = chosenColumns(
    options,
    paths,
    paths,
    (path) => path,
    values,
    (name) => name,
  );
  return { ip, email, hasHeader: false, delimiter: undefined, width: undefined };
}

function columnsOf(format: TableFormat, head: string, options: OneColumn): Columns {
  const delimiter = format === "tsv" ? "\t" : delimiterIn(head);
  const rows = splitRows(head, delimiter, HEAD_ROWS).map((row) => splitRow(row, delimiter));
  const first = rows[0]!;
  if (first.length > MOST_COLUMNS)
    throw usage(
      `the first row has ${first.length} columns, at most ${MOST_COLUMNS} are read`,
      "is this a table?",
    );
  const hasHeader = !first.some((cell) => isIp(cell) || isEmail(cell)) && first.length > 0;
  const data = hasHeader ? rows.slice(1) : rows;
  const { ip, email } = chosenColumns(
    options,
    first.map((_, i) => i),
    first,
    (i) => (hasHeader ? first[i]!.trim() : ""),
    (i) => data.map((row) => row[i]),
    (name, flag) => columnNamed(name, flag, first, hasHeader),
  );
  return { ip, email, hasHeader, delimiter, width: hasHeader ? first.length : undefined };
}

/** The columns that are named, otherwise those that are found. @throws BulkError when there is none */
function chosenColumns<Key extends number | string>(
  { ipColumn, emailColumn }: OneColumn,
  keys: readonly Key[],
  names: readonly string[],
  nameOf: (key: Key) => string,
  values: (key: Key) => readonly unknown[],
  named: (name: string, flag: string) => Key,
): { ip: Key | undefined; email: Key | undefined } {
  if (ipColumn !== undefined || emailColumn !== undefined)
    return {
      ip: ipColumn === undefined ? undefined : named(ipColumn, "--ip-column"),
      email: emailColumn === undefined ? undefined : named(emailColumn, "--email-column"),
    };
  const ip = clientAmong(keys, nameOf, (key) => shareOf(values(key), isIp));
  const byName = keys.filter((key) => EMAIL_NAME.test(nameOf(key)));
  const isOfEmail = (key: Key) => shareOf(values(key), isEmail) > 0.5;
  const email = [...byName, ...keys].find(isOfEmail) ?? byName[0];
  if (ip === undefined && email === undefined) {
    const seen = names.length === 0 ? "no row has a member" : `columns: ${names.slice(0, 20).join(", ")}`;
    throw usage(
      `no column with IP addresses or email addresses was found (${seen})`,
      "name it: --ip-column NAME or --email-column NAME; a number counts from 1",
    );
  }
  return { ip, email };
}

function columnNamed(column: string, flag: string, names: readonly string[], areNames: boolean): number {
  const byName = areNames ? names.findIndex((name) => name.trim() === column) : -1;
  if (byName >= 0) return byName;
  const number = /^[1-9]\d{0,3}$/.test(column) ? Number(column) : 0;
  if (number >= 1 && number <= names.length) return number - 1;
  const there = areNames
    ? `there are: ${names.slice(0, 20).join(", ")}`
    : `the file has ${names.length} columns and no header`;
  throw usage(`${flag}: there is no column ${JSON.stringify(column)}`, `${there}; a number counts from 1`);
}

/** `all` is what answers have of themselves, and networks are asked for by their own names. */
function addedMembers({ add, network }: OneColumn, columns: Columns): Plan["added"] {
  if (network && columns.ip === undefined)
    throw usage("--network: there is no column of IP addresses", "name it: --ip-column NAME");
  const possible = perTable((table): readonly Member[] =>
    (table === "email" ? columns.email : columns.ip) === undefined ? [] : MEMBERS[table],
  );
  const namesOf = (table: Table) => possible[table].map(({ name }) => name);
  const names = TABLES.flatMap(namesOf);
  const matching = (pattern: string) => (pattern === "all" ? [pattern] : namesMatching(pattern, names));
  const unknown = (add ?? []).filter((name) => matching(name).length === 0);
  if (unknown.length > 0) {
    throw usage(
      `--add: there is no member ${unknown.join(", ")} for these columns`,
      `there are: all, ${names.join(", ")}; * stands for any characters, as in 'country_*'`,
    );
  }
  const wanted = new Set(add?.flatMap(matching) ?? USUAL);
  const isWanted = (name: string, table: Table) =>
    wanted.has(name) || (table === "network" ? network === true : wanted.has("all"));
  return perTable((table) => namesOf(table).filter((name) => isWanted(name, table)));
}

const isIp = (text: string) => addressIn(text) !== undefined;
const isEmail = (text: string) => text.includes("@") && parseEmail(emailIn(text)).host !== undefined;

function usage(message: string, hint: string): BulkError {
  return new BulkError(message, hint, true);
}
