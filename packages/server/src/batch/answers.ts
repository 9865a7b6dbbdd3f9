// answers.ts: one value after another -> answers and problems, written one behind the other.
//
// in   values as texts, or as lines of bytes that hold one JSON string each
// out  in `out`, for each value its answer or a problem document, and a separator
// err  none thrown for a value: what nobody expected becomes INTERNAL in its place, and its stack goes to the log
// cost `"203.0.113.9"` goes from the line's bytes to the answer's without a text or an object in between

import {
  IpAddress,
  type IpSegment,
  type LoadedRelease,
  type Overrides,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  parseIpBytesInto,
  specialUse,
  unwrapIpv4,
  withAddressEvidence,
  withEmailEvidence,
} from "@inkling/engine";
import { type Problem, type ProblemCode, problem, problemBody } from "../http/problems.ts";
import type { Scope } from "../keys/key.ts";
import {
  dataProblem,
  lookUpAddress,
  lookUpEmail,
  type Mode,
  type Outcome,
  type Subject,
  subjectOf,
} from "../lookup/answer.ts";
import { SANDBOX_ME, sandboxAddress, sandboxEmail } from "../lookup/sandbox.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Output } from "./output.ts";

/** Answers with evidence have at most 8 KB of it (docs/evidence.md), places well below 1 KB. */
export const MOST_ANSWER_BYTES = 12 * 1024;

/** What does not change from value to value. */
export interface BatchQuestion {
  readonly lookup: Scope;
  readonly mode: Mode;
  readonly isSandbox: boolean;
  readonly withEvidence: boolean;
  /** Whom `me` means. */
  readonly caller: IpAddress | undefined;
  /** Told of each value that got a problem, and of what answers from data say. */
  readonly counts: Pick<Counts<ProblemCode>, "countProblem" | "countFlags">;
  /** Told of an error that nobody expected, and of the value that must not be logged. */
  readonly onCrash: (error: unknown, value: string) => void;
}

/** What the answers come from. */
export interface BatchSource {
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  /** Epoch ms. */
  readonly now: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;

const NOT_JSON = problem("VALUE_INVALID", "This is not JSON in UTF-8. A value is a JSON string.");
const NOT_TEXT = problem("VALUE_INVALID", "A value is a JSON string; this is JSON of another type.");
const TOO_LONG = problem("VALUE_INVALID", "This line is longer than 64 KiB.");
const CRASHED = problem("INTERNAL");

const utf8 = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

const scratch = new IpAddress(); // a look-up is synchronous, so one is enough
const named: Subject = { address: scratch, isCaller: false };

export class BatchAnswers {
  /** Values that count as look-ups; whoever counts them sets it back. */
  lookups = 0;
  private readonly question: BatchQuestion;
  private readonly out: Output;
  private readonly separator: number;
  private source: BatchSource;
  /** There when its bytes are the answers as they are. */
  private segment: IpSegment | undefined;

  /** @param separator a byte that is written after each answer */
  constructor(question: BatchQuestion, source: BatchSource, out: Output, separator: number) {
    this.question = question;
    this.out = out;
    this.separator = separator;
    this.source = source;
    this.from(source);
  }

  /** The next values are answered from here. */
  from(source: BatchSource): void {
    this.source = source;
    const { lookup, mode, isSandbox, withEvidence } = this.question;
    const { release, overrides } = source;
    this.segment = undefined;
    if (isSandbox || withEvidence || release === undefined || lookup === "email") return;
    if (lookup === "reputation" && overrides.hasAddresses) return;
    if (dataProblem(lookup, release, mode) !== undefined) return;
    this.segment = lookup === "geolocate" ? release.geo : release.reputation;
  }

  /** Answers one value of whatever type. */
  value(value: unknown): void {
    this.write(this.ofValue(value));
  }

  /** Answers one value with what `find` says of it. */
  async checked(value: unknown, find: (text: string) => Promise<Outcome>): Promise<void> {
    if (typeof value !== "string") return this.refuse(NOT_TEXT);
    try {
      this.write(await find(value));
    } catch (error) {
      this.question.onCrash(error, value);
      this.refuse(CRASHED);
    }
  }

  /** Answers one line: nothing but a JSON string, with white space around it. */
  line(bytes: Buffer, start: number, end: number): void {
    const isQuoted = end - start >= 2 && bytes[start] === QUOTE && bytes[end - 1] === QUOTE;
    const isAddress =
      isQuoted && this.question.lookup !== "email" && parseIpBytesInto(bytes, start + 1, end - 1, scratch);
    if (isAddress) {
      unwrapIpv4(scratch);
      if (this.segment === undefined || !this.copied(this.segment)) this.write(this.ofSubject(named, ""));
      return;
    }
    const isPlain = isQuoted && isPlainText(bytes, start + 1, end - 1);
    this.write(
      isPlain
        ? this.ofValue(bytes.toString("latin1", start + 1, end - 1))
        : this.ofOddLine(bytes.subarray(start, end)),
    );
  }

