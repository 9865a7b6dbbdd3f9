// stream.ts: answers NDJSON of any length with NDJSON, line by line, as fast as the client reads.
//
// An unexpected error breaks the stream off. Cost: memory for a chunk of the body (64 KiB as Bun reads it), for one
// piece of answers, and for any line that spans chunks.
//
// Lines that have arrived are looked up together, at most 64 at a time (lines.ts). No line waits for a line
// that has not arrived.
//
// The stream reads more of the body only after it has answered everything so far, and it answers more only after the
// previous answers were sent. So a client that does not read slows down its own upload. Other connections get their
// turn after each piece. A piece is overwritten only after the next piece was requested (output.ts). By then,
// Bun's sockets have sent or copied it.
//
// A stream keeps its release for HOLD_MS, the time for which an answer may be cached (`max-age=300`). Then it changes to
// the current release between two lines, so that a stream that runs for hours does not keep an old release's files open.

import { type Problem, problem } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import { type LineAnswers, MAX_ANSWER_BYTES, QUOTA_EXCEEDED } from "./answers.ts";
import type { LineCall } from "./call.ts";
import { type ByteReader, type ByteStream, GzipPieces, gunzipped } from "./gzip.ts";
import { KeyMeter } from "./key-meter.ts";
import { Lines, MAX_LINE_BYTES } from "./lines.ts";
import { Output, PIECE_BYTES } from "./output.ts";

/** Milliseconds for which a stream keeps its release before it changes to the current release. */
export const HOLD_MS = 300_000;
/** Milliseconds between two checks that a stream's key is still valid. */
const KEY_MS = 1_000;
/** Seconds after which an idle stream is closed. */
const IDLE_SECONDS = 60;

/**
 * Why a piece ends: it is full, the stream needs more of the body, it waits for the key's rate, or this is the last
 * piece.
 */
type Stop = "full" | "hungry" | "waiting" | "over";

const BROKEN_OFF = problem(
  "BATCH_INVALID",
  "The gzip is damaged or was cut short. The server read nothing after this point.",
);
/**
 * Bytes that a body may contain in addition to its values, in total and per value. 1 MB of gzip can hold 1 GB of blank
 * lines.
 */
const MAX_USELESS_BYTES = 1024 * 1024;
const USELESS_BYTES_PER_VALUE = 64;
const USELESS = problem(
  "BATCH_INVALID",
  "More than 1 MiB of the body is blank or in lines longer than 64 KiB. The server read nothing after this point.",
);
/**
 * Minimum length of an answer in bytes. The shortest is `{"valid":true,"disposable":true,"providers":[]}`, with 47
 * bytes.
 */
const MIN_ANSWER_BYTES = 40;
/**
 * Number of decoded body bytes that each rate token covers. A small gzip body can hold gigabytes of blank lines, so
 * bytes beyond those that the values' tokens cover are charged as well.
 */
const BYTES_PER_TOKEN = 2 * MAX_LINE_BYTES;

export class BatchStream {
  readonly stream: ByteStream;
  /** Resolves with the number of values when the stream has ended. */
  readonly ended: Promise<number>;
  private readonly services: ThreadServices;
  private readonly call: LineCall;
  private readonly reader: ByteReader;
  private readonly lines = new Lines();
  private readonly out = new Output(PIECE_BYTES);
  private readonly answers: LineAnswers;
  private readonly meter: KeyMeter;
  private readonly gzip: GzipPieces | undefined;
  private readonly resolve: (values: number) => void;
  private heldSince: number;
  private keyChecked: number;
  private values = 0;
  private bytes = 0;
  /** Tokens that were taken for bytes rather than for values. */
  private surcharge = 0;
  private isOver = false;
  private hasEnded = false;
  private isBusy = false;
  private isGzipClosed = false;

  /**
   * @param isGzip whether the body uses gzip
   * @param mayZip whether the answers may use gzip
   */
  constructor(
    services: ThreadServices,
    call: LineCall,
    isGzip: boolean,
    mayZip: boolean,
    makeAnswers: (out: Output) => LineAnswers,
  ) {
    this.services = services;
    this.call = call;
    const body = (call.request.body as ByteStream | null) ?? new Blob([]).stream();
    this.reader = (isGzip ? gunzipped(body) : body).getReader();
    this.answers = makeAnswers(this.out);
    this.meter = new KeyMeter(services, call);
    if (mayZip) this.gzip = new GzipPieces();
    this.heldSince = services.elapsed();
    this.keyChecked = this.heldSince;
    ({ promise: this.ended, resolve: this.resolve } = Promise.withResolvers<number>());
    this.stream = new ReadableStream(
      {
        pull: (controller) => this.pull(controller),
        cancel: () => this.end(),
      },
      { highWaterMark: 0 }, // a piece is created only when it is requested
    );
  }

