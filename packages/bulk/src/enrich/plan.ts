// plan.ts: the format of a file, its columns of addresses and email addresses, and what is added.
//
// in   the first lines of the file, and the flags
// out  a Plan, plain data that workers can be sent
// err  BulkError: a column that does not exist, unknown members, nothing to look up, names that exist already

import { LOOKUPS, type Lookup, MAX_IP_TEXT, parseEmail, parseIp } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import { MEMBERS, type Member, perLookup } from "../members.ts";
import { type RowFormat, type RowLayout, splitRow } from "./rows.ts";

export interface Plan extends RowLayout {
  /** Does the first row name the columns? */
  readonly hasHeader: boolean;
  /** How many the header names. */
  readonly width: number | undefined;
  /** Members that are added, by lookup, in the order of output. */
  readonly added: Readonly<Record<Lookup, readonly string[]>>;
  /** Stands before the name of each. */
  readonly prefix: string;
}

export interface EnrichOptions {
  readonly format?: RowFormat | undefined;
  /** A name, or a number from 1 on. */
  readonly ipColumn?: string | undefined;
  readonly emailColumn?: string | undefined;
  readonly add?: readonly string[] | undefined;
  readonly prefix?: string | undefined;
}

/** What is added by default. */
const USUAL = [
  "country_iso_code",
  "city_name",
  "is_abuser",
  "is_proxy",
  "is_tor_exit",
  "valid",
  "disposable",
];
const IP_NAME =
  /^(client|remote|source|src|visitor|user|x[-_ ]?real|peer)?[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr)$|^(remote|client)[-_ ]?host$/i;
const EMAIL_NAME = /^(user|customer|contact)?[-_ ]?(e-?mail|e-?mail[-_ ]?addr(ess)?|mail)$/i;
/** What parts columns in files that are named .csv: many spreadsheets write semicolons. */
const DELIMITERS = [",", ";", "\t"] as const;

/**
 * @param head the first lines, whole ones
 * @param name of the file: its extension may give the format
 * @throws BulkError
 */
export function planFor(head: string, name: string, options: EnrichOptions): Plan {
  const lines = head.split(/\r?\n/).filter((line) => line !== "");
  const format = options.format ?? formatOf(name, lines[0] ?? "");
  const columns = format === "log" ? logColumns(options) : columnsOf(format, lines, options);
  const added = addedMembers(options.add, columns);
  const { prefix = "" } = options;
  if (!PREFIX.test(prefix))
    throw usage("--prefix must be up to 40 letters, digits, _, - or .", "for example --prefix inkling_");
  const isThere = namesThere(format, lines, columns);
  const repeated = LOOKUPS.flatMap((scope) => added[scope].map((name) => prefix + name)).filter(isThere);
  if (repeated.length > 0) {
    throw usage(
      `${name === "-" ? "standard input" : name} has ${repeated.join(", ")} already: was it enriched before?`,
      "take the file that it was made from, or add under other names: --prefix inkling_",
    );
  }
  return { format, ...columns, added, prefix };
}

const PREFIX = /^[\w.-]{0,40}$/;
const MOST_COLUMNS = 9_999;
/** Rows in which columns are detected. */
const HEAD_ROWS = 100;

/** Whether rows have a value of this name already: few programs read two of one name. */
function namesThere(
  format: RowFormat,
  lines: readonly string[],
  columns: Columns,
): (name: string) => boolean {
  const head = lines.slice(0, HEAD_ROWS);
  if (format === "log") return (name) => head.some((line) => line.includes(` ${name}=`));
  const names =
    format === "ndjson"
      ? head.flatMap((line) => Object.keys(objectOf(line)))
      : columns.hasHeader
        ? splitRow(lines[0] ?? "", columns.delimiter!).map((cell) => cell.trim())
        : [];
  const known = new Set(names);
  return (name) => known.has(name);
}

/** The one that is found most often in the first line, quoted text left out. */
function delimiterIn(first: string): string {
  const bare = first.replaceAll(/"[^"]*"/g, "");
  const times = (delimiter: string) => bare.split(delimiter).length - 1;
  return DELIMITERS.reduce((best, next) => (times(next) > times(best) ? next : best));
}

function formatOf(name: string, first: string): RowFormat {
  const ending = /\.(csv|tsv|ndjson|jsonl|log)$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === "jsonl") return "ndjson";
  if (ending !== undefined) return ending as RowFormat;
  if (/^\s*\{/.test(first)) return "ndjson";
  if (first.includes("\t")) return "tsv";
  return first.includes(" ") && !first.includes(",") ? "log" : "csv";
}

type Columns = Pick<Plan, "ip" | "email" | "hasHeader" | "delimiter" | "width">;

