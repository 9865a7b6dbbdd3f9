// answers.ts: looks up the values of a batch, and writes their answers and problems to one output, in order.
//
// If a value causes an unexpected error, its answer is INTERNAL, and the log gets the stack. Cost: looking up an
// address such as `"203.0.113.9"` in a line creates no string and no object.
//
// The answers for up to 64 values are found together (`findLines`, `findValues`), so that memory reads overlap. Then
// they are written in order. This does not change which values are charged, refused or counted.

import { AddressBlock, bodyOf, type IpLookup, REPUTATION_ANSWERS } from "@inkling/engine";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import { type Answer, isLookup, plainLookup, type Question, type Subject } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { LookupCall } from "./call.ts";
import type { Lines } from "./lines.ts";
import type { Output } from "./output.ts";

/** Maximum length of an answer in bytes. Evidence has at most 8 KB (docs/evidence.md), and a location below 1 KB. */
export const MAX_ANSWER_BYTES = 12 * 1024;

/** Answers the lines of a stream in order, each followed by a newline. */
export interface LineAnswers {
  /** Number of lines that count as lookups. The caller resets it. */
  lookups: number;
  /** Sets the data from which the next lines are answered. */
  use(question: Question): void;
  /** Called with each block of lines before they are answered. */
  findLines(lines: Lines): void;
  /** Returns a promise if the answer has to wait. The next line is answered after it. */
  answerLine(lines: Lines, index: number): void | Promise<void>;
  refuseLongLine(): void;
  refuse(refusal: Problem): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;

/** Replaces the answers that the key's quota does not cover. */
export const QUOTA_EXCEEDED = problem("QUOTA_EXCEEDED");
const NOT_JSON = problem("VALUE_INVALID", "This is not JSON in UTF-8. A value must be a JSON string.");
const NOT_TEXT = problem("VALUE_INVALID", "A value must be a JSON string; this is JSON of a different type.");
const TOO_LONG = problem("VALUE_INVALID", "This line is longer than 64 KiB.");
const CRASHED = problem("INTERNAL");

const utf8 = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

export class BatchAnswers implements LineAnswers {
  lookups = 0;
  private readonly services: ThreadServices;
  private readonly call: LookupCall;
  private readonly out: Output;
  private readonly separator: number;
  private question: Question;
  private readonly found = new AddressBlock();
  /** The address of a line that is looked up separately. */
  private readonly subject: Subject = { address: this.found.address, isCaller: false };
  /** Problem documents by code and detail. The map remains small, because details never quote the input. */
  private readonly documents = new Map<string, Uint8Array>();

  /** @param separator the byte to write after each answer */
  constructor(services: ThreadServices, call: LookupCall, out: Output, separator: number) {
    this.services = services;
    this.call = call;
    this.out = out;
    this.separator = separator;
    this.question = call.question;
    this.use(call.question);
  }

  use(question: Question): void {
    this.question = question;
    this.found.use(plainLookup(this.call.scope, question), question);
  }

  /** Finds the answers for those lines of a block that are addresses. */
  findLines({ bytes, starts, ends, length }: Lines): void {
    const { found } = this;
    if (found.segment === undefined) return;
    found.clear();
    for (let i = 0; i < length; i++) {
      const start = starts[i]!;
      const end = ends[i]!;
      if (isQuoted(bytes, start, end)) found.addBytes(i, bytes, start + 1, end - 1);
    }
    found.find();
  }

  /** Finds the answers for those values that are addresses. @param values at most BLOCK_ADDRESSES */
  findValues(values: readonly unknown[]): void {
    const { found } = this;
    if (found.segment === undefined) return;
    found.clear();
    for (const [i, value] of values.entries()) if (typeof value === "string") found.addText(i, value);
    found.find();
  }

  /**
   * Writes the answer or problem for one value of any type. Returns a promise only while DNS is queried.
   * @param index the value's index in the current block
   */
  answerValue(value: unknown, index: number): void | Promise<void> {
    if (!this.copy(index)) return this.answerSlowly(value);
  }