  /** Returns the data for the next piece, or a problem, which ends the stream. */
  private question(): Question | Problem {
    const { services, call } = this;
    const { key, isSandbox, wants, allowMissing, ids } = call.question;
    const elapsed = services.elapsed();
    const now = services.now();
    if (elapsed - this.keyChecked >= KEY_MS) {
      this.keyChecked = elapsed;
      const admitted = call.readmit();
      if ("code" in admitted) return admitted;
      this.meter.replaceKey(admitted, now);
    }
    if (elapsed - this.heldSince >= HOLD_MS) {
      this.heldSince = elapsed;
      call.question.release = services.releases.current;
    }
    const { release } = call.question;
    const overrides = services.overrides.current;
    const findCaller = () => call.question.findCaller();
    return { key, release, overrides, now, allowMissing, isSandbox, wants, ids, findCaller };
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

  /** Creates the next piece. @returns undefined if there are no more answers */
  private async piece(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { out, gzip, meter } = this;
    for (let isFirst = !this.isBusy; !this.hasEnded; isFirst = false) {
      // a read may complete without waiting, for example while megabytes are inflated
      if (!isFirst) await yieldToEventLoop();
      this.call.setIdleSeconds(IDLE_SECONDS); // the connection is in use, even if nothing is sent for a while
      const stop = this.isOver ? "over" : await this.fill();
      this.isBusy = stop === "full";
      if (out.length > 0) return gzip === undefined ? out.take() : gzip.add(out.take());
      if (stop === "over") return this.lastPiece();
      if (stop === "waiting") await Bun.sleep(meter.waitMs);
      else await this.read();
    }
    return undefined;
  }

  private async lastPiece(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { gzip } = this;
    if (gzip === undefined || this.isGzipClosed) return undefined;
    this.isGzipClosed = true;
    return gzip.end();
  }

  /** Adds answers until the piece is full or there is a reason to wait. */
  private async fill(): Promise<Stop> {
    const { answers, meter, out } = this;
    const question = this.question();
    if ("code" in question) {
      answers.refuse(question);
      this.isOver = true;
      return "over";
    }
    answers.use(question);
    const { now } = question;
    const left = meter.takeQuota(Math.ceil(out.room / MIN_ANSWER_BYTES), now);
    const stop = await this.answerLines(left, now);
    meter.recordLookups(answers.lookups, now);
    answers.lookups = 0;
    return stop;
  }

  private async answerLines(left: number, now: number): Promise<Stop> {
    const { answers, lines, meter, out } = this;
    while (out.room >= MAX_ANSWER_BYTES) {
      if (lines.at === lines.length) {
        if (!lines.readBlock()) return this.stopWithoutLine(now);
        answers.findLines(lines);
      }
      if (!meter.take(now)) return "waiting";
      const index = lines.at++;
      this.values++;
      if (answers.lookups >= left) {
        answers.refuse(QUOTA_EXCEEDED);
        meter.recordRefusals("quota_exceeded", 1, now);
      } else if (lines.isTooLong(index)) answers.refuseLongLine();
      else {
        const pending = answers.answerLine(lines, index);
        if (pending !== undefined) await pending; // awaiting every line would take as long as the lookups
      }
    }
    return "full";
  }

  private stopWithoutLine(now: number): Stop {
    const { answers, lines } = this;
    this.isOver = lines.isAtEnd;
    if (this.isOver) return "over";
    if (lines.uselessBytes > MAX_USELESS_BYTES + USELESS_BYTES_PER_VALUE * this.values) {
      answers.refuse(USELESS);
      this.isOver = true;
      return "over";
    }
    return this.isPaid(now) ? "hungry" : "waiting";
  }

  /** Takes tokens for bytes that the values' tokens do not cover. @returns whether more of the body may be read */
  private isPaid(now: number): boolean {
    while (this.bytes > BYTES_PER_TOKEN * (1 + this.values + this.surcharge)) {
      if (!this.meter.take(now)) return false;
      this.surcharge++;
    }
    return true;
  }

  private async read(): Promise<void> {
    const { answers, lines } = this;
    try {
      const { value } = await this.reader.read();
      if (value === undefined) return lines.finish();
      this.bytes += value.length;
      lines.feed(value);
    } catch {
      if (this.hasEnded) return; // the client has left
      answers.refuse(BROKEN_OFF);
      this.isOver = true;
    }
  }

  private end(error?: unknown): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.gzip?.close();
    void this.reader.cancel().catch(() => {}); // the reader may have failed already
    if (error !== undefined) this.call.onCrash(error, "");
    this.resolve(this.values);
  }
}

const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
