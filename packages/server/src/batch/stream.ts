// stream.ts: NDJSON of any length in, NDJSON out, line by line, as fast as the client reads.
//
// in   the decoded body, LineAnswers, what the key may do now
// out  a stream of answers; how many values it had, when it ended, however it ended
// err  a body that breaks off ends in one more line, a problem; a revoked key too
// cost memory: a chunk of the body (64 KiB as Bun reads it), one piece of answers, a line that spans chunks
//
// Lines that have arrived are looked up together, at most 64 (line-block.ts): none waits for one that has not.
// Nothing is read before what was read is answered, and nothing is answered before earlier answers are sent: a client
// that does not read stops its own upload. Other connections are served after each piece. A piece is overwritten after
// the next one was requested (output.ts): Bun's sockets have sent or copied it by then.

import { type Problem, problem } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import { MAX_ANSWER_BYTES, QUOTA_EXCEEDED } from "./answers.ts";
import type { ByteReader, ByteStream } from "./gunzip.ts";
import type { GzipPieces } from "./gzip.ts";
import type { KeyMeter } from "./key-meter.ts";
import { type LineAnswers, LineBlock } from "./line-block.ts";
import { type Lines, MAX_LINE_BYTES } from "./lines.ts";
import type { Output } from "./output.ts";

interface BatchStreamOptions {
  readonly body: ByteStream;
  readonly lines: Lines;
  readonly answers: LineAnswers;
  readonly out: Output;
  readonly gzip: GzipPieces | undefined;
  readonly meter: KeyMeter;
  /** Called before each piece; a problem ends the stream. */
  readonly question: () => Question | Problem;
  /** The connection is in use, though it may be quiet for a while. */
  readonly onActivity: () => void;
  /** Called once, with an unexpected error if there was one. */
  readonly onEnd: (values: number, error?: unknown) => void;
}

/** Why a piece ends: it is full, needs more of the body, waits for the key's rate, or the stream is over. */
type Stop = "full" | "hungry" | "waiting" | "over";

const BROKEN_OFF = problem(
  "BATCH_INVALID",
  "The gzip is damaged, or ends early: nothing after this was read.",
);
/** What a body may hold beyond its values, and more for each of them: 1 MB of gzip can be 1 GB of blank lines. */
const MAX_USELESS_BYTES = 1024 * 1024;
const USELESS_BYTES_PER_VALUE = 64;
const USELESS = problem(
  "BATCH_INVALID",
  "More than 1 MiB of the body is blank or in lines of more than 64 KiB: nothing after this was read.",
);
/** The shortest answer, `{"valid":true,"disposable":true,"providers":[]}`, has 47 bytes. */
const MIN_ANSWER_BYTES = 40;
/** One token of the rate covers this much of a body beyond its values: a small gzip holds gigabytes of blank lines. */
const BYTES_PER_TOKEN = 2 * MAX_LINE_BYTES;

export class BatchStream {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  private readonly options: BatchStreamOptions;
  private readonly reader: ByteReader;
  private values = 0;
  private bytes = 0;
  /** Tokens that were taken for no value. */
  private surcharge = 0;
  private readonly block = new LineBlock();
  private isOver = false;
  private hasEnded = false;
  private isBusy = false;
  private isGzipClosed = false;

  constructor(options: BatchStreamOptions) {
    this.options = options;
    this.reader = options.body.getReader();
    this.stream = new ReadableStream(
      {
        pull: (controller) => this.pull(controller),
        cancel: () => this.end(),
      },
      { highWaterMark: 0 }, // nothing is made before it is requested
    );
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    try {
      const piece = await this.piece();
      if (this.hasEnded) return;
      if (piece !== undefined) return controller.enqueue(piece);
      this.end();
      controller.close();
    } catch (error) {
      this.end(error);
      controller.error(error);
    }
  }

  /** The next answers; undefined if there are no more. */
  private async piece(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { out, gzip, onActivity } = this.options;
    for (let isFirst = !this.isBusy; !this.hasEnded; isFirst = false) {
      if (!isFirst) await yieldToEventLoop(); // a read may not wait: inflating megabytes, for one
      onActivity();
      const stop = this.isOver ? "over" : this.fill();
      this.isBusy = stop === "full";
      if (out.length > 0) return gzip === undefined ? out.take() : gzip.add(out.take());
      if (stop === "over") return this.lastPiece();
      if (stop === "waiting") await Bun.sleep(this.options.meter.waitMs);
      else await this.read();
    }
    return undefined;
  }

  private async lastPiece(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { gzip } = this.options;
    if (gzip === undefined || this.isGzipClosed) return undefined;
    this.isGzipClosed = true;
    return gzip.end();
  }

  /** Answers lines until the piece is full or there is a reason to wait. */
  private fill(): Stop {
    const { answers, meter, out } = this.options;
    const question = this.options.question();
    if ("code" in question) {
      answers.refuse(question);
      this.isOver = true;
      return "over";
    }
    answers.use(question);
    const { now } = question;
    const left = meter.takeQuota(Math.ceil(out.room / MIN_ANSWER_BYTES), now);
    const stop = this.answerLines(left, now);
    meter.recordLookups(answers.lookups, now);
    answers.lookups = 0;
    return stop;
  }

  private answerLines(left: number, now: number): Stop {
    const { block } = this;
    const { answers, lines, meter, out } = this.options;
    while (out.room >= MAX_ANSWER_BYTES) {
      if (block.at === block.length) {
        if (!block.read(lines)) return this.stopWithoutLine(now);
        answers.findLines(block);
      }
      if (!meter.take(now)) return "waiting";
      const index = block.at++;
      this.values++;
      if (answers.lookups >= left) {
        answers.refuse(QUOTA_EXCEEDED);
        meter.recordRefusals("quota_exceeded", 1, now);
      } else if (block.isTooLong(index)) answers.refuseLongLine();
      else answers.answerLine(block, index);
    }
    return "full";
  }

  private stopWithoutLine(now: number): Stop {
    const { answers, lines } = this.options;
    this.isOver = lines.isAtEnd;
    if (this.isOver) return "over";
    if (lines.uselessBytes > MAX_USELESS_BYTES + USELESS_BYTES_PER_VALUE * this.values) {
      answers.refuse(USELESS);
      this.isOver = true;
      return "over";
    }
    return this.isPaid(now) ? "hungry" : "waiting";
  }

  /** Takes the tokens that a body costs beyond its values. @returns whether more of it may be read */
  private isPaid(now: number): boolean {
    while (this.bytes > BYTES_PER_TOKEN * (1 + this.values + this.surcharge)) {
      if (!this.options.meter.take(now)) return false;
      this.surcharge++;
    }
    return true;
  }

  private async read(): Promise<void> {
    const { answers, lines } = this.options;
    try {
      const { value } = await this.reader.read();
      if (value === undefined) return lines.finish();
      this.bytes += value.length;
      lines.feed(value);
    } catch {
      if (this.hasEnded) return; // the client left
      answers.refuse(BROKEN_OFF);
      this.isOver = true;
    }
  }

  private end(error?: unknown): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.options.gzip?.close();
    void this.reader.cancel().catch(() => {}); // it may have failed already
    this.options.onEnd(this.values, error);
  }
}

const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
