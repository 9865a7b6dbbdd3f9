// blocks.ts: a stream of bytes cut into blocks of whole rows.
//
// in   chunks of any size
// out  blocks of BLOCK_BYTES or a little more, each its own buffer; the last one may lack its line end
// err  BulkError: a row that is longer than MAX_ROW_BYTES, with the number of its first line; errors of the stream
// cost two blocks of memory; a single row that is larger than a block is kept whole

import { ByteBuffer } from "@inkling/release-store";
import { BulkError } from "../errors.ts";
import { BOM, delimiterIn, hasBom, lastRowEnd, textOf } from "./rows.ts";

export const BLOCK_BYTES = 1 << 20;
/** Longer rows end the work: documented in docs/enrich.md. */
export const MAX_ROW_BYTES = 1 << 26;

/**
 * @param delimiter of files whose rows may continue after a line's end, inside quotes
 * @param size of a block
 */
export async function* blocks(
  chunks: AsyncIterable<Uint8Array>,
  delimiter: string | undefined,
  size = BLOCK_BYTES,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const held = new ByteBuffer(2 * size);
  let enough = size; // a row that is longer is looked at again when twice as much of it is there
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
    line += lineEnds(block);
    yield block;
    isFirst = false;
    held.drop(end);
  }
  if (held.length > 0) yield held.copied();
}

function tooLong(line: number, delimiter: string | undefined): BulkError {
  return new BulkError(
    `line ${line}: the row that begins there is longer than ${MAX_ROW_BYTES >> 20} MiB`,
    delimiter === undefined
      ? "is this a file of rows? see `inkling enrich --help` for the formats"
      : "if a quote in that line is never closed, close it; otherwise shorten the row",
  );
}

/**
 * Where the last whole row of a file's first bytes ends, whatever its format is; 0: none is whole.
 * @throws BulkError when the first row is too long
 */
export function lastRowEndOfHead(head: Uint8Array): number {
  const from = hasBom(head) ? BOM.length : 0;
  const delimiter = delimiterIn(textOf(head, from, head.length));
  const end = lastRowEnd(head, delimiter, from);
  if (end === 0 && head.length > MAX_ROW_BYTES)
    throw tooLong(1, head.includes(QUOTE) ? delimiter : undefined);
  return end;
}

const QUOTE = 0x22;
const LF = 0x0a;
/** How many line feeds a block has. */
function lineEnds(block: Uint8Array): number {
  let count = 0;
  for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) count++;
  return count;
}
