// rows.ts: finds rows in bytes, and the address and email address in each row.
//
// A row that cannot be read has neither address nor email address, and remains unchanged. Source: RFC 4180 (quoted
// fields, even over several lines), ndjson. lines.ts reads the fields of lines. Cost for csv and tsv: at most two
// passes over the bytes of a row; only a quoted value is allocated.

import { firstAddressIn, trimmed } from "../values.ts";
import { fieldAt } from "./cells.ts";
import { fieldOf } from "./lines.ts";

/** Formats whose values are columns. */
export type TableFormat = "csv" | "tsv";
export const FORMAT_NAMES = ["csv", "tsv", "ndjson", "lines"] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

export interface TableLayout {
  readonly format: TableFormat;
  /** Column indices from 0; undefined if there is nothing to look up. */
  readonly ip: number | undefined;
  readonly email: number | undefined;
  /** The character that separates the columns. */
  readonly delimiter: string;
  /** Number of columns in the header. */
  readonly width: number | undefined;
}

export interface JsonLayout {
  readonly format: "ndjson";
  /** Paths of fields; undefined if there is nothing to look up. */
  readonly ip: string | undefined;
  readonly email: string | undefined;
  readonly delimiter?: undefined;
  readonly width?: undefined;
}

export interface LinesLayout {
  readonly format: "lines";
  /** Number of the field with the address, from 1; 0 for the first public address of the line. */
  readonly ip: number;
  readonly email?: undefined;
  readonly delimiter?: undefined;
  readonly width?: undefined;
}

/** The format of a file, and where its rows contain their values. */
export type RowLayout = TableLayout | JsonLayout | LinesLayout;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;

/** A value that is looked up. */
class Cell {
  /** Position in the block; -1 if the row has no such value. */
  start = -1;
  end = -1;
  /** The value as text, if it is quoted (csv, tsv), and always in ndjson and lines. It then has no position. */
  text: string | undefined = undefined;

  clear(): void {
    this.start = -1;
    this.end = -1;
    this.text = undefined;
  }

  /** Takes the value of a field, without surrounding spaces, because they are not part of it. */
  take(bytes: Uint8Array, start: number, end: number, isQuoted: boolean): void {
    if (isQuoted) this.text = unquoted(bytes, start, end);
    else {
      this.start = afterSpaces(bytes, start, end);
      this.end = beforeSpaces(bytes, this.start, end);
    }
  }
}

/** Positions in the block. */
export class Row {
  start = 0;
  /** Where to insert the added values. */
  insert = 0;
  /** Position after the line end. */
  end = 0;
  readonly ip = new Cell();
  readonly email = new Cell();
  /** Whether the added fields come first, which is only the case in an empty JSON object. */
  isFirst = false;
  /** Number of fields in the row (csv, tsv). */
  columns = 0;
  /** Whether a quote opens a field and never closes, or text follows it. Then the quote is an ordinary character. */
  isOpenQuoted = false;
  /** Whether the row can be read. Blank lines and broken rows remain unchanged. */
  isReadable = true;

  begin(from: number): void {
    this.start = from;
    this.ip.clear();
    this.email.clear();
    this.isFirst = false;
    this.columns = 0;
    this.isOpenQuoted = false;
    this.isReadable = true;
  }
}

/** Reads the row that begins at `from`. @returns where the next row begins */
export type RowReader = (bytes: Uint8Array, from: number, row: Row) => number;

