// stream-buffers.ts: holds the next lines of a stream and the bytes of their answers, and defines the interface that
// answers lines. A block takes the lines that have arrived, up to its capacity.

import { ByteBuffer } from "@inkling/data";
import type { PartSink } from "@inkling/engine";
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
  /** Returns a promise if the answer has to wait. The next line is answered after it. */
  answerLine(block: LineBlock, index: number): void | Promise<void>;
  refuseLongLine(): void;
  refuse(refusal: Problem): void;
}

/**
 * Collects the bytes that a batch writes, and hands them out in pieces. It uses two buffers alternately. With a new
 * buffer for each piece, a 400 MB/s stream left so much garbage that the process grew by 600 MB between two
 * collections.
 */
export class Output extends ByteBuffer implements PartSink {
  private readonly size: number;
  private other: Uint8Array<ArrayBuffer> | undefined;

  /** @param size size of a piece in bytes; a piece grows only if a single write does not fit */
  constructor(size: number) {
    super(size);
    this.size = size;
  }

  /** Number of bytes that can be written without growing the piece. */
  get room(): number {
    return this.bytes.length - this.length;
  }

  /** Returns what was written since the last call. The bytes are overwritten after the next call. */
  take(): Uint8Array<ArrayBuffer> {
    const { bytes, length } = this;
    this.length = 0;
    this.bytes = this.other ?? new Uint8Array(this.size);
    this.other = bytes;
    return bytes.subarray(0, length);
  }
}
