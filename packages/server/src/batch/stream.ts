// stream.ts: NDJSON of any length in, NDJSON out, line by line, as fast as the client reads.
//
// in   the decoded body, BatchAnswers, what the key may do now
// out  a stream of answers; how many values it had, when it ended, however it ended
// err  a body that breaks off ends in one problem line more; a key that was revoked, too
// cost memory: a chunk of the body (64 KiB as Bun reads it), one piece of answers, a line that spans chunks
//
// Nothing is read before what was read is answered, and nothing is answered before what was answered is sent: so a
// client that does not read stops its own upload. After each piece other connections have their turn. A piece is
// overwritten after the next one was asked for (batch-output.ts): Bun's sockets have sent or copied it by then.

import { type Problem, problem } from "../http/problems.ts";
import type { Refusal } from "../keys/key.ts";
import type { Question } from "../lookup/pipeline.ts";
import { type BatchAnswers, MOST_ANSWER_BYTES } from "./answers.ts";
import type { ByteReader, ByteStream } from "./body.ts";
import type { GzipPieces } from "./gzip.ts";
import { type Lines, MAX_LINE_BYTES } from "./lines.ts";
import type { Output } from "./output.ts";

export interface BatchStreamOptions {
  readonly body: ByteStream;
  readonly lines: Lines;
  readonly answers: BatchAnswers;
  readonly out: Output;
  readonly gzip: GzipPieces | undefined;
  readonly meter: Meter;
  /** What to answer from now, asked before each piece; a problem ends the stream. */
  readonly source: () => Question | Problem;
  /** The connection is alive, though it may be quiet for a while. */
  readonly onLife: () => void;
  /** Told once, of an error that nobody expected if there was one. */
  readonly onEnd: (values: number, error?: unknown) => void;
}

/** What the key may still do. */
export interface Meter {
  /** May one value more be answered now? Takes it. */
  take(now: number): boolean;
  /** Takes what is left of the quota, `most` look-ups at most. */
  left(most: number, now: number): number;
  /** Counts look-ups that were made, and gives back what was taken for others; after each `left`. */
  count(lookups: number, now: number): void;
  /** Counts values that were refused. */
  refused(reason: Refusal, values: number, now: number): void;
  /** Milliseconds until `take` is worth another try. */
  readonly waitMs: number;
}

/** Why a piece is not longer. */
type Stop = "full" | "hungry" | "waiting" | "over";

const BROKEN_OFF = problem(
  "BATCH_INVALID",
  "The gzip is damaged, or ends early: nothing after this was read.",
);
/** The shortest answer, `{"valid":true,"disposable":true,"providers":[]}`, has 47 bytes. */
const LEAST_ANSWER_BYTES = 40;
const SPENT = problem("QUOTA_EXCEEDED");
/**
 * So much of a body is gone through for one token of the rate. Bodies of lines are paid for by their values; of blank ones,
 * or one without end, a small gzip holds gigabytes.
 */
const BYTES_PER_TOKEN = 2 * MAX_LINE_BYTES;

export class BatchStream {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  private readonly options: BatchStreamOptions;
  private readonly reader: ByteReader;
  private values = 0;
  private bytes = 0;
  /** Tokens that were taken for no value. */
  private surcharge = 0;
  /** The line that `lines` shows was not answered yet. */
  private isHeld = false;
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
      { highWaterMark: 0 }, // nothing is made before somebody asks
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

  /** The next answers; undefined when there are no more. */
  private async piece(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { out, gzip, onLife } = this.options;
    for (let isFirst = !this.isBusy; !this.hasEnded; isFirst = false) {
      if (!isFirst) await othersTurn(); // what can be read may have been here before: gzip of megabytes, for one
      onLife();
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
    const { answers, meter, source } = this.options;
    const from = source();
    if ("code" in from) {
      answers.refuse(from);
      this.isOver = true;
      return "over";
    }
    answers.use(from);
    const left = meter.left(Math.ceil(this.options.out.room / LEAST_ANSWER_BYTES), from.now);
    const stop = this.answerLines(left, from.now);
    meter.count(answers.lookups, from.now);
    answers.lookups = 0;
    return stop;
  }

  private answerLines(left: number, now: number): Stop {
    const { answers, lines, meter, out } = this.options;
    while (out.room >= MOST_ANSWER_BYTES) {
      if (!this.isHeld && !lines.next()) {
        this.isOver = lines.isAtEnd;
        if (this.isOver) return "over";
        return this.isPaid(now) ? "hungry" : "waiting";
      }
      this.isHeld = !meter.take(now);
      if (this.isHeld) return "waiting";
      this.values++;
      if (answers.lookups >= left) {
        answers.refuse(SPENT);
        meter.refused("quota_exceeded", 1, now);
      } else if (lines.isTooLong) answers.tooLong();
      else answers.line(lines.bytes, lines.start, lines.end);
    }
    return "full";
  }

  /** May more be read? Takes what a body costs beyond its values. */
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

/** Lets the event loop look at all connections once. */
const othersTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
