// row-layout.ts: defines the formats of files with rows, and where each format stores its values.

import { LOG_NAMES, type LogName } from "./logs.ts";

/** Formats whose values are columns. */
export type TableFormat = "csv" | "tsv";
export type RowFormat = TableFormat | "ndjson" | "w3c" | LogName;
/** `log` stands for any of the log formats; the first lines show which. */
export const FORMAT_NAMES = ["csv", "tsv", "ndjson", "log", ...LOG_NAMES, "w3c"] as const;
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
  /** Paths of members; undefined if there is nothing to look up. */
  readonly ip: string | undefined;
  readonly email: string | undefined;
  readonly delimiter: undefined;
  readonly width: undefined;
}

export interface W3cLayout {
  readonly format: "w3c";
  /** Column index from 0. */
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

/** The format of a file, and where its rows contain their values. */
export type RowLayout = TableLayout | JsonLayout | W3cLayout | LogLayout;
