// unpack.ts: a stream of bytes -> the same bytes, unpacked when they are gzip, and never more than a limit.
//
// in   chunks of a file or an HTTP body; gzip is known by its first two bytes, whatever a name or header says
// out  chunks; a packed file of a feed can be packed again in transfer, so up to two layers come off
// err  FeedError: too large (also a small file that unpacks to a large one), damaged or cut gzip
// cost the chunks in flight: a gzip bomb costs no more memory than an honest file

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { FeedError } from "../feed.ts";

type Chunks = AsyncIterable<Uint8Array>;

/** @throws FeedError (when iterated) as above, and whatever `chunks` throws */
export function unpacked(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  return limited(gunzipped(gunzipped(limited(chunks, maxBytes))), maxBytes);
}

async function* limited(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FeedError(`is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

async function* gunzipped(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    let head = new Uint8Array();
    let ended = false;
    while (head.length < 2 && !ended) {
      const next = await iterator.next();
      ended = next.done === true;
      if (!next.done) head = head.length === 0 ? next.value.slice() : Buffer.concat([head, next.value]);
    }
    const rest = prepend(head, iterator);
    if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzip(rest);
    else yield* rest;
  } finally {
    await iterator.return?.();
  }
}

async function* prepend(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

async function* gunzip(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const stream = createGunzip();
  let sourceError: unknown;
  const watched = (async function* () {
    try {
      yield* chunks;
    } catch (error) {
      sourceError = error;
      throw error;
    }
  })();
  // Its failure reaches the loop below through the stream, which pipeline destroys with the same error.
  const feeding = pipeline(Readable.from(watched, { objectMode: false }), stream).catch(() => {});
  try {
    for await (const chunk of stream) yield chunk;
  } catch {
    if (sourceError !== undefined) throw sourceError;
    throw new FeedError("is a damaged gzip file, or is cut short");
  } finally {
    stream.destroy();
    await feeding;
  }
}
