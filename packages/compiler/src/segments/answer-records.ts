// answer-records.ts: collects answers and writes the segment sections that contain them. Equal answers share one
// record.
//
// Record 0 is the answer for addresses without a value. If it is empty, the answer is "not found". A record may have a
// note, which is a number that is not sent. Records are equal only if their notes are equal.
//
// Source: packages/engine/segment-format.md; the reader is packages/engine/src/segment/answers.ts. Cost: answers are
// kept only as bytes, in blocks. In a single array, half a million 350-byte answers would be copied at each doubling,
// and the last copy would need 700 MB. Equality compares hashes, then bytes.

import { RECORD_SECTIONS, type RecordSections } from "@inkling/engine";
import type { SectionData } from "./segment-writer.ts";

/** Size of a block in bytes. Each record lies within a single block. */
const BLOCK_BYTES = 1 << 22;

interface Block {
  readonly bytes: Uint8Array;
  /** Where the next record is written. */
  end: number;
}

export class AnswerRecords {
  /** Records in order of their numbers. */
  private blocks: Block[] = [{ bytes: new Uint8Array(BLOCK_BYTES), end: 0 }];
  private readonly encoder = new TextEncoder();
  /**
   * A hash table with open addressing: record number + 1, or 0 if the slot is free. The number of slots is a power of
   * two, and at most half of them are in use.
   */
  private slots = new Uint32Array(1 << 12);
  private count = 0;
  /**
   * For each record: its position, counted across all blocks; its length; its note; and the hash of record and note.
   */
  private places = new Uint32Array(1 << 11);
  private lengths = new Uint32Array(1 << 11);
  private notes = new Uint32Array(1 << 11);
  private hashes = new Uint32Array(1 << 11);

  /** @param standard the answer if nothing is known; if empty, there is no answer */
  constructor(standard: string | Uint8Array) {
    this.add(standard);
  }

  /**
   * Returns the record number of this answer, which is its value in a range table.
   * @param note below 2^32
   * @throws RangeError for an answer of more than 1.39 million characters
   */
  add(answer: string | Uint8Array, note = 0): number {
    const block = blockFor(this.blocks, answer.length * 3);
    if ((this.count + 1) * 2 > this.slots.length) this.grow();
    const number = this.count;
    this.places[number] = (this.blocks.length - 1) * BLOCK_BYTES + block.end;
    this.lengths[number] = this.write(answer, block);
    this.notes[number] = note;
    const record = block.bytes.subarray(block.end, block.end + this.lengths[number]!);
    const hash = Bun.hash.xxHash32(record, note);
    this.hashes[number] = hash;
    const slot = this.slotOf(record, note, hash);
    const known = this.slots[slot]!;
    if (known !== 0) return known - 1;
    this.slots[slot] = number + 1;
    block.end += this.lengths[number]!;
    this.count++;
    return number;
  }

  /** Number of distinct answers, including the answer if nothing is known. */
  get size(): number {
    return this.count;
  }

  /**
   * Gives some records the lowest numbers, in the given order. All other records follow in their previous order. These
   * records are moved up within their blocks, because a second copy of all records would need 60 MB. Do not add records
   * afterwards.
   * @param rewrite transforms each of the first `rewritten` records
   * @returns the new number of each record
   */
  putFirst(
    first: Uint32Array,
    rewritten = 0,
    rewrite: (record: Uint8Array) => Uint8Array = (record) => record,
  ): Uint32Array {
    const numbers = new Uint32Array(this.count).fill(this.count);
    first.forEach((record, number) => {
      numbers[record] = number;
    });
    const blocks: Block[] = [{ bytes: new Uint8Array(BLOCK_BYTES), end: 0 }];
    for (const [number, record] of first.entries()) {
      const before = this.recordOf(record);
      const bytes = number < rewritten ? rewrite(before) : before;
      const block = blockFor(blocks, bytes.length);
      block.bytes.set(bytes, block.end);
      block.end += bytes.length;
      this.lengths[record] = bytes.length;
    }
    for (const block of this.blocks) block.end = 0;
    let next = first.length;
    for (let record = 0; record < this.count; record++) {
      if (numbers[record] !== this.count) continue;
      numbers[record] = next++;
      const block = this.blocks[Math.floor(this.places[record]! / BLOCK_BYTES)]!;
      const from = this.places[record]! % BLOCK_BYTES;
      block.bytes.copyWithin(block.end, from, from + this.lengths[record]!);
      block.end += this.lengths[record]!;
    }
    this.blocks = [...blocks, ...this.blocks];
    this.renumber(numbers);
    return numbers;
  }

