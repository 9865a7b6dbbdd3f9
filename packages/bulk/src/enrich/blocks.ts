// blocks.ts: a stream of bytes cut into blocks of whole rows.
//
// in   chunks of any size
// out  blocks of BLOCK_BYTES or a little more, each a buffer of its own; the last one may lack its line end
// err  those of the stream
// cost two blocks of memory; a single row that is larger than a block is kept whole, up to MAX_ROW_BYTES

import { BulkError } from "../errors.ts";
import { lastRowEnd } from "./rows.ts";

export const BLOCK_BYTES = 1 << 20;
const MAX_ROW_BYTES = 1 << 28;

/** @param delimiter of files whose rows may go on after a line's end, inside quotes */
export async function* blocks(
  chunks: AsyncIterable<Uint8Array>,
  delimiter: string | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let held = new Uint8Array(2 * BLOCK_BYTES);
  let length = 0;
  let enough = BLOCK_BYTES; // a row that is longer is looked at again when twice as much of it is there
  for await (const chunk of chunks) {
    if (length + chunk.length > held.length) held = grown(held, length, length + chunk.length);
    held.set(chunk, length);
    length += chunk.length;
    if (length < enough) continue;
    const end = lastRowEnd(held.subarray(0, length), delimiter);
    if (end === 0 && length > MAX_ROW_BYTES) {
      throw new BulkError(
        "a row is longer than 256 MB",
        "is this a file of rows? see `inkling enrich --help` for the formats",
      );
    }
    enough = end === 0 ? Math.min(2 * length, MAX_ROW_BYTES + 1) : BLOCK_BYTES;
    if (end === 0) continue;
    yield held.slice(0, end);
    held.copyWithin(0, end, length);
    length -= end;
  }
  if (length > 0) yield held.slice(0, length);
}

function grown(held: Uint8Array<ArrayBuffer>, length: number, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(held.length * 2, least));
  larger.set(held.subarray(0, length));
  return larger;
}