/** Decodes bytes as text. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}

export function rowReader(layout: RowLayout): RowReader {
  switch (layout.format) {
    case "ndjson":
      return jsonRows(layout);
    case "csv":
    case "tsv":
      return delimitedRows(layout.delimiter, layout.ip, layout.email);
    case "lines":
      return lineRows(layout.ip);
  }
}

function delimitedRows(separator: string, ip?: number, email?: number): RowReader {
  const delimiter = separator.charCodeAt(0);
  return (bytes, from, row) => {
    row.begin(from);
    let at = from;
    for (let column = 0; ; column++) {
      const start = at;
      const closed = bytes[at] === QUOTE ? afterQuotes(bytes, at, delimiter) : UNCLOSED;
      const isQuoted = closed >= 0;
      if (isQuoted) at = closed;
      else if (bytes[at] === QUOTE) row.isOpenQuoted = true;
      let c = bytes[at];
      while (c !== undefined && c !== delimiter && c !== LF) c = bytes[++at];
      let end = at;
      if (c !== delimiter && bytes[end - 1] === CR && end > start) end--;
      if (column === ip) row.ip.take(bytes, start, end, isQuoted);
      if (column === email) row.email.take(bytes, start, end, isQuoted);
      if (c === delimiter) {
        at++;
        continue;
      }
      row.columns = column + 1;
      row.insert = end;
      row.end = c === undefined ? at : at + 1;
      row.isReadable = end > from;
      return row.end;
    }
  };
}

/** Returns the text inside the quotes, without surrounding white space. */
function unquoted(bytes: Uint8Array, start: number, end: number): string {
  const text = trimmed(textOf(bytes, start, end));
  return trimmed(text.slice(1, text.endsWith('"') ? -1 : undefined).replaceAll('""', '"'));
}

function afterSpaces(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] === SPACE) at++;
  return at;
}

function beforeSpaces(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] === SPACE) at--;
  return at;
}

/** The quote never closes. */
const UNCLOSED = -1;
/** Text follows the closing quote, so a quote is missing or stray. @src RFC 4180, 2.5 to 2.7 */
const MISPLACED = -2;

/**
 * Returns the position after the closing quote of the field that begins at `at`, and after spaces that follow the
 * quote; or one of the constants above, which are negative.
 */
function afterQuotes(bytes: Uint8Array, at: number, delimiter: number): number {
  for (let i = bytes.indexOf(QUOTE, at + 1); i >= 0; i = bytes.indexOf(QUOTE, i + 2)) {
    if (bytes[i + 1] === QUOTE) continue;
    let after = i + 1;
    while (bytes[after] === SPACE || bytes[after] === CR) after++;
    const c = bytes[after];
    return c === undefined || c === delimiter || c === LF ? after : MISPLACED;
  }
  return UNCLOSED;
}

/** Returns the first rows of a table, without line ends and blank rows. */
export function splitRows(text: string, delimiter: string, limit: number): string[] {
  const bytes = new TextEncoder().encode(text);
  const next = delimitedRows(delimiter);
  const row = new Row();
  const rows: string[] = [];
  for (let at = 0; at < bytes.length && rows.length < limit; ) {
    at = next(bytes, at, row);
    if (row.isReadable) rows.push(textOf(bytes, row.start, row.insert));
  }
  return rows;
}

/** The delimiters that .csv files may have. Many spreadsheets write semicolons. */
const DELIMITERS = [",", ";", "\t"] as const;

/** Matches a first line that only sets the delimiter, for Excel. */
const HINT = /^\uFEFF?sep=([^\r\n])\r?(?:\n|$)/i;

/** Returns the first line, with its end, if it only sets the delimiter for Excel (`sep=;`). */
export const hintIn = (text: string): string => HINT.exec(text)?.[0] ?? "";

/**
 * Returns the delimiter that the first line sets, or else the one that occurs most often in it, ignoring quoted text.
 */
export function delimiterIn(text: string): string {
  const named = HINT.exec(text)?.[1];
  if (named !== undefined) return named;
  const bare = firstRow(text).replaceAll(/"[^"]*"/g, "");
  const times = (delimiter: string) => bare.split(delimiter).length - 1;
  return DELIMITERS.reduce((best, next) => (times(next) > times(best) ? next : best));
}

/**
 * Returns the first row that is not blank, regardless of the delimiter. A quoted field with a line end continues the row
 * only with the right delimiter, so the longest row is the right one.
 */
export function firstRow(text: string): string {
  const rows = DELIMITERS.map((delimiter) => splitRows(text, delimiter, 1)[0] ?? "");
  return rows.reduce((best, next) => (next.length > best.length ? next : best));
}

/** Returns the fields of one row. */
export function splitRow(line: string, delimiter: string): string[] {
  const bytes = new TextEncoder().encode(line);
  const parting = delimiter.charCodeAt(0);
  const cells: string[] = [];
  for (let from = 0; ; ) {
    const end = fieldEnd(bytes, from, parting);
    const isLast = bytes[end] !== parting;
    const stop = isLast && bytes[end - 1] === CR && end > from ? end - 1 : end;
    const start = afterSpaces(bytes, from, stop);
    cells.push(
      bytes[from] === QUOTE && afterQuotes(bytes, from, parting) >= 0
        ? unquoted(bytes, from, stop)
        : textOf(bytes, start, beforeSpaces(bytes, start, stop)),
    );
    if (isLast) return cells;
    from = end + 1;
  }
}