  sections(names: RecordSections = RECORD_SECTIONS.answers): SectionData[] {
    const starts = new Uint32Array(this.count + 1);
    for (let i = 0; i < this.count; i++) starts[i + 1] = starts[i]! + this.lengths[i]!;
    return [
      { name: names.bytes, data: this.blocks.map(({ bytes, end }) => bytes.subarray(0, end)) },
      { name: names.starts, data: starts },
    ];
  }

  noteSection(): SectionData {
    return { name: "answerNotes", data: this.notes.slice(0, this.count) };
  }

  private write(answer: string | Uint8Array, { bytes, end }: Block): number {
    if (typeof answer === "string") return this.encoder.encodeInto(answer, bytes.subarray(end)).written;
    bytes.set(answer, end);
    return answer.length;
  }

  /** Returns the slot that holds an equal record, or the free slot where this record belongs. */
  private slotOf(record: Uint8Array, note: number, hash: number): number {
    const mask = this.slots.length - 1;
    let slot = hash & mask;
    for (; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const other = this.slots[slot]! - 1;
      if (this.hashes[other] !== hash || this.notes[other] !== note) continue;
      if (Buffer.compare(this.recordOf(other), record) === 0) break;
    }
    return slot;
  }

  private recordOf(number: number): Uint8Array {
    const place = this.places[number]!;
    const at = place % BLOCK_BYTES;
    return this.blocks[Math.floor(place / BLOCK_BYTES)]!.bytes.subarray(at, at + this.lengths[number]!);
  }

  private grow(): void {
    for (const column of ["places", "lengths", "notes", "hashes"] as const) {
      const grown = new Uint32Array(this.slots.length);
      grown.set(this[column]);
      this[column] = grown;
    }
    this.slots = new Uint32Array(this.slots.length * 2);
    const mask = this.slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = this.hashes[number]! & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = number + 1;
    }
  }

  /** Reorders the columns by the records' new numbers, after the records have moved. */
  private renumber(numbers: Uint32Array): void {
    for (const column of ["lengths", "notes", "hashes"] as const) {
      const moved = new Uint32Array(this[column].length);
      numbers.forEach((number, record) => {
        moved[number] = this[column][record]!;
      });
      this[column] = moved;
    }
    let block = 0;
    let at = 0;
    for (let number = 0; number < this.count; number++) {
      while (at === this.blocks[block]!.end && this.lengths[number]! > 0) {
        block++;
        at = 0;
      }
      this.places[number] = block * BLOCK_BYTES + at;
      at += this.lengths[number]!;
    }
    this.slots = this.slots.map((entry) => (entry === 0 ? 0 : numbers[entry - 1]! + 1));
  }
}

/** Returns the last block, or appends a new block if the last one has no room for this many bytes. */
function blockFor(blocks: Block[], room: number): Block {
  if (room > BLOCK_BYTES) throw new RangeError(`an answer of up to ${room} bytes`);
  const last = blocks.at(-1)!;
  if (last.end + room <= BLOCK_BYTES) return last;
  const block = { bytes: new Uint8Array(BLOCK_BYTES), end: 0 };
  blocks.push(block);
  return block;
}
