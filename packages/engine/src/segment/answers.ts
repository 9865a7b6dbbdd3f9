// answers.ts: reads the records of a segment, which are evidence, or answers as the bytes to send.
//
// in   a record's number, which is a value of a range table; the most frequent records have the lowest numbers
// out  the record's bytes, as a view or copied part by part
// src  packages/engine/segment-format.md: one section contains the records, and another section contains the start of
//      each record and the end of the last one. Records from number `divided` on contain only their own parts, and
//      refer to a template with the shared parts
// cost creating a view takes 50 to 100 ns, which is longer than finding the record. So the views of the first
//      KEPT_RECORDS records are kept after their first use (bench/README.md, Layouts)

import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** The sections with records, by their role. */
export const RECORD_SECTIONS = {
  answers: { bytes: "answers", starts: "answerStarts", templates: "answerTemplates" },
  evidence: { bytes: "evidence", starts: "evidenceStarts" },
} as const satisfies Record<string, RecordSections>;
export interface RecordSections {
  readonly bytes: SectionName;
  readonly starts: SectionName;
  /** Absent if all records are undivided. */
  readonly templates?: SectionName;
}

/** Number of records whose views are kept, about 100 bytes each. With DB-IP's data, they cover 89% of IPv4. */
export const KEPT_RECORDS = 32768;

/** The section of templates begins with the number of whole records (uint32). The templates follow. */
export const TEMPLATES_HEADER_BYTES = 4;
/** A template begins with the lengths of its first and second part (uint16 each). Both parts follow. */
export const TEMPLATE_HEADER_BYTES = 4;
/**
 * A divided record begins with its template's offset (uint32) and its first part's length (uint8). Both parts follow.
 */
export const DIVIDED_HEADER_BYTES = 5;

/** Receives the parts of an answer in order. */
export interface PartSink {
  append(source: Uint8Array, start: number, end: number): void;
}

const NO_BYTES = new Uint8Array(0);

export class Answers {
  /** The number of records, which are numbered from 0. */
  readonly count: number;
  /** All records, one after the other. */
  private readonly bytes: Uint8Array;
  /**
   * The start of each record, and the end of the last record. A record is empty or missing unless its end is above its
   * start.
   */
  private readonly starts: Uint32Array;
  private readonly templates: Uint8Array;
  /** Number of the first divided record. */
  private readonly divided: number;
  private readonly kept: Uint8Array[];
  private readonly joined: JoinedAnswers;
  private readonly names: RecordSections;

  /** @throws SegmentError if a section is missing, or if two sections do not fit together */
  constructor(segment: SegmentFile, names: RecordSections = RECORD_SECTIONS.answers) {
    this.names = names;
    this.bytes = segment.u8(names.bytes);
    this.starts = segment.u32(names.starts);
    this.count = this.starts.length - 1;
    if (this.count < 1)
      throw new SegmentError(`section ${names.starts}`, `has ${this.starts.length} entries, want at least 2`);
    const end = this.starts[this.count];
    if (end !== this.bytes.length)
      throw new SegmentError(
        `section ${names.starts}`,
        `ends at ${end}, ${names.bytes} has ${this.bytes.length} bytes`,
      );
    const hasTemplates = names.templates !== undefined && segment.has(names.templates);
    this.templates = hasTemplates ? segment.u8(names.templates) : NO_BYTES;
    this.joined = new JoinedAnswers(this.bytes, this.templates);
    this.divided = hasTemplates ? readDivided(this.templates, names.templates, this.count) : this.count;
    this.kept = new Array<Uint8Array>(Math.min(this.count, KEPT_RECORDS)).fill(NO_BYTES);
  }

  /**
   * Returns the bytes of a record, which callers must not write to; undefined if the record is empty or does not exist.
   */
  at(number: number): Uint8Array | undefined {
    const { kept } = this;
    if (number < kept.length) {
      const view = kept[number]!;
      if (view !== NO_BYTES) return view;
    }
    return this.viewOf(number);
  }

  /** Appends the bytes of a record to `out`. @returns their number; 0 if the record is empty or does not exist */
  copy(number: number, out: PartSink): number {
    const { bytes, templates } = this;
    const start = this.starts[number]!;
    const end = this.starts[number + 1]!;
    if (!(end > start) || end > bytes.length) return 0; // also if the record does not exist
    if (number < this.divided) {
      out.append(bytes, start, end);
      return end - start;
    }
    const own = start + DIVIDED_HEADER_BYTES;
    const ownCut = own + (bytes[start + 4]! | 0);
    const template = word32(bytes, start);
    const shared = template + TEMPLATE_HEADER_BYTES;
    const sharedCut = shared + word16(templates, template);
    const sharedEnd = sharedCut + word16(templates, template + 2);
    if (ownCut > end || sharedEnd > templates.length) return 0; // this happens only in a damaged file
    out.append(bytes, own, ownCut);
    out.append(templates, shared, sharedCut);
    out.append(bytes, ownCut, end);
    out.append(templates, sharedCut, sharedEnd);
    return end - own + sharedEnd - shared;
  }

