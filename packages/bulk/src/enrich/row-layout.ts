// row-layout.ts: the formats of files with rows, and what of each says where its values stand.

import { LOG_NAMES, type LogName } from "./logs.ts";

/** Formats whose values are columns. */
export type TableFormat = "csv" | "tsv";
export type RowFormat = TableFormat | "ndjson" | "w3c" | LogName;
/** `log`: one of the logs, whichever the first lines are. */
export const FORMAT_NAMES = ["csv", "tsv", "ndjson", "log", ...LOG_NAMES, "w3c"] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

export interface TableLayout {
  readonly format: TableFormat;
  /** Columns from 0 on; undefined if none is looked up. */
  readonly ip: number | undefined;
  readonly email: number | undefined;
  /** What separates the columns: one character. */
  readonly delimiter: string;
  /** How many columns the header names. */
  readonly width: number | undefined;
}

export interface JsonLayout {
  readonly format: "ndjson";
  /** Paths of members; undefined if none is looked up. */
  readonly ip: string | undefined;
  readonly email: string | undefined;
  readonly delimiter: undefined;
  readonly width: undefined;
}

export interface W3cLayout {
  readonly format: "w3c";
  /** Column from 0 on. */
  readonly ip: number;
  readonly email: undefined;
  readonly delimiter: string;
  readonly width: number;
}

export interface LogLayout {
  readonly format: LogName;
  /** Name of a field. */
  readonly ip: string;
  readonly email: undefined;
  readonly delimiter: undefined;
  readonly width: undefined;
}

/** How a file is written, and where in a row the values stand. */
export type RowLayout = TableLayout | JsonLayout | W3cLayout | LogLayout;