  /** Answers a line that was too long to be kept. */
  tooLong(): void {
    this.refuse(TOO_LONG);
  }

  /** Writes a problem in place of an answer. */
  refuse(refusal: Problem): void {
    this.question.counts.countProblem(refusal.code);
    this.out.add(problemBytes(refusal));
    this.out.addByte(this.separator);
  }

  private write(outcome: Outcome): void {
    if (!(outcome instanceof Uint8Array)) {
      // "We looked, and there is nothing" is a look-up too.
      if (outcome.code === "IP_ADDRESS_NOT_FOUND") this.lookups++;
      this.refuse(outcome);
      return;
    }
    this.out.add(outcome);
    this.out.addByte(this.separator);
    this.lookups++;
  }

  /** The answer of nearly every line. @returns false when the long way has to be gone: nothing was written then */
  private copied(segment: IpSegment): boolean {
    if (specialUse(scratch) !== undefined) return false;
    const { out } = this;
    const length = segment.lookupInto(scratch, out.bytes, out.length);
    if (length <= 0) return false; // unknown, or no room
    const start = out.length;
    out.length += length;
    this.question.counts.countFlags(this.question.lookup, out.bytes, this.source.now, start, out.length);
    out.addByte(this.separator);
    this.lookups++;
    return true;
  }

  /** Escapes, other characters than ASCII, white space, other JSON, or no JSON. */
  private ofOddLine(line: Uint8Array): Outcome {
    try {
      return this.ofValue(JSON.parse(utf8.decode(line)));
    } catch {
      return NOT_JSON; // ofValue does not throw
    }
  }

  private ofValue(value: unknown): Outcome {
    if (typeof value !== "string") return NOT_TEXT;
    const { isSandbox, lookup, caller } = this.question;
    if (lookup === "email") return this.guarded(value, () => this.email(value));
    const subject = subjectOf(isSandbox && value === "me" ? SANDBOX_ME : value, () => caller);
    return "code" in subject ? subject : this.ofSubject(subject, value);
  }

  private ofSubject(subject: Subject, value: string): Outcome {
    return this.guarded(value, () => this.address(subject));
  }

  private guarded(value: string, find: () => Outcome): Outcome {
    try {
      return find();
    } catch (error) {
      this.question.onCrash(error, value);
      return CRASHED;
    }
  }

  private address(subject: Subject): Outcome {
    const { mode, isSandbox, withEvidence } = this.question;
    const lookup = this.question.lookup === "geolocate" ? "geolocate" : "reputation";
    const { address } = subject;
    if (isSandbox) return sandboxAddress(lookup, address, withEvidence);
    const { release, overrides, now } = this.source;
    const found = lookUpAddress(lookup, subject, release, mode);
    if (!(found instanceof Uint8Array)) return found;
    const overridden =
      lookup === "reputation" && overrides.hasAddresses
        ? overrideReputation(found, address, release!, overrides, now)
        : undefined;
    const body = overridden?.body ?? found;
    this.question.counts.countFlags(lookup, body, now);
    if (!withEvidence) return body;
    const entries = overridden === undefined ? [] : overrideEntries(overridden.verdict);
    return withAddressEvidence(body, lookup, address, release!, entries);
  }

  private email(text: string): Outcome {
    const { mode, isSandbox, withEvidence } = this.question;
    if (isSandbox) return sandboxEmail(text, withEvidence);
    const { release, overrides, now } = this.source;
    const found = lookUpEmail(text, release, mode);
    if (!(found instanceof Uint8Array)) return found;
    const overridden = overrides.hasEmail ? overrideEmail(found, text, release!, overrides, now) : undefined;
    const body = overridden?.body ?? found;
    this.question.counts.countFlags("email", body, now);
    if (!withEvidence) return body;
    const entries = overridden === undefined ? [] : overrideEntries(overridden.verdict);
    return withEmailEvidence(body, text, release!, entries);
  }
}

/** Is it what a JSON string says without escapes, in ASCII? */
function isPlainText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}

/** By code and detail: a closed set, for details never quote what was sent. */
const documents = new Map<string, Uint8Array>();

function problemBytes(refusal: Problem): Uint8Array {
  const name = `${refusal.code} ${refusal.detail}`;
  const known = documents.get(name);
  if (known !== undefined) return known;
  const made = encoder.encode(problemBody(refusal));
  documents.set(name, made);
  return made;
}
