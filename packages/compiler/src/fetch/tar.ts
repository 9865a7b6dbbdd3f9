// tar.ts: extracts the one data file from a tar file.
//
// Source: POSIX.1-2024 pax, ustar. Cost: memory only for the chunks in flight. These 90 lines avoid tar-stream 3.2.2,
// which would add streamx, b4a, fast-fifo and bare-fs.

import { FeedError } from "../catalog/feed.ts";
import { isDataFile, noFile, severalFiles } from "./archive-names.ts";
import type { Chunks } from "./chunks.ts";

export const BLOCK = 512;

const ascii = (bytes: Uint8Array, from: number, to: number) =>
  Buffer.from(bytes.subarray(from, to)).toString();

/** @param head the first block of a file */
export const isTar = (head: Uint8Array): boolean =>
  head.length === BLOCK && ascii(head, 257, 262) === "ustar";

/** Types of ordinary files. Directories, links and pax headers are skipped. */
const FILE_TYPES = new Set(["0", "\0"]);

export async function* untarred(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const input = new Blocks(chunks);
  let isFound = false;
  for (;;) {
    const header = await input.block();
    if (header === undefined) throw new FeedError("is a truncated tar file");
    if (header[0] === 0) break; // empty blocks mark the end of the file
    const name = ascii(header, 0, 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(ascii(header, 124, 136), 8);
    if (!isTar(header) || !(size >= 0)) throw new FeedError("is a damaged tar file");
    const isWanted = FILE_TYPES.has(String.fromCharCode(header[156]!)) && isDataFile(name);
    if (isWanted && isFound) throw severalFiles();
    isFound ||= isWanted;
    let left = size;
    for await (const chunk of input.take(Math.ceil(size / BLOCK) * BLOCK)) {
      if (isWanted && left > 0) yield chunk.subarray(0, left);
      left -= chunk.length;
    }
  }
  if (!isFound) throw noFile();
  for await (const _ of input.rest()); // reads to the end, so that the gzip layer is checked completely
}

/** Returns as many bytes as requested from chunks of any size. */
class Blocks {
  private readonly source: AsyncIterator<Uint8Array>;
  private held: Uint8Array = new Uint8Array();

  constructor(chunks: Chunks) {
    this.source = chunks[Symbol.asyncIterator]();
  }

  async block(): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for (; bytes < BLOCK; bytes += parts.at(-1)!.length) {
      const part = await this.some(BLOCK - bytes);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  async *take(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      const part = await this.some(left);
      if (part === undefined) throw new FeedError("is a truncated tar file");
      left -= part.length;
      yield part;
    }
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    for (let part = await this.some(BLOCK); part !== undefined; part = await this.some(BLOCK)) yield part;
  }

  private async some(most: number): Promise<Uint8Array | undefined> {
    while (this.held.length === 0) {
      const next = await this.source.next();
      if (next.done) return undefined;
      this.held = next.value;
    }
    const part = this.held.subarray(0, most);
    this.held = this.held.subarray(part.length);
    return part;
  }
}
