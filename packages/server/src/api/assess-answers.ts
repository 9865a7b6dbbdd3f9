// assess-answers.ts: answers a request about one visitor (JSON) or many visitors (NDJSON), and labels decisions. Loaded
// with the first such request.

import {
  DECISION,
  type DecisionAnswer,
  type DecisionOutcomeSet,
  OUTCOMES,
  type Outcome,
} from "@inkling/contract";
import type { RequestName } from "@inkling/store/decisions/record";
import { bearerToken } from "@inkling/store/keys/token";
import type { LineAnswers } from "../batch/answers.ts";
import { answerLines, type BatchAnswer } from "../batch/batch.ts";
import { type BodyEncoding, encodingOf, parseJson, readJsonBytes } from "../batch/body.ts";
import type { LineCall } from "../batch/call.ts";
import type { Lines } from "../batch/lines.ts";
import type { Output } from "../batch/output.ts";
import { type Decided, decisionRow } from "../decisions/decided.ts";
import { Decider, SANDBOX_ID } from "../decisions/decider.ts";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";

/** Maximum size of the description of one visitor, in bytes. It also limits a line of a stream. */
const MAX_VISITOR_BYTES = 64 * 1024;
const TOO_LARGE = problem(
  "CONTENT_TOO_LARGE",
  "The description of a visitor may be at most 64 KiB after decoding.",
);
const CUT_SHORT = problem("BODY_INVALID", "The body was cut short, or its gzip is damaged.");
const LINE_TOO_LONG = problem("BODY_INVALID", "This line is longer than 64 KiB.");
const CRASHED = problem("INTERNAL");

const ID = new RegExp(DECISION.fields.id.pattern);
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;
const KEY_INVALID = problem("IDEMPOTENCY_KEY_INVALID");
const KEY_OF_STREAM = problem(
  "IDEMPOTENCY_KEY_INVALID",
  "`Idempotency-Key` identifies a request about one visitor. Send each visitor as JSON, or send the stream without the header.",
);
const KEY_OF_OTHER_BODY = problem(
  "IDEMPOTENCY_KEY_INVALID",
  "A different body was sent with this `Idempotency-Key` in the last 24 hours. Use a new key for each visitor.",
);
const NO_OUTCOMES = problem("CONTENT_TYPE_INVALID", "Send one outcome as `Content-Type: application/json`.");
const OUTCOME_INVALID = problem(
  "BODY_INVALID",
  `Send {"outcome":"…"} with one of ${OUTCOMES.map((outcome) => `"${outcome}"`).join(", ")}.`,
);
const NOT_FOUND = problem("DECISION_NOT_FOUND");
const NOT_STORED = problem(
  "DECISION_NOT_FOUND",
  "This server does not store decisions. The operator can set INKLING_DECISIONS=1.",
);
const NOT_IN_SANDBOX = problem(
  "DECISION_NOT_FOUND",
  `Sandbox keys accept only the decision ${SANDBOX_ID}, which every sandbox request returns.`,
);
const UNREACHABLE = problem("DECISIONS_UNREACHABLE");

/** Number of characters of a token's hash, enough to tell the tokens of one API key apart. */
const TOKEN_NAME_LENGTH = 8;
const NEWLINE = 0x0a;
const encoder = new TextEncoder();

/** What identifies a hook's request, so that a copy of the request gets the same decision. */
export interface HookRequest {
  readonly secret: string;
  readonly id: string;
  readonly body: Uint8Array;
}

export class DecisionAnswers {
  private readonly services: ThreadServices;
  private readonly decider: Decider;

  constructor(services: ThreadServices) {
    this.services = services;
    this.decider = new Decider(services);
  }

  /** Answers a request about one visitor, or returns a stream of answers about many visitors. */
  async answer(call: LineCall): Promise<DecisionAnswer | BatchAnswer | Problem> {
    const { services, decider } = this;
    const { headers } = call.request;
    const encoding = encodingOf(headers);
    if ("code" in encoding) return encoding;
    const key =
      services.settings.decisions && !call.question.isSandbox ? headers.get("idempotency-key") : null;
    if (key !== null && !IDEMPOTENCY_KEY.test(key)) return KEY_INVALID;
    if (encoding.format === "ndjson") {
      if (key !== null) return KEY_OF_STREAM;
      return answerLines(services, call, encoding, (out) => new DecisionLines(this, services, call, out));
    }
    const bytes = await this.readBody(call, encoding);
    if (!(bytes instanceof Uint8Array)) return bytes;
    const decided = await decider.assess(parseJson(bytes), call.question);
    if ("code" in decided) return decided;
    if (key !== null) {
      const apiKey = bearerToken(headers.get("authorization")) ?? "";
      return this.answerOnce(call.question, decided, requestName(call.key.id, apiKey, key, bytes));
    }
    this.store(decided, call.question);
    return decided.answer;
  }

  /** Assesses the visitor of one line. */
  assessLine(line: Uint8Array, question: Question): Decided | Problem | Promise<Decided> {
    return this.decider.assess(parseJson(line), question);
  }

  /**
   * Decides about a visitor that a hook describes. If the server stores decisions, it stores this one, and a copy of the
   * request gets the same decision.
   */
  async decide(
    visitor: unknown,
    question: Question,
    { secret, id, body }: HookRequest,
  ): Promise<DecisionAnswer | Problem> {
    const decided = await this.decider.assess(visitor, question);
    if ("code" in decided) return decided;
    if (!this.services.settings.decisions) return decided.answer;
    return this.answerOnce(question, decided, requestName(secret, secret, id, body));
  }

