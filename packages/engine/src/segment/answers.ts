// answers.ts: the records of a segment: answers, in the bytes that are sent, and evidence.
//
// in   a record's number, which is a value of a range table; the most frequent records have the lowest numbers
// out  a view of its bytes
// src  docs/segment-format.md: one section has the records, another where each starts and the last ends
// cost a view takes 50 to 100 ns to make, more than finding the record: those of the first KEPT_RECORDS are kept when
//      first used (bench/README.md, Layouts)

import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Which sections hold records, by their role. */
export const RECORD_SECTIONS = {
  answers: { bytes: "answers", starts: "answerStarts" },
  evidence: { bytes: "evidence", starts: "evidenceStarts" },
} as const satisfies Record<string, Record<string, SectionName>>;
export type RecordSections = (typeof RECORD_SECTIONS)[keyof typeof RECORD_SECTIONS];

/** Records whose views are kept: about 100 bytes each; the places of 89 % of IPv4 in DB-IP. */
export const KEPT_RECORDS = 32768;

const NO_BYTES = new Uint8Array(0);

export class Answers {
  /** How many records there are; their numbers begin at 0. */
  readonly count: number;
  /** All records, one behind the other: never write to them. */
  readonly bytes: Uint8Array;
  /** Where each starts and the last ends: a record is empty, or missing, unless its end is above its start. */
  readonly starts: Uint32Array;
  private readonly kept: Uint8Array[];
  private readonly names: RecordSections;

  /** @throws SegmentError when a section is missing or two do not fit together */
  constructor(segment: SegmentFile, names: RecordSections = RECORD_SECTIONS.answers) {
    this.names = names;
    this.bytes = segment.u8(names.bytes);
    this.starts = segment.u32(names.starts);
    this.count = this.starts.length - 1;
    if (this.count < 1)
      throw new SegmentError(`section ${names.starts}`, `has ${this.starts.length} entries, want 2 at least`);
    const end = this.starts[this.count];
    if (end !== this.bytes.length)
      throw new SegmentError(
        `section ${names.starts}`,
        `ends at ${end}, ${names.bytes} has ${this.bytes.length} bytes`,
      );
    this.kept = new Array<Uint8Array>(Math.min(this.count, KEPT_RECORDS)).fill(NO_BYTES);
  }

  /** The bytes of a record, or undefined when it is empty or there is none. A view: never write to it. */
  at(number: number): Uint8Array | undefined {
    const { kept } = this;
    if (number < kept.length) {
      const view = kept[number]!;
      if (view !== NO_BYTES) return view;
    }
    return this.viewOf(number);
  }

  /** Reads the last byte of many records into the caches, so that the reads overlap. @returns a number without meaning */
  touch(numbers: Uint32Array, count: number): number {
    const { starts, bytes } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) sum += bytes[starts[numbers[i]! + 1]! - 1]!;
    return sum;
  }

  private viewOf(number: number): Uint8Array | undefined {
    const start = this.starts[number]!;
    const end = this.starts[number + 1]!;
    if (!(end > start) || end > this.bytes.length) return undefined; // also when there is no such number
    const view = this.bytes.subarray(start, end);
    if (number < this.kept.length) this.kept[number] = view;
    return view;
  }

  /**
   * Checks where all records start.
   * @returns whether a number names a record
   * @throws SegmentError when one starts before the one before it
   */
  verify(): (number: number) => boolean {
    const { starts, names } = this;
    if (starts[0] !== 0) throw new SegmentError(`${names.starts}[0]`, `got ${starts[0]}, want 0`);
    for (let i = 1; i < starts.length; i++) {
      if (starts[i]! < starts[i - 1]!)
        throw new SegmentError(`${names.starts}[${i}]`, `got ${starts[i]}, before ${starts[i - 1]}`);
    }
    return (number) => number < this.count;
  }
}
