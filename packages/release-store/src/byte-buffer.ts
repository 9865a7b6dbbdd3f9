// byte-buffer.ts: bytes that grow at their end.

/** Copies from any Uint8Array, on Bun and Node. */
const { copy } = Buffer.prototype;
/** Below this many bytes a loop is faster than a call. */
const SHORT = 24;

export class ByteBuffer {
  /** May be written directly from `length` up to the space that {@link reserve} made. */
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Appends `source[start..end)`: a view of it would cost more than the copy. */
  append(source: Uint8Array, start = 0, end = source.length): void {
    const size = end - start;
    if (this.length + size > this.bytes.length) this.reserve(size);
    if (size < SHORT) {
      const { bytes } = this;
      for (let i = start, at = this.length; i < end; ) bytes[at++] = source[i++]!;
    } else copy.call(source as Buffer, this.bytes, this.length, start, end);
    this.length += size;
  }

  appendByte(byte: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = byte;
  }

  /** Makes room for more bytes: `bytes` may be another array then. */
  reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + size));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** Removes the first bytes. */
  drop(size: number): void {
    this.bytes.copyWithin(0, size, this.length);
    this.length -= size;
  }

  /** What was written, as its own buffer. */
  copied(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }
}
