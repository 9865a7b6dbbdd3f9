// archive.ts: extracts the one data file from a zip or tar file, and passes anything else through.
//
// in   chunks; an archive is recognized by its content (for tar, "ustar" at byte 257), not by its name or headers
// err  FeedError, like zip.ts and tar.ts

import { type Chunks, withHead } from "./chunks.ts";
import { BLOCK, isTar, untarred } from "./tar.ts";
import { unzipped } from "./zip.ts";

const ZIP_STARTS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06], // an empty zip file
];

/** @param maxBytes maximum size of the output, in bytes */
export async function* unarchived(chunks: Chunks, maxBytes: number): AsyncGenerator<Uint8Array> {
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