  /** Writes the answer or problem for one line. A valid line holds one JSON string, which white space may surround. */
  answerLine({ bytes, starts, ends }: Lines, index: number): void {
    if (this.copy(index)) return;
    const { found } = this;
    const { scope: lookup } = this.call;
    const start = starts[index]!;
    const end = ends[index]!;
    const hasQuotes = isQuoted(bytes, start, end);
    if (hasQuotes && lookup !== "email" && found.readBytes(bytes, start + 1, end - 1))
      this.write(this.answerAddress(lookup, this.subject, ""));
    else if (hasQuotes && isPlainText(bytes, start + 1, end - 1))
      void this.answerSlowly(bytes.toString("latin1", start + 1, end - 1));
    else this.oddLine(bytes.subarray(start, end));
  }

  private answerSlowly(value: unknown): void | Promise<void> {
    if (typeof value !== "string") return this.refuse(NOT_TEXT);
    const answer = this.answer(value);
    if (!(answer instanceof Promise)) return this.write(answer);
    return answer.catch((error) => this.reportCrash(error, value)).then((found) => this.write(found));
  }

  /** Writes a problem for a line that was too long to keep. */
  refuseLongLine(): void {
    this.refuse(TOO_LONG);
  }

  /** Writes a problem instead of an answer. */
  refuse(refusal: Problem): void {
    this.write(refusal);
  }

  private write(answer: Answer): void {
    const { out } = this;
    if (isLookup(answer)) this.lookups++;
    const isProblem = !(answer instanceof Uint8Array);
    if (isProblem) this.services.counts.countProblem(answer.code);
    out.append(isProblem ? this.problemBytes(answer) : answer);
    out.appendByte(this.separator);
  }

  /**
   * Copies the answer that `findLines` or `findValues` has found, which works for nearly every value.
   * @returns false if nothing was written, because the value must be looked up separately
   */
  private copy(index: number): boolean {
    const { segment, numbers } = this.found;
    const record = numbers[index]!;
    if (record < 0 || segment === undefined) return false;
    const { scope: lookup } = this.call;
    const { out } = this;
    const length = segment.answers.copy(record, out);
    if (length === 0) return this.copyUnlisted();
    if (lookup !== "email") this.services.pipeline.countRecord(lookup, segment, record, this.question);
    out.appendByte(this.separator);
    this.lookups++;
    return true;
  }

  /** Writes the reputation of an address that is on no list, which is the usual case. @returns false for a location */
  private copyUnlisted(): boolean {
    if (this.call.scope !== "reputation") return false;
    this.write(REPUTATION_ANSWERS[0]!);
    return true;
  }

  /**
   * Writes the answer for a line with escapes, non-ASCII characters or white space, or a problem for a line that is not
   * a JSON string.
   */
  private oddLine(line: Uint8Array): void {
    let value: unknown;
    try {
      value = JSON.parse(utf8.decode(line));
    } catch {
      this.refuse(NOT_JSON);
      return;
    }
    void this.answerSlowly(value);
  }

  private answer(text: string): Answer | Promise<Answer> {
    const { pipeline } = this.services;
    const { scope: lookup } = this.call;
    if (lookup !== "email") {
      const subject = pipeline.readSubject(text, this.question);
      return "code" in subject ? subject : this.answerAddress(lookup, subject, text);
    }
    try {
      return pipeline.answerEmail(text, this.question);
    } catch (error) {
      return this.reportCrash(error, text);
    }
  }

  private answerAddress(lookup: IpLookup, subject: Subject, text: string): Answer {
    try {
      const answer = this.services.pipeline.answerAddress(lookup, subject, this.question);
      return "code" in answer ? answer : bodyOf(answer);
    } catch (error) {
      return this.reportCrash(error, text);
    }
  }

  private reportCrash(error: unknown, text: string): Problem {
    this.call.onCrash(error, text);
    return CRASHED;
  }

  private problemBytes(refusal: Problem): Uint8Array {
    const name = `${refusal.code} ${refusal.detail}`;
    let document = this.documents.get(name);
    if (document === undefined) {
      document = encoder.encode(problemBody(refusal));
      this.documents.set(name, document);
    }
    return document;
  }
}

const isQuoted = (bytes: Buffer, start: number, end: number) =>
  end - start >= 2 && bytes[start] === QUOTE && bytes[end - 1] === QUOTE;

/** True for the content of an ASCII JSON string without escapes. */
function isPlainText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}