  /**
   * Reads a byte of each record, so that the processor loads them all into its caches at the same time.
   * @returns a meaningless number, which keeps the reads from being optimized away
   */
  touch(numbers: Uint32Array, count: number): number {
    const { starts, bytes, templates, divided } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      if (number < divided) sum += bytes[starts[number + 1]! - 1]!;
      else sum += templates[word32(bytes, starts[number]!)]!;
    }
    return sum;
  }

  private viewOf(number: number): Uint8Array | undefined {
    const view = number < this.divided ? this.wholeView(number) : this.joined.make(this, number);
    if (view !== undefined && number < this.kept.length) this.kept[number] = view;
    return view;
  }

  private wholeView(number: number): Uint8Array | undefined {
    const start = this.starts[number]!;
    const end = this.starts[number + 1]!;
    return end > start && end <= this.bytes.length ? this.bytes.subarray(start, end) : undefined;
  }

  /**
   * Checks the starts of all records, and that each divided record has a template.
   * @returns a function that returns whether a number is that of a record
   * @throws SegmentError, which shows the first error in the segment
   */
  verify(): (number: number) => boolean {
    const { starts, names } = this;
    if (starts[0] !== 0) throw new SegmentError(`${names.starts}[0]`, `got ${starts[0]}, want 0`);
    for (let i = 1; i < starts.length; i++) {
      if (starts[i]! < starts[i - 1]!)
        throw new SegmentError(`${names.starts}[${i}]`, `got ${starts[i]}, before ${starts[i - 1]}`);
    }
    if (this.divided < this.count) this.verifyDivided();
    return (number) => number < this.count;
  }

  private verifyDivided(): void {
    const { bytes, starts, names } = this;
    const isTemplate = this.verifyTemplates();
    for (let number = this.divided; number < this.count; number++) {
      const start = starts[number]!;
      const room = starts[number + 1]! - start - DIVIDED_HEADER_BYTES;
      const place = `${names.bytes}, record ${number}`;
      if (room < 0) throw new SegmentError(place, `has ${room + DIVIDED_HEADER_BYTES} bytes`);
      if (bytes[start + 4]! > room)
        throw new SegmentError(place, `has a part of ${bytes[start + 4]} bytes in ${room}`);
      const template = word32(bytes, start);
      if (isTemplate[template] !== 1) throw new SegmentError(place, `no template starts at ${template}`);
    }
  }

  /** @returns for each offset in the section of templates, 1 if a template starts there */
  private verifyTemplates(): Uint8Array {
    const { templates, names } = this;
    const isTemplate = new Uint8Array(templates.length);
    let at = TEMPLATES_HEADER_BYTES;
    while (at < templates.length) {
      isTemplate[at] = 1;
      const end = at + TEMPLATE_HEADER_BYTES + word16(templates, at) + word16(templates, at + 2);
      if (end > templates.length)
        throw new SegmentError(`${names.templates}, offset ${at}`, "runs past the end of its section");
      at = end;
    }
    return isTemplate;
  }
}

/** Reads the number of the first divided record. @throws SegmentError if it is missing or too large */
function readDivided(templates: Uint8Array, name: SectionName | undefined, count: number): number {
  const place = `section ${name}`;
  if (templates.length < TEMPLATES_HEADER_BYTES)
    throw new SegmentError(place, `has ${templates.length} bytes, want at least ${TEMPLATES_HEADER_BYTES}`);
  const divided = word32(templates, 0);
  if (divided > count) throw new SegmentError(place, `got ${divided} whole records of ${count}`);
  return divided;
}

/** Bytes beyond the end read as 0. */
const word16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
const word32 = (bytes: Uint8Array, at: number): number =>
  (word16(bytes, at) | (word16(bytes, at + 2) << 16)) >>> 0;

/**
 * Size of an array that holds many joined answers. On Node, a separate array for each answer would cost twice as much.
 */
const JOINED_BYTES = 1 << 15;

/**
 * Joins the parts of divided answers. It copies words of four bytes: on Node this takes two thirds of the time that a
 * loop over bytes takes, and on Bun it takes no longer.
 */
class JoinedAnswers implements PartSink {
  private readonly own: Uint8Array;
  private readonly ownView: DataView;
  private readonly sharedView: DataView;
  private bytes = NO_BYTES;
  private view = dataView(NO_BYTES);
  private start = 0;
  private end = 0;

  /**
   * @param own the bytes of the records
   * @param shared the bytes of the templates
   */
  constructor(own: Uint8Array, shared: Uint8Array) {
    this.own = own;
    this.ownView = dataView(own);
    this.sharedView = dataView(shared);
  }

  make(answers: Answers, number: number): Uint8Array | undefined {
    this.start = this.end;
    return answers.copy(number, this) > 0 ? this.bytes.subarray(this.start, this.end) : undefined;
  }

  append(source: Uint8Array, start: number, end: number): void {
    if (this.end + end - start > this.bytes.length) this.renew(end - start);
    const from = source === this.own ? this.ownView : this.sharedView;
    const { view } = this;
    let to = this.end;
    let at = start;
    for (; at + 4 <= end; at += 4, to += 4) view.setInt32(to, from.getInt32(at));
    for (; at < end; at++, to++) view.setUint8(to, from.getUint8(at));
    this.end = to;
  }

  /** Continues in a new array with room for `more` bytes. Earlier answers keep the previous arrays. */
  private renew(more: number): void {
    const begun = this.bytes.subarray(this.start, this.end);
    this.bytes = new Uint8Array(Math.max(JOINED_BYTES, begun.length + more));
    this.bytes.set(begun);
    this.view = dataView(this.bytes);
    this.start = 0;
    this.end = begun.length;
  }
}

function dataView({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}
