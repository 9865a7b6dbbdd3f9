// output.ts: the bytes that a batch writes, in pieces.
//
// cost two buffers in turn: a new one for each piece of a stream of 400 MB a second left so much garbage that the process
//      grew by 600 MB between two collections

import type { PartSink } from "@inkling/engine";
import { ByteBuffer } from "@inkling/release-store";

export class Output extends ByteBuffer implements PartSink {
  private readonly size: number;
  private other: Uint8Array<ArrayBuffer> | undefined;

  /** @param size of a piece; it grows only for an addition that does not fit */
  constructor(size: number) {
    super(size);
    this.size = size;
  }

  /** Bytes that fit without growing. */
  get room(): number {
    return this.bytes.length - this.length;
  }

  /** What was written since the last call; overwritten after the next one. */
  take(): Uint8Array<ArrayBuffer> {
    const { bytes, length } = this;
    this.length = 0;
    this.bytes = this.other ?? new Uint8Array(this.size);
    this.other = bytes;
    return bytes.subarray(0, length);
  }
}
