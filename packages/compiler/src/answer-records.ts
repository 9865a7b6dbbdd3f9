// answer-records.ts: answers in, the `answers` section out; equal answers share one record.
//
// Record 0 is what an address without any value gets: empty means "not found".
// src  docs/segment-format.md; the reader is packages/engine/src/answers.ts
// cost answers are kept as bytes only (half a million of 350 bytes); equality is hash, then bytes

import { RECORD_ALIGN } from "@inkling/engine";

export class AnswerRecords {
  private bytes = new Uint8Array(1 << 16);
  private end = 0;
  private readonly encoder = new TextEncoder();
  /** Open addressing: record number + 1, or 0; a power of two, at most half full. */
  private slots = new Uint32Array(1 << 12);
  private count = 0;

  /** @param standard the answer where nothing is known; "" for none */
  constructor(standard: string) {
    this.add(standard);
  }

  /** The value that stands for this answer in a range table. */
  add(answer: string): number {
    this.reserve(4 + answer.length * 3 + RECORD_ALIGN);
    const start = this.end + 4;
    const { written } = this.encoder.encodeInto(answer, this.bytes.subarray(start));
    const content = this.bytes.subarray(start, start + written);
    if ((this.count + 1) * 2 > this.slots.length) this.rehash();
    let slot = Bun.hash.xxHash32(content) & (this.slots.length - 1);
    for (; this.slots[slot] !== 0; slot = (slot + 1) & (this.slots.length - 1)) {
      const value = this.slots[slot]! - 1;
      if (Buffer.compare(this.contentOf(value), content) === 0) {
        content.fill(0);
        return value;
      }
    }
    const value = this.end / RECORD_ALIGN;
    new DataView(this.bytes.buffer).setUint32(this.end, written, true);
    this.end = Math.ceil((start + written) / RECORD_ALIGN) * RECORD_ALIGN;
    this.slots[slot] = value + 1;
    this.count++;
    return value;
  }

  /** Distinct answers, the one for nothing known included. */
  get size(): number {
    return this.count;
  }

  section(): Uint8Array {
    return this.bytes.subarray(0, this.end);
  }

  private contentOf(value: number): Uint8Array {
    const at = value * RECORD_ALIGN;
    const length = new DataView(this.bytes.buffer).getUint32(at, true);
    return this.bytes.subarray(at + 4, at + 4 + length);
  }

  private reserve(room: number): void {
    if (this.end + room <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.end + room));
    grown.set(this.bytes.subarray(0, this.end));
    this.bytes = grown;
  }

  private rehash(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (const entry of old) {
      if (entry === 0) continue;
      let slot = Bun.hash.xxHash32(this.contentOf(entry - 1)) & (this.slots.length - 1);
      while (this.slots[slot] !== 0) slot = (slot + 1) & (this.slots.length - 1);
      this.slots[slot] = entry;
    }
  }
}
