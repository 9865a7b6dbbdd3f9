// collector.ts: hands a worker's decisions over to the primary, which stores them.
//
// in   decisions
// out  messages: decisions in batches; questions, which the primary answers
// err  record never throws or waits: while the primary takes none, those beyond MAX_UNTAKEN are dropped and counted. A
//      question without an answer in time is answered as if the database were unreachable
//
// A worker that is killed loses what it has not handed over: at most HAND_OVER_MS. The primary counts these decisions,
// because `onRecord` counts in memory that outlives the worker.

import type { Outcome } from "@inkling/contract";
import type { Claimed, Decisions, LabelResult, NamedDecision } from "./decisions.ts";
import { answerOf, type DecisionRow } from "./record.ts";

const HAND_OVER_MS = 100;
/** Decisions in one message. */
const BATCH = 500;
/** Decisions that the primary has not confirmed. */
const MAX_UNTAKEN = 10_000;
const CLAIM_MS = 1_000;
const LABEL_MS = 10_000;

export type DecisionQuestion =
  | { readonly type: "claim"; readonly row: NamedDecision }
  | { readonly type: "label"; readonly id: string; readonly outcome: Outcome };
export type DecisionReply = Claimed | LabelResult;

export type FromCollector =
  | { readonly type: "decisions"; readonly rows: readonly DecisionRow[]; readonly dropped: number }
  | { readonly type: "decision-question"; readonly number: number; readonly question: DecisionQuestion };
export type ToCollector =
  | { readonly type: "decisions-taken"; readonly count: number }
  | { readonly type: "decision-reply"; readonly number: number; readonly reply: DecisionReply };

export class DecisionCollector implements Decisions {
  private readonly send: (message: FromCollector) => void;
  private readonly onRecord: () => void;
  private rows: DecisionRow[] = [];
  private untaken = 0;
  private dropped = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly asked = new Map<number, (reply: DecisionReply | undefined) => void>();
  private number = 0;
  private onTaken: (() => void) | undefined;

  /** @param onRecord called for each decision that the primary is to get */
  constructor(send: (message: FromCollector) => void, onRecord: () => void) {
    this.send = send;
    this.onRecord = onRecord;
  }

  record(row: DecisionRow): void {
    if (this.rows.length + this.untaken >= MAX_UNTAKEN) {
      this.dropped++;
      return;
    }
    this.onRecord();
    this.rows.push(row);
    if (this.rows.length >= BATCH) this.handOver();
    else this.timer ??= setTimeout(() => this.handOver(), HAND_OVER_MS);
  }

  async claim(row: NamedDecision): Promise<Claimed> {
    const reply = await this.ask({ type: "claim", row }, CLAIM_MS);
    if (typeof reply === "object") return reply;
    this.record(row);
    return { answer: answerOf(row), bodyHash: row.body_hash };
  }

  async label(id: string, outcome: Outcome): Promise<LabelResult> {
    const reply = await this.ask({ type: "label", id, outcome }, LABEL_MS);
    return typeof reply === "string" ? reply : "away";
  }

  take(message: ToCollector): void {
    if (message.type === "decision-reply") {
      this.asked.get(message.number)?.(message.reply);
      return;
    }
    this.untaken -= message.count;
    if (this.untaken <= 0) this.onTaken?.();
  }

  /** Hands over what is left, and waits until the primary has it. @param waitMs at most so long */
  async stop(waitMs: number): Promise<void> {
    this.handOver();
    if (this.untaken <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onTaken = resolve;
    await Promise.race([promise, Bun.sleep(waitMs)]);
  }

  private handOver(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { rows, dropped } = this;
    if (rows.length === 0 && dropped === 0) return;
    this.rows = [];
    this.dropped = 0;
    this.untaken += rows.length;
    this.send({ type: "decisions", rows, dropped });
  }

  private ask(question: DecisionQuestion, waitMs: number): Promise<DecisionReply | undefined> {
    this.handOver(); // what is asked about may be among them
    const number = ++this.number;
    const { promise, resolve } = Promise.withResolvers<DecisionReply | undefined>();
    const timer = setTimeout(() => this.asked.get(number)?.(undefined), waitMs);
    this.asked.set(number, (reply) => {
      clearTimeout(timer);
      this.asked.delete(number);
      resolve(reply);
    });
    this.send({ type: "decision-question", number, question });
    return promise;
  }
}

/** What the primary does with a question. */
export function answerQuestion(decisions: Decisions, question: DecisionQuestion): Promise<DecisionReply> {
  return question.type === "claim"
    ? decisions.claim(question.row)
    : decisions.label(question.id, question.outcome);
}
