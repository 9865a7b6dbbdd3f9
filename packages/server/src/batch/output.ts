// output.ts: collects the bytes that a batch writes, and hands them out in pieces. It uses two buffers alternately. With
// a new buffer for each piece, a 400 MB/s stream left so much garbage that the process grew by 600 MB between two
// collections.

import { ByteBuffer } from "@inkling/data";
import type { PartSink } from "@inkling/engine";

/** Size of a piece of answers. */
export const PIECE_BYTES = 64 * 1024;

export class Output extends ByteBuffer implements PartSink {
  private readonly size: number;
  private other: Uint8Array<ArrayBuffer> | undefined;

  /** @param size size of a piece in bytes; a piece grows only if a single write does not fit */
  constructor(size: number) {
    super(size);
    this.size = size;
  }

  /** Number of bytes that can be written without growing the piece. */
  get room(): number {
    return this.bytes.length - this.length;
  }

  /** Returns what was written since the last call. The bytes are overwritten after the next call. */
  take(): Uint8Array<ArrayBuffer> {
    const { bytes, length } = this;
    this.length = 0;
    this.bytes = this.other ?? new Uint8Array(this.size);
    this.other = bytes;
    return bytes.subarray(0, length);
  }
}
