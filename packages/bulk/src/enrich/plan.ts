// plan.ts: the format of a file, its columns of addresses and email addresses, and what is added.
//
// in   the first lines of the file, and the flags
// out  a Plan, plain data that workers can be sent
// err  BulkError: a column that does not exist, unknown members, nothing to look up, names that exist already

import { REPUTATION_FLAGS } from "@inkling/contract";
import { parseEmail } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import { MEMBERS, type Member, namesMatching, perTable, TABLES, type Table } from "../members.ts";
import { addressIn, emailIn } from "./cells.ts";
import { fieldNames, type LineLayout, LOG_FORMATS, type LogName, recognize } from "./logs.ts";
import { clientAmong, memberAt, objectOf, pathsOf, shareOf } from "./members-of.ts";
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
  return onePlan(head, name, { ...options, ipColumn: columns[0] });
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
    const { ipTitle = "" } = onePlan(head, name, { ...ofAddresses, ipColumn, prefix: ANY_PREFIX });
    return onePlan(head, name, {
      ...ofAddresses,
      ipColumn,
      prefix: `${prefix}${ipTitle.replaceAll(/[^\w.-]+/g, "_")}_`,
    });
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
    const ofEmail = { ...options, ipColumn: undefined, network: false };
    const email = onePlan(head, name, {
      ...ofEmail,
      add: add?.filter((member) => member === "all" || isOfEmail(member)),
    });
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

/** Of a plan whose names are not used. */
const ANY_PREFIX = "\0";

type OneColumn = EnrichOptions & { readonly ipColumn?: string | undefined };

function onePlan(head: string, name: string, options: OneColumn): Plan {
  const { format, ...columns } = layoutOf(head, name, options);
  const lines = isTable(format) ? splitRows(head, columns.delimiter!, HEAD_ROWS) : linesOf(head);
  const added = addedMembers(options, columns);
  const { prefix = "" } = options;
  const isThere = namesThere(format, lines, columns);
  const repeated = TABLES.flatMap((table) => added[table].map((name) => prefix + name)).filter(isThere);
  if (repeated.length > 0) {
    throw usage(
      `${name === "-" ? "standard input" : name} has ${repeated.join(", ")} already: was it enriched before?`,
      "take the file that it was made from, or add under other names: --prefix inkling_",
    );
  }
  const layout = { format, ...columns };
  const ipTitle = columns.ip === undefined ? undefined : columnTitle(layout, lines, columns.ip);
  return { ...layout, added, prefix, title: titleOf(layout, lines), ipTitle };
}

const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== "");
const isTable = (format: RowFormat) => format === "csv" || format === "tsv";

/** Nothing is looked up in a file without a row, and nothing is wrong with it: whoever enriches every night meets one. */
function planOfNothing(name: string, { format, prefix = "" }: EnrichOptions): Plan {
  const named = format ?? endingOf(name) ?? "csv";
  const isKept = named === "csv" || named === "tsv" || named === "ndjson";
  return {
    ...NO_COLUMNS,
    format: isKept ? named : "text",
    ip: undefined,
    delimiter: named === "tsv" ? "\t" : named === "csv" ? "," : undefined,
    added: perTable(() => []),
    prefix,
    title: "an empty file",
  };
}

type Layout = Omit<Plan, "added" | "prefix" | "title" | "ipTitle" | "next">;
type Columns = Omit<Layout, "format">;

/** @throws BulkError */
function layoutOf(head: string, name: string, options: OneColumn): Layout {
  const { format } = options;
  const lines = linesOf(head);
  const [first = ""] = lines;
  switch (format ?? endingOf(name)) {
    case "csv":
      return { format: "csv", ...columnsOf("csv", head, options) };
    case "tsv":
      return { format: "tsv", ...columnsOf("tsv", head, options) };
    case "ndjson":
      return { format: "ndjson", ...membersOf(lines, options) };
    case "text":
      return { format: "text", ...logColumns(options) };
    case "w3c":
      return w3cLayout(lines, options);
    case "log":
    case undefined:
      break;
    default:
      return lineLayout({ ...recognize(lines), format: format as LogName, ip: CLIENT }, options);
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
      `name one with --format; --format text takes the first public address in any line, whoever wrote it`,
    );
  const table = row.includes("\t") ? "tsv" : "csv";
  return { format: table, ...columnsOf(table, head, options) };
}

const CLIENT = "client";
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
  { format, hasHeader, delimiter }: Layout,
  lines: readonly string[],
  key: number | string,
) {
  if (typeof key === "string") return key;
  if (format === "w3c") return fieldsOf(lines)[key];
  return hasHeader ? splitRow(lines[0] ?? "", delimiter!)[key]?.trim() : `column ${key + 1}`;
}

/** The format and its columns, for people. */
function titleOf(layout: Layout, lines: readonly string[]): string {
  const { format, ip, email, programs } = layout;
  const column = (key: number | string) => columnTitle(layout, lines, key);
  const parts = [
    format === "text"
      ? "any text"
      : format in LOG_FORMATS
        ? `${format} (${LOG_FORMATS[format as LogName].title})`
        : format,
  ];
  if (programs !== undefined)
    parts.push(
      ...Object.entries(programs).map(([name, { format, ip }]) => `${name}: ${format}, client in ${ip}`),
    );
  else if (format === "text") parts.push("the first public address of a line");
  else if (ip !== undefined) parts.push(`IP addresses in ${column(ip)}`);
  if (email !== undefined) parts.push(`email addresses in ${column(email)}`);
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
function namesThere(
  format: RowFormat,
  lines: readonly string[],
  columns: Columns,
): (name: string) => boolean {
  const head = lines.slice(0, HEAD_ROWS);
  const hasColumns = isTable(format) || format === "w3c";
  if (!hasColumns && format !== "ndjson") return (name) => isAtMostEnds(name, head);
  const names =
    format === "ndjson"
      ? head.flatMap((line) => Object.keys(objectOf(line)))
      : format === "w3c"
        ? fieldsOf(lines)
        : columns.hasHeader
          ? splitRow(lines[0] ?? "", columns.delimiter!).map((cell) => cell.trim())
          : [];
  const known = new Set(names);
  return (name) => known.has(name);
}

const NO_COLUMNS = { ip: 0, email: undefined, hasHeader: false, delimiter: undefined, width: undefined };

function logColumns({ ipColumn, emailColumn }: OneColumn): Columns {
  if ((ipColumn ?? emailColumn) !== undefined)
    throw usage("text has no columns: the first public address of each line counts", "leave the column out");
  return NO_COLUMNS;
}

function lineLayout(layout: LineLayout, { ipColumn, emailColumn }: OneColumn): Layout {
  const { format, programs } = layout;
  refuseEmail(emailColumn);
  if (format === "syslog") {
    if (ipColumn !== undefined)
      throw usage(
        "a syslog has no columns: the client is where its programs write it",
        "leave --ip-column out",
      );
    return { ...NO_COLUMNS, format, ip: CLIENT, programs: programs ?? {} };
  }
  const names = fieldNames(format);
  const ip = ipColumn === undefined ? CLIENT : columnNamed(ipColumn, "--ip-column", names, true);
  return { ...NO_COLUMNS, format, ip: typeof ip === "number" ? names[ip]! : ip };
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
function w3cLayout(lines: readonly string[], { ipColumn, emailColumn }: OneColumn): Layout {
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
