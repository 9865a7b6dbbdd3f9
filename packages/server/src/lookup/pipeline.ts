// pipeline.ts: turns one value into an answer or a problem, for single requests and batches.
//
// The bytes of an answer may be shared, so never write to them.
//
// The engine's Answerer does the work. This file adds the caller (`me`), the sandbox, the MX check and the counts.

import { REPUTATION_FLAGS, SANDBOX_ME } from "@inkling/contract";
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
import type { KeyId } from "@inkling/store/keys/key";
import type { Problem } from "../http/problems.ts";
import type { RequestIds } from "../http/request-id.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
import type { MxFinding } from "../mx/check.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { RequestSpan } from "../telemetry/tracer.ts";
import { CALLER_UNKNOWN, problemOf } from "./failures.ts";
import { type EmailChecks, mxCheck } from "./mx.ts";
import { sandboxAddress, sandboxEmail } from "./sandbox.ts";

/** Opt-ins beyond the plain answer, as bits. */
export const WANTS = { ...INCLUDE, mx: 2, facts: 16, feeds: 32 } as const;
/** No opt-ins. */
export const PLAIN = 0;

const ME = "me";
const decoder = new TextDecoder();

export type Answer = Uint8Array | Problem;

/** Everything that is the same for all values of a request. */
export interface Question extends AnswerSource {
  readonly isSandbox: boolean;
  /** Bits of WANTS. */
  readonly wants: number;
  /** The key whose usage is counted, and whose share of MX checks is used. */
  readonly key?: { readonly id: KeyId } | undefined;
  /** The ids of the request that asks, for stored decisions. */
  readonly ids?: RequestIds | undefined;
  /** The request's span, if the request is traced. */
  readonly span?: RequestSpan | undefined;
  /** Finds the address that `me` refers to. */
  findCaller(): IpAddress | undefined;
}

/** The address that a lookup is about. IPv4 addresses inside IPv6 are unwrapped. */
export interface Subject {
  readonly address: UnwrappedAddress;
  readonly isCaller: boolean;
}

/**
 * Returns whether an answer counts as a lookup. A response without data about the address (404) counts; other problems
 * are not charged.
 */
export function isLookup(answer: Answer | ComposedAnswer): boolean {
  return !("code" in answer) || answer.code === "IP_ADDRESS_NOT_FOUND";
}

export class Pipeline {
  private readonly answerer = new Answerer();
  /** The address that was read last, unless it was the caller's own. */
  private readonly named: Subject = { address: this.answerer.address, isCaller: false };
  private readonly checks: Pick<EmailChecks, "checkMx">;
  /** Counts the content of answers in total. */
  private readonly counts: Counts;
  /** Counts flags for each key. */
  private readonly usage: Pick<UsageCounter, "record">;

  constructor(checks: Pick<EmailChecks, "checkMx">, counts: Counts, usage: Pick<UsageCounter, "record">) {
    this.checks = checks;
    this.counts = counts;
    this.usage = usage;
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
      this.countFlags(bitsOfAnswer(plainOf(outcome)), question);
      return;
    }
    this.countCountry(() => this.countryOf(subject, question), question);
  }

  /** Counts the flags that are set in an answer about an address. @param bits the flags, as bits */
  countFlags(bits: number, { key, now }: Question): void {
    if (bits === 0) return;
    const { counts, usage } = this;
    counts.countFlags(bits);
    if (key === undefined) return;
    for (const [i, flag] of REPUTATION_FLAGS.entries())
      if ((bits & (1 << i)) !== 0) usage.record(key.id, flag, now);
  }

  /** Counts an answer about a disposable email address. */
  countDisposable({ key, now }: Question): void {
    const { counts, usage } = this;
    counts.countDisposable();
    if (key !== undefined) usage.record(key.id, "disposable", now);
  }

  /** Counts a location's country, if it is part of the sample. @param find returns an ISO 3166-1 alpha-2 code */
  countCountry(find: () => string | undefined, { now }: Question): void {
    const weight = this.counts.sampleWeight(now);
    if (weight > 0) this.counts.countCountry(find(), weight);
  }

  /** Returns the ISO 3166-1 alpha-2 code of the country where an address is located. */
  countryOf({ address }: Subject, { isSandbox, release }: Question): string | undefined {
    if (isSandbox) {
      const answer = sandboxAddress("geolocate", address, PLAIN);
      return "code" in answer ? undefined : JSON.parse(decoder.decode(answer)).country.iso_code;
    }
    const geo = release?.geo;
    return geo?.countryOf(geo.record(address));
  }

  /** Counts an answer that was copied from a segment. */
  countRecord(lookup: IpLookup, segment: IpSegment, record: number, question: Question): void {
    if (lookup === "reputation") {
      const answer = segment.answer(record);
      if (answer !== undefined) this.countFlags(bitsOfAnswer(answer), question);
      return;
    }
    this.countCountry(() => segment.countryOf(record), question);
  }

  /** Answers a lookup of an email address. Returns a promise only while DNS is queried. */
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

  /** Answers from the release and overrides, and applies the MX check's finding if there is one. */
  listedEmail(text: string, question: Question, finding?: MxFinding): Answer {
    const withEvidence = (question.wants & WANTS.evidence) !== 0;
    const check = finding && mxCheck(finding);
    const outcome = this.answerer.answerEmail(text, question, withEvidence, check);
    if ("reason" in outcome) return problemOf(outcome);
    if (isDisposableAnswer(plainOf(outcome))) this.countDisposable(question);
    return bodyOf(outcome);
  }
}

const plainOf = (answer: Uint8Array | ComposedAnswer) =>
  answer instanceof ComposedAnswer ? answer.plain : answer;

/** Returns the lookup if its answers can be copied unchanged from the release or the overrides; otherwise undefined. */
export function plainLookup(lookup: Lookup, { isSandbox, wants }: Question): IpLookup | undefined {
  return lookup !== "email" && !isSandbox && wants === PLAIN ? lookup : undefined;
}

/** Returns the problem if the data for a lookup is missing; undefined if the data is available. */
export function refusalOf(lookup: Lookup, question: Question): Problem | undefined {
  const failure = question.isSandbox ? undefined : findFailure(lookup, question);
  return failure && problemOf(failure);
}
