// answer-records.ts: answers in, the `answers` section out; equal answers share one record.
//
// Record 0 is what an address without any value gets: empty means "not found". Records may have notes: a number
// each, beside what goes out, as part of what makes two records equal.
// src  docs/segment-format.md; the reader is packages/engine/src/answers.ts
// cost answers are kept as bytes only, in blocks: half a million of 350 bytes in one array would be copied
//      at each doubling, and cost 700 MB at the last; equality is hash, then bytes

import { RECORD_ALIGN } from "@inkling/engine";

/** A record lies in one block; the zeros left at a block's end read as empty records that nothing names. */
const BLOCK_BYTES = 1 << 22;
const BLOCK_RECORDS = BLOCK_BYTES / RECORD_ALIGN;

export class AnswerRecords {
  private readonly blocks: { bytes: Uint8Array; view: DataView }[] = [];
  /** Where the next record goes in the last block. */
  private end = BLOCK_BYTES;
  private readonly encoder = new TextEncoder();
  /** Open addressing: record number + 1, or 0; a power of two, at most half full. */
  private slots = new Uint32Array(1 << 12);
  private count = 0;

  private readonly hasNotes: boolean;

  /** @param standard the answer where nothing is known; "" for none */
  constructor(standard: string, hasNotes = false) {
    this.hasNotes = hasNotes;
    this.add(standard);
  }

  /**
   * The value that stands for this answer in a range table.
   * @param note below 2^32; only where records have notes
   * @throws RangeError for an answer of more than a million characters
   */
  add(answer: string | Uint8Array, note = 0): number {
    const room = 8 + answer.length * 3 + RECORD_ALIGN;
    if (room > BLOCK_BYTES) throw new RangeError(`an answer of ${answer.length} characters`);
    if (this.end + room > BLOCK_BYTES) this.addBlock();
    const { bytes, view } = this.blocks.at(-1)!;
    const start = this.end + 4;
    const written = this.write(answer, bytes, start);
    const end = start + this.sizeOf(written);
    if (this.hasNotes) view.setUint32(end - 4, note, true);
    const content = bytes.subarray(start, end);
    if ((this.count + 1) * 2 > this.slots.length) this.rehash();
    const slot = this.slotOf(content);
    const known = this.slots[slot]!;
    if (known !== 0) {
      content.fill(0);
      return known - 1;
    }
    const value = (this.blocks.length - 1) * BLOCK_RECORDS + this.end / RECORD_ALIGN;
    view.setUint32(this.end, written, true);
    this.end = Math.ceil(end / RECORD_ALIGN) * RECORD_ALIGN;
    this.slots[slot] = value + 1;
    this.count++;
    return value;
  }

  /** Distinct answers, the one for nothing known included. */
  get size(): number {
    return this.count;
  }

  /** The section's bytes, in order. */
  section(): Uint8Array[] {
    return this.blocks.map(({ bytes }, i) =>
      i < this.blocks.length - 1 ? bytes : bytes.subarray(0, this.end),
    );
  }

  private write(answer: string | Uint8Array, bytes: Uint8Array, at: number): number {
    if (typeof answer === "string") return this.encoder.encodeInto(answer, bytes.subarray(at)).written;
    bytes.set(answer, at);
    return answer.length;
  }

  /** Bytes after the length of a record: its answer, and its note on a whole word. */
  private sizeOf(length: number): number {
    return this.hasNotes ? Math.ceil(length / 4) * 4 + 4 : length;
  }

  private addBlock(): void {
    const bytes = new Uint8Array(BLOCK_BYTES);
    this.blocks.push({ bytes, view: new DataView(bytes.buffer) });
    this.end = 0;
  }

  /** The slot that holds this content, or the free one where it belongs. */
  private slotOf(content: Uint8Array): number {
    const mask = this.slots.length - 1;
    let slot = Bun.hash.xxHash32(content) & mask;
    for (; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      if (Buffer.compare(this.contentOf(this.slots[slot]! - 1), content) === 0) break;
    }
    return slot;
  }

  private contentOf(value: number): Uint8Array {
    const { bytes, view } = this.blocks[Math.floor(value / BLOCK_RECORDS)]!;
    const at = (value % BLOCK_RECORDS) * RECORD_ALIGN;
    return bytes.subarray(at + 4, at + 4 + this.sizeOf(view.getUint32(at, true)));
  }

  private rehash(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (const entry of old) {
      if (entry !== 0) this.slots[this.slotOf(this.contentOf(entry - 1))] = entry;
    }
  }
}
