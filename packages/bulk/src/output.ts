// output.ts: bytes that grow at their end.

export class Output {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Appends `from[start..end)`. */
  append(from: Uint8Array, start = 0, end = from.length): void {
    const size = end - start;
    this.reserve(size);
    if (size < SHORT) {
      const { bytes } = this;
      for (let i = start, at = this.length; i < end; ) bytes[at++] = from[i++]!;
    } else this.bytes.set(from.subarray(start, end), this.length);
    this.length += size;
  }

  /** Makes room for more bytes: `bytes` may be another array then. */
  reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + size));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  /** What was written, as a buffer of its own. */
  taken(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length) as Uint8Array<ArrayBuffer>;
  }
}

/** Below this many bytes a loop is faster than a view and a copy. */
const SHORT = 48;
