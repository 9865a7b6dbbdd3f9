// chunks.ts: streams of bytes for the unpackers.

import { FeedError } from "../catalog/feed.ts";

export type Chunks = AsyncIterable<Uint8Array>;

/** The same chunks. @throws FeedError (when iterated) once there are more than `maxBytes` */
export async function* limited(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** A stream whose first bytes have been read. */
interface Headed {
  /** As many as were wanted, or all there are. */
  readonly head: Uint8Array;
  /** The whole stream again. */
  readonly all: AsyncGenerator<Uint8Array>;
  /** Closes the source, also when nothing was read of `all`. */
  close(): Promise<unknown>;
}

export async function withHead(chunks: Chunks, bytes: number): Promise<Headed> {
  const iterator = chunks[Symbol.asyncIterator]();
  let held = new Uint8Array();
  try {
    while (held.length < bytes) {
      const next = await iterator.next();
      if (next.done) break;
      held = held.length === 0 ? next.value.slice() : Buffer.concat([held, next.value]);
    }
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
  async function* all() {
    if (held.length > 0) yield held;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  return {
    head: held.subarray(0, bytes),
    all: all(),
    close: async () => iterator.return?.(),
  };
}
