// line-block.ts: the lines of a stream that are answered next: those that have arrived, at most as many as a block holds;
// and what answers them.

import { BLOCK_ADDRESSES } from "@inkling/engine";
import type { Problem } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import type { Lines } from "./lines.ts";

const TOO_LONG = 0xffffffff;

export class LineBlock {
  /** Which line is next, and how many there are. */
  at = 0;
  length = 0;
  /** Holds all lines; valid until the next call of `read`. */
  bytes: Buffer = Buffer.alloc(0);
  private readonly starts = new Uint32Array(BLOCK_ADDRESSES);
  private readonly ends = new Uint32Array(BLOCK_ADDRESSES);

  /** Takes lines, after all of those before. @returns false when none has arrived */
  read(lines: Lines): boolean {
    this.at = 0;
    this.length = 0;
    while (this.length < BLOCK_ADDRESSES && lines.next()) {
      this.bytes = lines.bytes;
      this.starts[this.length] = lines.start;
      this.ends[this.length++] = lines.isTooLong ? TOO_LONG : lines.end;
      if (lines.isKept) break; // it is in other memory than the lines after it
    }
    return this.length > 0;
  }

  startOf(index: number): number {
    return this.starts[index]!;
  }

  endOf(index: number): number {
    return this.ends[index]!;
  }

  /** Longer than MAX_LINE_BYTES: its bytes are not all there. */
  isTooLong(index: number): boolean {
    return this.ends[index] === TOO_LONG;
  }
}

/** Answers the lines of a stream, one after the other, each followed by a newline. */
export interface LineAnswers {
  /** Lines that count as lookups; the caller resets it. */
  lookups: number;
  /** The next lines are answered from here. */
  use(question: Question): void;
  /** Called with each block before its lines are answered. */
  findLines(block: LineBlock): void;
  answerLine(block: LineBlock, index: number): void;
  refuseLongLine(): void;
  refuse(refusal: Problem): void;
}
