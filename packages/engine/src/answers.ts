// answers.ts: the answer records of a segment: bytes that go out as they stand.
//
// A record is a uint32 length, the answer's bytes, and zeros up to the next multiple of 8.
// A value in a range table is the record's offset divided by 8: one read from value to answer.

import { SegmentError } from "./segment.ts";

/** Records start at multiples of this many bytes. */
export const RECORD_ALIGN = 8;

export class Answers {
  private readonly bytes: Uint8Array;
  private readonly words: Uint32Array;

  constructor(bytes: Uint8Array) {
    if (bytes.length % RECORD_ALIGN !== 0 || bytes.length < RECORD_ALIGN) {
      throw new SegmentError(
        "section answers",
        `has ${bytes.length} bytes, want a multiple of ${RECORD_ALIGN}`,
      );
    }
    this.bytes = bytes;
    this.words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  /** The answer that `value` names, or undefined when its record is empty. A view: never write to it. */
  at(value: number): Uint8Array | undefined {
    const length = this.words[value * 2]!;
    if (!(length > 0)) return undefined; // also when value is out of bounds
    const start = value * RECORD_ALIGN + 4;
    const end = start + length;
    return end <= this.bytes.length ? this.bytes.subarray(start, end) : undefined;
  }

  /**
   * Walks all records; the result tells whether a value names the start of one.
   * @throws SegmentError when a record runs past the end
   */
  verify(): (value: number) => boolean {
    const starts = new Uint8Array(this.bytes.length / RECORD_ALIGN);
    let at = 0;
    while (at < this.bytes.length) {
      const end = at + 4 + this.words[at / 4]!;
      if (end > this.bytes.length)
        throw new SegmentError(`answers, byte ${at}`, "record runs past the end of the section");
      starts[at / RECORD_ALIGN] = 1;
      at = Math.ceil(end / RECORD_ALIGN) * RECORD_ALIGN;
    }
    return (value) => starts[value] === 1;
  }
}
