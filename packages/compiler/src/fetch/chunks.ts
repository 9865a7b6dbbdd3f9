// chunks.ts: byte streams for the unpackers.

import { FeedError } from "../catalog/feed.ts";

export type Chunks = AsyncIterable<Uint8Array>;

/** Yields the chunks unchanged. Iterating over them throws a FeedError after more than `maxBytes`. */
export async function* limited(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** A stream whose first bytes have already been read. */
interface Headed {
  /** The requested number of first bytes, or fewer if the stream is shorter. */
  readonly head: Uint8Array;
  /** The whole stream, including the first bytes. */
  readonly all: AsyncGenerator<Uint8Array>;
  /** Closes the source, even if `all` was never read. */
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
