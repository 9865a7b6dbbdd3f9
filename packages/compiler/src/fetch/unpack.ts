// unpack.ts: unpacks a byte stream if it is gzip, zip or tar, up to a size limit.
//
// A packed feed file may be packed again in transfer, so up to two layers of gzip are removed. Then the one data file
// is extracted from a zip or tar file (for tar, "ustar" is at byte 257). Cost: memory for the chunks in flight (for a
// zip file, for the whole file). A zip bomb takes no more memory than any other file.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { FeedError } from "../catalog/feed.ts";
import { type Chunks, limited, withHead } from "./chunks.ts";
import { BLOCK, isTar, untarred } from "./tar.ts";
import { unzipped } from "./zip.ts";

const ZIP_STARTS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06], // an empty zip file
];

/** @param maxBytes maximum size of the output, in bytes */
async function* unarchived(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
  const { head, all, close } = await withHead(chunks, BLOCK);
  try {
    if (ZIP_STARTS.some((start) => start.every((byte, i) => head[i] === byte)))
      yield* unzipped(all, maxBytes);
    else if (isTar(head)) yield* untarred(all);
    else yield* all;
  } finally {
    await close();
  }
}

/**
 * Bytes that a layer may contain in addition to the data, such as headers and licences. Without this limit, 2 KB of
 * gzip could contain 1 GB of tar members, all of which would be read only to be skipped.
 */
const BESIDE_BYTES = 2 ** 20;

/** @throws FeedError (when iterated) as listed above, and any error of `chunks` */
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
  // A failure here reaches the loop below through the stream, because pipeline destroys the stream with the same error.
  const feeding = pipeline(Readable.from(watched, { objectMode: false }), stream).catch(() => {});
  try {
    for await (const chunk of stream) yield chunk;
  } catch {
    if (sourceError !== undefined) throw sourceError;
    throw new FeedError("is a damaged or truncated gzip file");
  } finally {
    stream.destroy();
    await feeding;
  }
}