  /** Labels a decision, or returns a problem that states why the decision cannot be labelled. */
  async setOutcome(call: LineCall, id: string): Promise<DecisionOutcomeSet | Problem> {
    const { decisions, settings } = this.services;
    const encoding = encodingOf(call.request.headers);
    if ("code" in encoding) return encoding;
    if (encoding.format === "ndjson") return NO_OUTCOMES;
    const bytes = await this.readBody(call, encoding);
    if (!(bytes instanceof Uint8Array)) return bytes;
    const outcome = outcomeOf(parseJson(bytes));
    if (outcome === undefined) return OUTCOME_INVALID;
    if (call.question.isSandbox) return id === SANDBOX_ID ? { id, outcome } : NOT_IN_SANDBOX;
    const result = ID.test(id) ? await decisions.label(id, outcome, call.key.id) : "unknown";
    if (result === "labelled") return { id, outcome };
    if (result === "unreachable") return UNREACHABLE;
    return settings.decisions ? NOT_FOUND : NOT_STORED;
  }

  /** Stores a decision, if this server stores decisions. */
  store(decided: Decided, question: Question): void {
    const { decisions, settings } = this.services;
    if (settings.decisions && !question.isSandbox) decisions.record(decisionRow(decided, question));
  }

  private readBody(call: LineCall, { isGzip }: BodyEncoding): Promise<Uint8Array | Problem> {
    const { bodies } = this.services.memory;
    return readJsonBytes(bodies, call, isGzip, MAX_VISITOR_BYTES, TOO_LARGE, CUT_SHORT);
  }

  /**
   * Returns the decision that was made for the first request with this name.
   * The fields that `include` adds are not stored, so they come from a new lookup.
   */
  private async answerOnce(
    question: Question,
    decided: Decided,
    name: RequestName,
  ): Promise<DecisionAnswer | Problem> {
    const row = decisionRow(decided, question, name);
    const { answer, bodyHash } = await this.services.decisions.claim({ ...row, ...name });
    return isSameBody(bodyHash, name.body_hash) ? { ...decided.answer, ...answer } : KEY_OF_OTHER_BODY;
  }
}

/**
 * Returns hashes of the request's `Idempotency-Key` (or a hook's `webhook-id`) and body. The first is keyed with the
 * API key's id, so that a retry after a rotation is recognized. The second is keyed with the token (or the hook's
 * secret), which the database does not contain. Otherwise, whoever can read the database could try all addresses of a
 * stored network until the body's hash matches.
 */
function requestName(caller: string, token: string, key: string, body: Uint8Array): RequestName {
  const hashOf = (secret: string, value: string | Uint8Array) =>
    new Bun.CryptoHasher("sha256", secret).update(value).digest("base64url");
  const tokenName = hashOf(token, "").slice(0, TOKEN_NAME_LENGTH);
  return { idempotency: hashOf(caller, key), body_hash: `${tokenName}.${hashOf(token, body)}` };
}

/**
 * Compares hashes of bodies. Bodies that were sent with different tokens of one key cannot be compared, so they match.
 */
function isSameBody(first: string, second: string): boolean {
  const tokenOf = (hash: string) => hash.slice(0, TOKEN_NAME_LENGTH);
  return first === second || tokenOf(first) !== tokenOf(second);
}

/** Reads an outcome strictly. @param value the request's body, parsed from JSON */
function outcomeOf(value: unknown): Outcome | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined;
  const { outcome } = value as { readonly outcome?: unknown };
  return OUTCOMES.find((known) => known === outcome);
}

/** Assesses the visitors of a stream, one per line. */
class DecisionLines implements LineAnswers {
  lookups = 0;
  private readonly decisionAnswers: DecisionAnswers;
  private readonly services: ThreadServices;
  private readonly call: LineCall;
  private readonly out: Output;
  private question: Question;

  constructor(decisionAnswers: DecisionAnswers, services: ThreadServices, call: LineCall, out: Output) {
    this.decisionAnswers = decisionAnswers;
    this.services = services;
    this.call = call;
    this.out = out;
    this.question = call.question;
  }

  use(question: Question): void {
    this.question = question;
  }

  findLines(): void {}

  answerLine({ bytes, starts, ends }: Lines, index: number): void | Promise<void> {
    const decided = this.assess(bytes.subarray(starts[index], ends[index]));
    if (decided instanceof Promise) return decided.then((after) => this.take(after));
    this.take(decided);
  }

  private take(decided: Decided | Problem): void {
    if ("code" in decided) {
      this.refuse(decided);
      return;
    }
    this.lookups++;
    this.decisionAnswers.store(decided, this.question);
    this.write(JSON.stringify(decided.answer));
  }

  refuseLongLine(): void {
    this.refuse(LINE_TOO_LONG);
  }

  refuse(refusal: Problem): void {
    this.services.counts.countProblem(refusal.code);
    this.write(problemBody(refusal));
  }

  private assess(line: Uint8Array): Decided | Problem | Promise<Decided> {
    try {
      return this.decisionAnswers.assessLine(line, this.question);
    } catch (error) {
      this.call.onCrash(error, Buffer.from(line).toString());
      return CRASHED;
    }
  }

  private write(text: string): void {
    this.out.append(encoder.encode(text));
    this.out.appendByte(NEWLINE);
  }
}
