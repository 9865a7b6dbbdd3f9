// unpack.ts: a stream of bytes -> the same bytes, unpack when they are gzip, zip or tar, and never more than a limit.
//
// in   chunks of a file or an HTTP body; gzip is recognized by its first two bytes, not by its name or headers
// out  chunks; a packed file of a feed can be packed again in transfer, so up to two layers of gzip come off;
//      then the one file of data out of an archive (archive.ts)
// err  FeedError: too large (also a small file that unpacks to a large one), damaged or cut gzip
// cost the chunks in flight (of a zip file, the file): a zip bomb takes no more memory than any other file

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { FeedError } from "../catalog/feed.ts";
import { unarchived } from "./archive.ts";
import { type Chunks, limited, withHead } from "./chunks.ts";

/**
 * What may stand beside the data at any layer: headers, licences. Without a limit there 2 KB of gzip held members of a
 * tar file of 1 GB that were read to be passed over.
 */
const BESIDE_BYTES = 2 ** 20;

/** @throws FeedError (when iterated) as above, and whatever `chunks` throws */
export function unpack(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const most = maxBytes + BESIDE_BYTES;
  const layers = limited(gunzipped(limited(gunzipped(limited(chunks, maxBytes)), most)), most);
  return limited(unarchived(layers, maxBytes), maxBytes);
}

async function* gunzipped(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const { head, all, close } = await withHead(chunks, 2);
  try {
    if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzip(all);
    else yield* all;
  } finally {
    await close();
  }
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
