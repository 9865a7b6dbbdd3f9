// answer-templates.ts: divides answers about places into individual parts and templates that many answers share.
//
// Source: packages/engine/segment-format.md; the reader is packages/engine/src/segment/answers.ts. 717,000 answers of
// DB-IP have 29,000 templates, which takes 61 MB instead of 250 MB (bench/README.md, Layouts). Cost: 1 µs per answer; a
// template is kept both as text and as bytes.

import { DIVIDED_HEADER_BYTES, TEMPLATE_HEADER_BYTES, TEMPLATES_HEADER_BYTES } from "@inkling/engine";
import { dividePlace } from "../place/encode-place.ts";
import type { SectionData } from "./segment-writer.ts";

/** Maximum sizes that fit into the fields of a divided record and of a template. */
const MAX_OWN_BYTES = 0xff;
const MAX_SHARED_BYTES = 0xffff;

export class AnswerTemplates {
  /** The section of templates written so far. */
  private bytes = Buffer.alloc(1 << 16);
  private length = TEMPLATES_HEADER_BYTES;
  /** Templates by their two parts, with their positions in the section. */
  private readonly starts = new Map<string, number>();
  /** The buffer of the record that was created most recently. */
  private record = Buffer.alloc(1 << 12);
  /** The template for answers that cannot be divided. */
  private readonly empty = this.add("", "");

  /** Returns the record of an answer. Only equal answers have equal records. The next call overwrites the record. */
  divide(answer: string): Uint8Array {
    const room = DIVIDED_HEADER_BYTES + answer.length * 3;
    if (room > this.record.length) this.record = Buffer.alloc(room * 2);
    const { record } = this;
    const [city, numbers, rest] = dividePlace(answer) ?? [0, 0, answer.length];
    const template = this.templateOf(answer.slice(city, numbers), answer.slice(rest));
    const first = record.write(answer.slice(0, city), DIVIDED_HEADER_BYTES);
    const isDivided = template !== undefined && first <= MAX_OWN_BYTES;
    record.writeUInt32LE(isDivided ? template : this.empty);
    record[4] = isDivided ? first : 0;
    const own = isDivided ? answer.slice(numbers, rest) : answer;
    const at = DIVIDED_HEADER_BYTES + record[4];
    return record.subarray(0, at + record.write(own, at));
  }

  /**
   * Returns the whole answer for a record from {@link divide}, as a copy. An empty record stands for an empty answer.
   */
  join(record: Uint8Array): Uint8Array {
    if (record.length === 0) return record;
    const { buffer, byteOffset, length } = record;
    const own = Buffer.from(buffer, byteOffset, length);
    const template = own.readUInt32LE();
    const ownCut = DIVIDED_HEADER_BYTES + own[4]!;
    const shared = template + TEMPLATE_HEADER_BYTES;
    const sharedCut = shared + this.bytes.readUInt16LE(template);
    const sharedEnd = sharedCut + this.bytes.readUInt16LE(template + 2);
    return Buffer.concat([
      own.subarray(DIVIDED_HEADER_BYTES, ownCut),
      this.bytes.subarray(shared, sharedCut),
      own.subarray(ownCut),
      this.bytes.subarray(sharedCut, sharedEnd),
    ]);
  }

  /** @param whole how many records remain undivided; they come first */
  section(whole: number): SectionData {
    this.bytes.writeUInt32LE(whole);
    return { name: "answerTemplates", data: this.bytes.subarray(0, this.length) };
  }

  private templateOf(first: string, second: string): number | undefined {
    const known = this.starts.get(`${first}\0${second}`);
    if (known !== undefined) return known;
    return Math.max(first.length, second.length) * 3 > MAX_SHARED_BYTES ? undefined : this.add(first, second);
  }

  private add(first: string, second: string): number {
    const start = this.length;
    const room = TEMPLATE_HEADER_BYTES + (first.length + second.length) * 3;
    if (start + room > this.bytes.length) {
      const grown = Buffer.alloc(this.bytes.length * 2 + room);
      this.bytes.copy(grown);
      this.bytes = grown;
    }
    const { bytes } = this;
    const firstBytes = bytes.write(first, start + TEMPLATE_HEADER_BYTES);
    const cut = start + TEMPLATE_HEADER_BYTES + firstBytes;
    const secondBytes = bytes.write(second, cut);
    bytes.writeUInt16LE(firstBytes, start);
    bytes.writeUInt16LE(secondBytes, start + 2);
    this.length = cut + secondBytes;
    this.starts.set(`${first}\0${second}`, start);
    return start;
  }
}
