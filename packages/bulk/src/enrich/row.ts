// row.ts: where a row begins and ends in bytes, and where in it its address and email address are.

const LF = 0x0a;
const CR = 0x0d;

/** Where things are in the block; a start of -1: not there. */
export class Row {
  start = 0;
  /** Where what is added goes. */
  insert = 0;
  /** After the line's end. */
  end = 0;
  ipStart = -1;
  ipEnd = -1;
  emailStart = -1;
  emailEnd = -1;
  /** What stands in the place of bytes where a value was written with escapes. */
  ipText: string | undefined = undefined;
  emailText: string | undefined = undefined;
  /** Is there anything before what is added? Only an empty object of JSON has nothing. */
  isFirst = false;
  /** Fields that it has (csv, tsv). */
  columns = 0;
  /** Does a quote open a field in it that never closes? Then it is a character like others. */
  isOpenQuoted = false;
  /** Is it a row at all? Blank lines, broken rows and directives stay as they are. */
  isReadable = true;
  /** Is it a line about the file (w3c)? */
  isDirective = false;
}

export interface RowReader {
  /** Reads the row that begins at `from`. @returns where the next one begins */
  next(bytes: Uint8Array, from: number, row: Row): number;
}

export function clear(row: Row, from: number): void {
  row.start = from;
  row.ipStart = -1;
  row.ipEnd = -1;
  row.emailStart = -1;
  row.emailEnd = -1;
  row.ipText = undefined;
  row.emailText = undefined;
  row.isFirst = false;
  row.columns = 0;
  row.isOpenQuoted = false;
  row.isReadable = true;
  row.isDirective = false;
}

/** Bytes as text. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}

/** Clears the row and sets it to the line that begins at `from`. */
export function takeLine(bytes: Uint8Array, from: number, row: Row): void {
  clear(row, from);
  const lf = bytes.indexOf(LF, from);
  const end = lf < 0 ? bytes.length : lf;
  row.end = lf < 0 ? end : end + 1;
  row.insert = end > from && bytes[end - 1] === CR ? end - 1 : end;
  row.isReadable = row.insert > from;
}
