// enrich.ts: a stream of rows in, the same rows in the same order with more in each, out.
//
// in   chunks of bytes, a plan, the release and overrides to answer from
// out  chunks of bytes; the tally
// err  errors of the streams; Interrupted as soon as the signal is aborted, also while a stream is idle
// cost constant memory: two blocks for each thread are under way, and none more is read until the first of them is
//      written; fewer while rows are longer than a block

import { BulkError, notAllRead, unlessAborted, untilStopped } from "../errors.ts";
import { BLOCK_BYTES, blocks } from "./blocks.ts";
import type { Enriched, Tally } from "./enricher.ts";
import type { Plan } from "./plan.ts";
import type { Pool } from "./pool.ts";
import { W3C_FIELDS } from "./rows.ts";

interface EnrichHooks {
  readonly signal: AbortSignal;
  write(bytes: Uint8Array): void | Promise<void>;
  /** After each block: rows done. */
  onProgress(rows: number): void;
}

/** Left alone, buffers of 1 MB pile up on a machine with much memory. */
const BLOCKS_TO_COLLECT = 64;

/** Blocks that wait for each thread while it works on one. */
const AHEAD = 2;
/** A larger block has a row that is longer than a block. */
const MAX_USUAL_BLOCK = 3 * BLOCK_BYTES;

export async function enrich(
  chunks: AsyncIterable<Uint8Array>,
  plan: Plan,
  pool: Pool,
  hooks: EnrichHooks,
): Promise<Tally> {
  const underWay: { readonly result: Promise<Enriched>; readonly size: number }[] = [];
  let bytesUnderWay = 0;
  let linesDone = 0;
  let firstBroken: number | undefined;
  let isFirst = true;
  let written = 0;
  const unlessStopped = <T>(promise: Promise<T>) => unlessAborted(promise, hooks.signal, notAllRead);
  const writeOldest = async () => {
    const { result, size } = underWay.shift()!;
    const { bytes, lines, broken } = await unlessStopped(result);
    bytesUnderWay -= size;
    if (broken !== undefined) firstBroken ??= linesDone + broken + 1;
    linesDone += lines;
    await unlessStopped(Promise.resolve(hooks.write(bytes)));
    if (++written % BLOCKS_TO_COLLECT === 0) Bun.gc(true);
    hooks.onProgress(pool.rows);
  };
  try {
    for await (const block of blocks(untilStopped(chunks, hooks.signal), quotingDelimiter(plan))) {
      if (plan.fieldsLine !== undefined) checkFields(block, plan.fieldsLine);
      const size = block.length; // none once a thread has the block
      while (underWay.length > 0 && bytesUnderWay + size > AHEAD * pool.size * MAX_USUAL_BLOCK)
        await writeOldest();
      const result = pool.block(block, isFirst);
      result.catch(() => {}); // may fail before its turn: writeOldest throws it
      underWay.push({ result, size });
      bytesUnderWay += size;
      isFirst = false;
      if (underWay.length >= AHEAD * pool.size) await writeOldest();
    }
    while (underWay.length > 0) await writeOldest();
    return { ...(await unlessStopped(pool.finish())), firstBroken };
  } finally {
    pool.stop();
  }
}

/** Separates columns in files whose rows may continue after a line's end, inside quotes. */
const quotingDelimiter = ({ format, delimiter }: Plan) =>
  format === "csv" || format === "tsv" ? delimiter : undefined;

/** Log files that were put together may name other columns in the middle. @throws BulkError */
function checkFields(block: Uint8Array, wanted: string): void {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  for (let at = bytes.indexOf(W3C_FIELDS); at >= 0; at = bytes.indexOf(W3C_FIELDS, at + 1)) {
    if (at > 0 && bytes[at - 1] !== LF) continue;
    const end = bytes.indexOf(LF, at);
    const line = bytes.toString("utf8", at, end < 0 ? undefined : end).trimEnd();
    if (line !== wanted)
      throw new BulkError("a second #Fields line names other columns than the first", "split the file there");
  }
}

const LF = 0x0a;

/** Threads cost more than they give below this many bytes. */
export const SMALL_BYTES = 4 * BLOCK_BYTES;
