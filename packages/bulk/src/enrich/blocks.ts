// blocks.ts: cuts a stream of bytes into blocks of whole rows.
//
// Cost: two blocks of memory; a row that is larger than a block is kept whole.

import { ByteBuffer } from "@inkling/data";
import { BulkError } from "../errors.ts";
import { linesEndWithCr } from "./layout.ts";
import { BOM, delimiterIn, endsLinesWithCr, hasBom, lastRowEnd, textOf } from "./rows.ts";

export const BLOCK_BYTES = 1 << 20;
/** Maximum row length in bytes. A longer row stops the command, as docs/enrich.md explains. */
export const MAX_ROW_BYTES = 1 << 26;

export interface Block {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of the block's first line, counted from 1. */
  readonly line: number;
}

/**
 * @param delimiter set for files whose quoted fields may contain line ends
 * @param size size of a block, in bytes
 */
export async function* blocks(
  chunks: AsyncIterable<Uint8Array>,
  delimiter: string | undefined,
  size = BLOCK_BYTES,
): AsyncGenerator<Block> {
  const held = new ByteBuffer(2 * size);
  let enough = size; // a longer row is searched again when twice as much of it has arrived
  let line = 1;
  let isFirst = true;
  for await (const chunk of chunks) {
    held.append(chunk);
    const { bytes, length } = held;
    if (length < enough) continue;
    const end = lastRowEnd(bytes.subarray(0, length), delimiter, isFirst && hasBom(bytes) ? BOM.length : 0);
    if (length - end > MAX_ROW_BYTES) throw tooLong(line + lineEnds(bytes.subarray(0, end)), delimiter);
    enough = end === 0 ? Math.min(2 * length, MAX_ROW_BYTES + 1) : size;
    if (end === 0) continue;
    const block = bytes.slice(0, end);
    const ends = lineEnds(block); // counted first, because the caller may transfer the block to a thread
    yield { bytes: block, line };
    line += ends;
    isFirst = false;
    held.drop(end);
  }
  if (held.length > 0) yield { bytes: held.copied(), line };
}

function tooLong(line: number, delimiter: string | undefined): BulkError {
  return new BulkError(
    `line ${line}: the row that starts here is longer than ${MAX_ROW_BYTES >> 20} MiB`,
    delimiter === undefined
      ? "check that the file has one row per line; run `inkling enrich --help` to see the formats"
      : "if a quote in that line is never closed, close it; otherwise shorten the row",
  );
}

/**
 * Finds the end of the last whole row in a file's first bytes, in any format. Returns 0 if no row is whole.
 * @throws BulkError if the first row is too long
 */
export function lastRowEndOfHead(head: Uint8Array): number {
  const from = hasBom(head) ? BOM.length : 0;
  const text = textOf(head, from, head.length);
  if (endsLinesWithCr(text)) throw linesEndWithCr();
  const delimiter = delimiterIn(text);
  const end = lastRowEnd(head, delimiter, from);
  if (end === 0 && head.length > MAX_ROW_BYTES)
    throw tooLong(1, head.includes(QUOTE) ? delimiter : undefined);
  return end;
}

const QUOTE = 0x22;
const LF = 0x0a;
/** Counts the line feeds in a block. */
export function lineEnds(block: Uint8Array): number {
  let count = 0;
  for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) count++;
  return count;
}