function logColumns({ ipColumn, emailColumn }: EnrichOptions): Columns {
  const named = ipColumn ?? emailColumn;
  if (named !== undefined) {
    throw usage(
      "a log has no columns: the first public address of each line counts",
      "leave --ip-column out",
    );
  }
  return { ip: 0, email: undefined, hasHeader: false, delimiter: undefined, width: undefined };
}

function columnsOf(
  format: Exclude<RowFormat, "log">,
  lines: readonly string[],
  options: EnrichOptions,
): Columns {
  const delimiter = format === "ndjson" ? undefined : format === "tsv" ? "\t" : delimiterIn(lines[0] ?? "");
  const rows = lines
    .slice(0, HEAD_ROWS)
    .map((line) => (delimiter === undefined ? objectOf(line) : splitRow(line, delimiter)));
  const first = rows[0] ?? [];
  if (Array.isArray(first) && first.length > MOST_COLUMNS)
    throw usage(
      `the first row has ${first.length} columns, at most ${MOST_COLUMNS} are read`,
      "is this a table?",
    );
  const names = format === "ndjson" ? Object.keys(first) : (first as string[]);
  const hasHeader =
    format !== "ndjson" && !names.some((cell) => isIp(cell) || isEmail(cell)) && names.length > 0;
  const data = hasHeader ? rows.slice(1) : rows;
  const keys: (number | string)[] = format === "ndjson" ? names : names.map((_, i) => i);
  const chosen = (name: string | undefined, flag: string) =>
    name === undefined ? undefined : columnNamed(name, flag, names, hasHeader || format === "ndjson", format);
  const found = (named: RegExp, fits: (value: string) => boolean) => {
    const values = (key: number | string) =>
      data
        .map((row) => (row as Record<number | string, unknown>)[key])
        .filter((v) => typeof v === "string" && v !== "");
    const share = (key: number | string) => {
      const all = values(key) as string[];
      return all.filter(fits).length / Math.max(1, all.length);
    };
    const byName = keys.filter((_, i) => (hasHeader || format === "ndjson") && named.test(names[i]!.trim()));
    return [...byName, ...keys].find((key) => share(key) > 0.5) ?? byName[0];
  };
  const wanted = options.ipColumn !== undefined || options.emailColumn !== undefined;
  const ip = chosen(options.ipColumn, "--ip-column") ?? (wanted ? undefined : found(IP_NAME, isIp));
  const email =
    chosen(options.emailColumn, "--email-column") ?? (wanted ? undefined : found(EMAIL_NAME, isEmail));
  if (ip === undefined && email === undefined) {
    const seen = names.length === 0 ? "the file is empty" : `columns: ${names.slice(0, 20).join(", ")}`;
    throw usage(
      `no column with IP addresses or email addresses was found (${seen})`,
      "name it: --ip-column NAME or --email-column NAME; a number counts from 1",
    );
  }
  return { ip, email, hasHeader, delimiter, width: hasHeader ? names.length : undefined };
}

function columnNamed(
  column: string,
  flag: string,
  names: readonly string[],
  areNames: boolean,
  format: RowFormat,
): number | string {
  const byName = areNames ? names.findIndex((name) => name.trim() === column) : -1;
  if (format === "ndjson") return column; // rows may differ in their members
  if (byName >= 0) return byName;
  const number = /^[1-9]\d{0,3}$/.test(column) ? Number(column) : 0;
  if (number >= 1 && number <= names.length) return number - 1;
  const there = areNames
    ? `there are: ${names.slice(0, 20).join(", ")}`
    : `the file has ${names.length} columns and no header`;
  throw usage(`${flag}: there is no column ${JSON.stringify(column)}`, `${there}; a number counts from 1`);
}

function addedMembers(add: readonly string[] | undefined, columns: Columns): Plan["added"] {
  const possible = perLookup((lookup): readonly Member[] =>
    (lookup === "email" ? columns.email : columns.ip) === undefined ? [] : MEMBERS[lookup],
  );
  const names = LOOKUPS.flatMap((scope) => possible[scope].map(({ name }) => name));
  const unknown = (add ?? []).filter((name) => name !== "all" && !names.includes(name));
  if (unknown.length > 0) {
    throw usage(
      `--add: there is no member ${unknown.join(", ")} for these columns`,
      `there are: all, ${names.join(", ")}`,
    );
  }
  const wanted = new Set(add?.includes("all") ? names : (add ?? USUAL));
  return perLookup((lookup) => possible[lookup].map(({ name }) => name).filter((name) => wanted.has(name)));
}

/** A line of NDJSON; {} when it is none. */
function objectOf(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // a broken row is counted when it is met
  }
}

const isIp = (text: string) => text.length <= MAX_IP_TEXT && parseIp(text.trim()) !== undefined;
const isEmail = (text: string) => text.includes("@") && parseEmail(text.trim()).host !== undefined;

function usage(message: string, hint: string): BulkError {
  return new BulkError(message, hint, true);
}
