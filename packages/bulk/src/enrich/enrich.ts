// enrich.ts: reads a stream of rows and writes the same rows in the same order, with columns added to each.
//
// Cost: constant memory. Each thread has at most two blocks in progress, and no more are read until the first of them
// is written. If rows are longer than a block, fewer blocks are in progress.

import { notAllRead, unlessAborted, untilStopped } from "../errors.ts";
import { BLOCK_BYTES, blocks } from "./blocks.ts";
import type { Enriched, Tally } from "./enricher.ts";
import type { Plan } from "./plan.ts";
import type { Pool } from "./pool.ts";

/**
 * Number of blocks between two garbage collections. Without collections, 1 MB buffers pile up on a machine with a lot
 * of memory.
 */
const BLOCKS_TO_COLLECT = 64;

/** Number of blocks in progress per thread. */
const AHEAD = 2;
/** A larger block contains a row that is longer than BLOCK_BYTES. */
const MAX_USUAL_BLOCK = 3 * BLOCK_BYTES;

/** @param write is called with each block of whole rows, in order */
export async function enrich(
  chunks: AsyncIterable<Uint8Array>,
  plan: Plan,
  pool: Pool,
  signal: AbortSignal,
  write: (bytes: Uint8Array) => void | Promise<void>,
): Promise<Tally> {
  const underWay: { readonly result: Promise<Enriched>; readonly size: number; readonly line: number }[] = [];
  let bytesUnderWay = 0;
  let firstUnparsable: number | undefined;
  let firstRagged: number | undefined;
  let isFirst = true;
  let written = 0;
  const unlessStopped = <T>(promise: Promise<T>) => unlessAborted(promise, signal, notAllRead);
  const writeOldest = async () => {
    const { result, size, line } = underWay.shift()!;
    const { bytes, unparsable, ragged } = await unlessStopped(result);
    bytesUnderWay -= size;
    if (unparsable !== undefined) firstUnparsable ??= line + unparsable;
    if (ragged !== undefined) firstRagged ??= line + ragged;
    await unlessStopped(Promise.resolve(write(bytes)));
    if (++written % BLOCKS_TO_COLLECT === 0) Bun.gc(true);
  };
  try {
    for await (const { bytes: block, line } of blocks(untilStopped(chunks, signal), quotingDelimiter(plan))) {
      const size = block.length; // the block is empty once it has been transferred to a thread
      while (underWay.length > 0 && bytesUnderWay + size > AHEAD * pool.size * MAX_USUAL_BLOCK)
        await writeOldest();
      const result = pool.block(block, isFirst);
      result.catch(() => {}); // it may fail before its turn; writeOldest then throws the error
      underWay.push({ result, size, line });
      bytesUnderWay += size;
      isFirst = false;
      if (underWay.length >= AHEAD * pool.size) await writeOldest();
    }
    while (underWay.length > 0) await writeOldest();
    return { ...(await unlessStopped(pool.finish())), firstUnparsable, firstRagged };
  } finally {
    pool.stop();
  }
}

/** Returns the delimiter of files whose quoted fields may contain line ends. */
const quotingDelimiter = ({ format, delimiter }: Plan) =>
  format === "csv" || format === "tsv" ? delimiter : undefined;

/** For files smaller than this many bytes, threads cost more time than they save. */
export const SMALL_BYTES = 4 * BLOCK_BYTES;
