// answers.ts: the records of a segment: answers, bytes that go out as they stand, and evidence.
//
// A record is a uint32 length, its bytes, and zeros up to the next multiple of 8.
// A value in a range table is the record's offset divided by 8: one read from value to answer.
// A record with a note has a uint32 more, at the next multiple of 4 after its bytes.
//
// cost a view of bytes takes 50 to 100 ns to make, twice as long as finding the record: those of the records that were
//      asked for lately are kept, 2 MB of them (bench/README.md, Layouts)

import { SegmentError } from "./segment.ts";

/** Records start at multiples of this many bytes. */
export const RECORD_ALIGN = 8;

const NO_BYTES = new Uint8Array(0);

/** Views kept, a power of two: each value has one place, and the last that was asked for has it. */
const KEPT_BITS = 14;

export class Answers {
  private readonly bytes: Uint8Array;
  private readonly words: Uint32Array;
  private readonly section: string;
  private readonly noteBytes: 0 | 4;
  private readonly keptValues = new Uint32Array(1 << KEPT_BITS);
  private readonly kept: Uint8Array[] = [];

  /**
   * @param section its name, for errors
   * @throws SegmentError
   */
  constructor(bytes: Uint8Array, section = "answers", hasNotes = false) {
    this.section = section;
    this.noteBytes = hasNotes ? 4 : 0;
    if (bytes.length % RECORD_ALIGN !== 0 || bytes.length < RECORD_ALIGN) {
      throw new SegmentError(
        `section ${section}`,
        `has ${bytes.length} bytes, want a multiple of ${RECORD_ALIGN}`,
      );
    }
    this.bytes = bytes;
    this.words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    for (let place = 0; place < 1 << KEPT_BITS; place++) this.kept.push(NO_BYTES);
  }

  /** The answer that `value` names, or undefined when its record is empty. A view: never write to it. */
  at(value: number): Uint8Array | undefined {
    const place = Math.imul(value, 0x9e3779b1) >>> (32 - KEPT_BITS);
    if (value !== 0 && this.keptValues[place] === value) return this.kept[place];
    const view = this.viewOf(value);
    if (view === undefined) return undefined;
    this.keptValues[place] = value;
    this.kept[place] = view;
    return view;
  }

  private viewOf(value: number): Uint8Array | undefined {
    const length = this.words[value * 2]!;
    if (!(length > 0)) return undefined; // also when value is out of bounds
    const start = value * RECORD_ALIGN + 4;
    const end = start + length;
    return end <= this.bytes.length ? this.bytes.subarray(start, end) : undefined;
  }

  /**
   * Copies the answer that `value` names to `out` from `at` on.
   * @returns its length: 0 when its record is empty, -1 when it does not fit
   */
  copyInto(value: number, out: Uint8Array, at: number): number {
    const answer = this.at(value);
    if (answer === undefined) return 0;
    if (at + answer.length > out.length) return -1;
    out.set(answer, at);
    return answer.length;
  }

  /** The note of the record that `value` names; 0 when it is out of bounds. Only for records that have notes. */
  noteOf(value: number): number {
    const length = this.words[value * 2] ?? 0;
    return this.words[value * 2 + 1 + Math.ceil(length / 4)] ?? 0;
  }

  /** The values of all records, in order; ends with the section, whatever the bytes. */
  *values(): Generator<number> {
    for (let at = 0; at < this.bytes.length; at = this.endOf(at)) yield at / RECORD_ALIGN;
  }

  /**
   * Walks all records; the result tells whether a value names the start of one.
   * @throws SegmentError when a record runs past the end
   */
  verify(): (value: number) => boolean {
    const starts = new Uint8Array(this.bytes.length / RECORD_ALIGN);
    for (const value of this.values()) {
      const at = value * RECORD_ALIGN;
      if (this.endOf(at) > this.bytes.length)
        throw new SegmentError(`${this.section}, byte ${at}`, "record runs past the end of the section");
      starts[value] = 1;
    }
    return (value) => starts[value] === 1;
  }

  /** Where the record after the one at `at` begins. */
  private endOf(at: number): number {
    const words = 1 + Math.ceil(this.words[at / 4]! / 4) + this.noteBytes / 4;
    return at + Math.ceil(words / 2) * RECORD_ALIGN;
  }
}