/** Returns the position of the delimiter or line end after the field that begins at `from`, or the end of the bytes. */
function fieldEnd(bytes: Uint8Array, from: number, delimiter: number): number {
  let at = bytes[from] === QUOTE ? Math.max(from, afterQuotes(bytes, from, delimiter)) : from;
  for (let c = bytes[at]; c !== undefined && c !== delimiter && c !== LF; ) c = bytes[++at];
  return at;
}

function jsonRows({ ip, email }: JsonLayout): RowReader {
  return (bytes, from, row) => {
    row.begin(from);
    const lf = bytes.indexOf(LF, from);
    row.end = lf < 0 ? bytes.length : lf + 1;
    let last = lf < 0 ? bytes.length - 1 : lf - 1;
    while (last > from && bytes[last]! <= 0x20) last--;
    row.insert = last;
    row.isReadable = false;
    if (bytes[last] !== 0x7d) return row.end;
    try {
      const value: unknown = JSON.parse(textOf(bytes, from, last + 1));
      if (typeof value !== "object" || value === null || Array.isArray(value)) return row.end;
      const fields = value as Record<string, unknown>;
      row.isReadable = true;
      row.isFirst = Object.keys(fields).length === 0;
      row.ip.text = textAt(fields, ip);
      row.email.text = textAt(fields, email);
    } catch {
      // a broken row remains unchanged; the caller counts it
    }
    return row.end;
  };
}

function textAt(fields: Record<string, unknown>, path: string | undefined): string | undefined {
  const value = path === undefined ? undefined : fieldAt(fields, path);
  return typeof value === "string" ? trimmed(value) : undefined;
}

/** Finds the first public address of a line, or of one of its fields. @param field from 1; 0 for the whole line */
function lineRows(field: number): RowReader {
  return (bytes, from, row) => {
    row.begin(from);
    const lf = bytes.indexOf(LF, from);
    const end = lf < 0 ? bytes.length : lf;
    row.end = lf < 0 ? end : end + 1;
    row.insert = end > from && bytes[end - 1] === CR ? end - 1 : end;
    const line = textOf(bytes, from, row.insert);
    const text = field === 0 ? line : fieldOf(line, field);
    row.isReadable = line !== "" && text !== undefined;
    if (row.isReadable) row.ip.text = firstAddressIn(text ?? "") ?? "";
    return row.end;
  };
}

/**
 * Returns whether lines end only with CR, as in files of Excel for Mac. Such a file would be a single line.
 * @param text the beginning of a file
 */
export const endsLinesWithCr = (text: string): boolean => /\r[^\n]/.test(text) && !text.includes("\n");

/** The UTF-8 byte-order mark, which may precede the first row. */
export const BOM = [0xef, 0xbb, 0xbf] as const;
export const hasBom = (bytes: Uint8Array): boolean => BOM.every((byte, i) => bytes[i] === byte);

/**
 * Returns where the last whole row of a block ends, or 0 if no row is whole.
 * @param delimiter set for files whose quoted fields may contain line ends
 * @param from where the first row begins
 */
export function lastRowEnd(bytes: Uint8Array, delimiter: string | undefined, from = 0): number {
  if (delimiter === undefined || bytes.indexOf(QUOTE) < 0) return bytes.lastIndexOf(LF) + 1;
  const parting = delimiter.charCodeAt(0);
  let end = 0;
  let isFieldStart = true;
  for (let at = from; at < bytes.length; at++) {
    const c = bytes[at]!;
    if (c === QUOTE && isFieldStart) {
      const closed = afterQuotes(bytes, at, parting);
      // More bytes may close the quote, turn the last quote into the first of a pair, or follow its spaces.
      if (closed === UNCLOSED || closed >= bytes.length) return end;
      if (closed !== MISPLACED) at = closed - 1;
      isFieldStart = false;
    } else if (c === LF) {
      end = at + 1;
      isFieldStart = true;
    } else isFieldStart = c === parting;
  }
  return end;
}
