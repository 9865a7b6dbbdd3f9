// pipeline.ts: one value -> its answer or a problem, for single requests and batches alike.
//
// in   a value as text, and a Question: from the sandbox or from which data, with which opt-ins
// out  the answer's JSON bytes, which may be shared: never write to them; or a problem
// err  none thrown
//
// The engine's Answerer does the work; here are the caller (`me`), the sandbox, the MX check and what is counted.

import { SANDBOX_ME } from "@inkling/contract";
import {
  Answerer,
  type AnswerSource,
  bitsOfAnswer,
  bodyOf,
  ComposedAnswer,
  findFailure,
  INCLUDE,
  type IpAddress,
  type IpLookup,
  type IpSegment,
  isDisposableAnswer,
  type Lookup,
  type UnwrappedAddress,
  unwrapIpv4,
} from "@inkling/engine";
import type { Problem } from "../http/problems.ts";
import type { KeyId } from "../keys/key.ts";
import type { MxFinding } from "../mx/resolve.ts";
import type { Counts } from "../telemetry/counts.ts";
import { CALLER_UNKNOWN, problemOf } from "./failures.ts";
import { type EmailChecks, mxCheck } from "./mx.ts";
import { sandboxAddress, sandboxEmail } from "./sandbox.ts";

/** Opt-ins beyond the plain answer: bits of a set. */
export const WANTS = { ...INCLUDE, mx: 2, facts: 16 } as const;
/** The plain answer. */
export const PLAIN = 0;

const ME = "me";
const decoder = new TextDecoder();

export type Answer = Uint8Array | Problem;

/** What is the same for all values of a request. */
export interface Question extends AnswerSource {
  readonly isSandbox: boolean;
  /** Bits of WANTS. */
  readonly wants: number;
  /** Whose share the MX check takes. */
  readonly key?: { readonly id: KeyId } | undefined;
  /** The address that `me` names. */
  findCaller(): IpAddress | undefined;
}

/** The address that a lookup is about, IPv4 unwrapped. */
export interface Subject {
  readonly address: UnwrappedAddress;
  readonly isCaller: boolean;
}

/** "There is no data about this address" is a lookup too; other problems are not charged. */
export function isLookup(answer: Answer | ComposedAnswer): boolean {
  return !("code" in answer) || answer.code === "IP_ADDRESS_NOT_FOUND";
}

/** What is counted of an answer's content. */
type AnswerCounts = Pick<Counts, "countFlags" | "countDisposable" | "countCountry" | "sampleWeight">;

export class Pipeline {
  private readonly answerer = new Answerer();
  /** What was read last and is not the caller. */
  readonly named: Subject = { address: this.answerer.address, isCaller: false };
  private readonly checks: Pick<EmailChecks, "checkMx">;
  private readonly counts: AnswerCounts;

  constructor(checks: Pick<EmailChecks, "checkMx">, counts: AnswerCounts) {
    this.checks = checks;
    this.counts = counts;
  }

  /** @returns a subject that is valid until the next one is read */
  readSubject(text: string, question: Question): Subject | Problem {
    if (text === ME && !question.isSandbox) {
      const address = question.findCaller();
      if (address === undefined) return CALLER_UNKNOWN;
      unwrapIpv4(address);
      return { address, isCaller: true };
    }
    const failure = this.answerer.readAddress(text === ME ? SANDBOX_ME : text);
    return failure === undefined ? this.named : problemOf(failure);
  }

  /** Reads an address as `named`. @returns false for any other text, `me` too */
  readAddress(text: string): boolean {
    return this.answerer.readAddress(text) === undefined;
  }

  /** As {@link readAddress}, from ASCII. */
  readAddressBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return this.answerer.readAddressBytes(bytes, start, end);
  }

  answerAddress(lookup: IpLookup, subject: Subject, question: Question): Answer | ComposedAnswer {
    const { address, isCaller } = subject;
    if (question.isSandbox) return sandboxAddress(lookup, address, question.wants);
    const outcome = this.answerer.answerAddress(lookup, address, question, question.wants);
    if ("reason" in outcome) return problemOf(outcome, isCaller);
    this.countAddress(lookup, subject, outcome, question);
    return outcome;
  }

  private countAddress(
    lookup: IpLookup,
    subject: Subject,
    outcome: Uint8Array | ComposedAnswer,
    question: Question,
  ): void {
    if (lookup === "reputation") {
      this.counts.countFlags(bitsOfAnswer(plainOf(outcome)));
      return;
    }
    const weight = this.counts.sampleWeight(question.now);
    if (weight > 0) this.counts.countCountry(this.countryOf(subject, question), weight);
  }

  /** The ISO 3166-1 code of the country that a location names. */
  countryOf({ address }: Subject, { isSandbox, release }: Question): string | undefined {
    if (isSandbox) {
      const answer = sandboxAddress("geolocate", address, PLAIN);
      return "code" in answer ? undefined : JSON.parse(decoder.decode(answer)).country.iso_code;
    }
    const geo = release?.geo;
    return geo?.countryOf(geo.record(address));
  }

  /** Counts an answer that was copied from a segment. */
  countRecord(lookup: IpLookup, segment: IpSegment, record: number, now: number): void {
    const { counts } = this;
    if (lookup === "reputation") {
      const answer = segment.answer(record);
      if (answer !== undefined) counts.countFlags(bitsOfAnswer(answer));
      return;
    }
    const weight = counts.sampleWeight(now);
    if (weight > 0) counts.countCountry(segment.countryOf(record), weight);
  }

  /** A promise only while DNS is queried. */
  answerEmail(text: string, question: Question): Answer | Promise<Answer> {
    const wantsMx = (question.wants & WANTS.mx) !== 0;
    if (question.isSandbox) return sandboxEmail(text, (question.wants & WANTS.evidence) !== 0, wantsMx);
    if (!wantsMx) return this.listedEmail(text, question);
    const refusal = refusalOf("email", question);
    if (refusal !== undefined) return refusal;
    const finding = this.checks.checkMx(text, question.key?.id ?? "");
    return finding instanceof Promise
      ? finding.then((found) => this.listedEmail(text, question, found))
      : this.listedEmail(text, question, finding);
  }

  /** @param question without `checks=mx` */
  listedEmail(text: string, question: Question, finding?: MxFinding): Answer {
    const withEvidence = (question.wants & WANTS.evidence) !== 0;
    const check = finding && mxCheck(finding);
    const outcome = this.answerer.answerEmail(text, question, withEvidence, check);
    if ("reason" in outcome) return problemOf(outcome);
    if (isDisposableAnswer(plainOf(outcome))) this.counts.countDisposable();
    return bodyOf(outcome);
  }
}

const plainOf = (answer: Uint8Array | ComposedAnswer) =>
  answer instanceof ComposedAnswer ? answer.plain : answer;

/** The lookup whose answers are those of the release, or of overrides, as they stand; undefined if there is more to do. */
export function plainLookup(lookup: Lookup, { isSandbox, wants }: Question): IpLookup | undefined {
  return lookup !== "email" && !isSandbox && wants === PLAIN ? lookup : undefined;
}

/** Why no value of a lookup can be answered from data; undefined if it can. */
export function refusalOf(lookup: Lookup, question: Question): Problem | undefined {
  const failure = question.isSandbox ? undefined : findFailure(lookup, question);
  return failure && problemOf(failure);
}
