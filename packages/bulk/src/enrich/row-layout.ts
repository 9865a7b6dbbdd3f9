// row-layout.ts: defines the formats of files with rows, and where each format stores its values.

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
  /** Paths of members; undefined if there is nothing to look up. */
  readonly ip: string | undefined;
  readonly email: string | undefined;
  readonly delimiter: undefined;
  readonly width: undefined;
}

export interface LinesLayout {
  readonly format: "lines";
  /** Number of the field with the address, from 1; 0 for the first public address of the line. */
  readonly ip: number;
  readonly email: undefined;
  readonly delimiter: undefined;
  readonly width: undefined;
}

/** The format of a file, and where its rows contain their values. */
export type RowLayout = TableLayout | JsonLayout | LinesLayout;
