// byte-buffer.ts: a byte buffer that grows as bytes are appended.

/** Buffer's `copy`, which works with any Uint8Array on Bun and Node. */
const { copy } = Buffer.prototype;
/** Below this number of bytes, a loop is faster than a call. */
const SHORT = 24;

export class ByteBuffer {
  /** The buffer's memory. Callers may write directly into the space after `length` that {@link reserve} has made. */
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Appends `source[start..end)`. It takes indexes, because creating a view would take longer than copying. */
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

  /** Makes room for `size` more bytes. Afterwards, `bytes` may be a different array. */
  reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + size));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** Removes the first `size` bytes. */
  drop(size: number): void {
    this.bytes.copyWithin(0, size, this.length);
    this.length -= size;
  }

  /** Returns a copy of the bytes, in a separate array. */
  copied(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }
}
