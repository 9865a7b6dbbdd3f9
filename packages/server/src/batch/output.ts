// output.ts: the bytes that a batch writes, in pieces.
//
// cost two buffers in turn: a new one for each piece of a stream of 400 MB a second left so much garbage that the process
//      grew by 600 MB between two collections

import type { PartSink } from "@inkling/engine";

/** Copies from any Uint8Array, on Bun and Node. */
const { copy } = Buffer.prototype;

export class Output implements PartSink {
  /** May be written directly from `length` on, up to `room` bytes. */
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;
  private readonly size: number;
  private other: Uint8Array<ArrayBuffer> | undefined;

  /** @param size of a piece; it grows only for an addition that does not fit */
  constructor(size: number) {
    this.size = size;
    this.bytes = new Uint8Array(size);
  }

  /** Bytes that fit without growing. */
  get room(): number {
    return this.bytes.length - this.length;
  }

  add(piece: Uint8Array): void {
    if (piece.length > this.room) this.grow(piece.length);
    this.bytes.set(piece, this.length);
    this.length += piece.length;
  }

  /** As {@link add}, for a part of `source`: a view of it would cost more than the copy. */
  addPart(source: Uint8Array, start: number, end: number): void {
    if (end - start > this.room) this.grow(end - start);
    this.length += copy.call(source as Buffer, this.bytes, this.length, start, end);
  }

  addByte(byte: number): void {
    if (this.room === 0) this.grow(1);
    this.bytes[this.length++] = byte;
  }

  /** What was written since the last call; overwritten after the next one. */
  take(): Uint8Array<ArrayBuffer> {
    const { bytes, length } = this;
    this.length = 0;
    this.bytes = this.other ?? new Uint8Array(this.size);
    this.other = bytes;
    return bytes.subarray(0, length);
  }

  private grow(more: number): void {
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + more));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}
