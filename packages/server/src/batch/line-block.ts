// line-block.ts: holds the next lines of a stream, and defines the interface that answers them. A block takes the lines
// that have arrived, up to its capacity.

import { BLOCK_ADDRESSES } from "@inkling/engine";
import type { Problem } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import type { Lines } from "./lines.ts";

const TOO_LONG = 0xffffffff;

export class LineBlock {
  /** Index of the next line to answer. `length` is the number of lines. */
  at = 0;
  length = 0;
  /** Holds all lines of the block. Valid until the next call of `read`. */
  bytes: Buffer = Buffer.alloc(0);
  private readonly starts = new Uint32Array(BLOCK_ADDRESSES);
  private readonly ends = new Uint32Array(BLOCK_ADDRESSES);

  /**
   * Takes the next lines. Call it after all lines of the previous block were answered.
   * @returns false if no line has arrived
   */
  read(lines: Lines): boolean {
    this.at = 0;
    this.length = 0;
    while (this.length < BLOCK_ADDRESSES && lines.next()) {
      this.bytes = lines.bytes;
      this.starts[this.length] = lines.start;
      this.ends[this.length++] = lines.isTooLong ? TOO_LONG : lines.end;
      if (lines.isKept) break; // this line is stored in different memory from the lines after it
    }
    return this.length > 0;
  }

  startOf(index: number): number {
    return this.starts[index]!;
  }

  endOf(index: number): number {
    return this.ends[index]!;
  }

  /** True if the line exceeds MAX_LINE_BYTES. Its end is then unknown, so it must not be read. */
  isTooLong(index: number): boolean {
    return this.ends[index] === TOO_LONG;
  }
}

/** Answers the lines of a stream in order, each followed by a newline. */
export interface LineAnswers {
  /** Number of lines that count as lookups. The caller resets it. */
  lookups: number;
  /** Sets the data from which the next lines are answered. */
  use(question: Question): void;
  /** Called with each block before its lines are answered. */
  findLines(block: LineBlock): void;
  answerLine(block: LineBlock, index: number): void;
  refuseLongLine(): void;
  refuse(refusal: Problem): void;
}
