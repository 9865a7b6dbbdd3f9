// collector.ts: hands a worker's decisions over to the primary, which stores them.
//
// If the primary stops confirming, decisions beyond MAX_UNTAKEN are dropped and counted. If a question gets no reply in
// time, it is answered as if the database were unreachable.
//
// A worker that ends because of an error first hands its decisions over. A stuck worker loses those that it has not
// handed over, which are at most HAND_OVER_MS old.

import type { Memories } from "@inkling/engine/assess";
import type { MemoryQuestion } from "@inkling/store/decisions/memory";
import {
  answerOf,
  type Claimed,
  type DecisionRow,
  type Decisions,
  type LabelResult,
  type NamedDecision,
  RECALL_MS,
  rowBytes,
} from "@inkling/store/decisions/record";

const HAND_OVER_MS = 100;
/** Maximum number of decisions in one message. */
const BATCH = 500;
/** Maximum number of decisions that the primary has not confirmed. */
const MAX_UNTAKEN = 10_000;
/** Maximum size of these decisions in bytes. */
const MAX_UNTAKEN_BYTES = 16 * 1024 * 1024;
const CLAIM_MS = 1_000;
const LABEL_MS = 10_000;

/** The methods of {@link Decisions} that a worker calls in the primary. */
type Asked = "claim" | "label" | "recall";
interface DecisionQuestion<Name extends Asked = Asked> {
  readonly method: Name;
  readonly args: Parameters<Decisions[Name]>;
}
type Reply<Name extends Asked = Asked> = Awaited<ReturnType<Decisions[Name]>>;

export type FromCollector =
  | {
      readonly type: "decisions";
      readonly rows: readonly DecisionRow[];
      readonly bytes: number;
      readonly dropped: number;
    }
  | { readonly type: "decision-question"; readonly number: number; readonly question: DecisionQuestion };
export type ToCollector =
  | { readonly type: "decisions-taken"; readonly count: number; readonly bytes: number }
  | { readonly type: "decision-reply"; readonly number: number; readonly reply: Reply };

export class DecisionCollector implements Decisions {
  private readonly send: (message: FromCollector) => void;
  private rows: DecisionRow[] = [];
  private rowsBytes = 0;
  private untaken = 0;
  /** Size of the decisions that wait here or were not confirmed. */
  private bytes = 0;
  private dropped = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly asked = new Map<number, (reply: Reply | undefined) => void>();
  private number = 0;
  private onTaken: (() => void) | undefined;

  constructor(send: (message: FromCollector) => void) {
    this.send = send;
  }

  record(row: DecisionRow): void {
    const bytes = rowBytes(row);
    if (this.rows.length + this.untaken >= MAX_UNTAKEN || this.bytes + bytes > MAX_UNTAKEN_BYTES) {
      this.dropped++;
      return;
    }
    this.bytes += bytes;
    this.rowsBytes += bytes;
    this.rows.push(row);
    if (this.rows.length >= BATCH) this.handOver();
    else this.timer ??= setTimeout(() => this.handOver(), HAND_OVER_MS);
  }

  async claim(row: NamedDecision): Promise<Claimed> {
    this.handOver(); // the question may be about one of these decisions
    const reply = await this.ask("claim", [row], CLAIM_MS);
    if (reply !== undefined) return reply;
    this.record(row);
    return { answer: answerOf(row), bodyHash: row.body_hash };
  }

  async label(...label: Parameters<Decisions["label"]>): Promise<LabelResult> {
    this.handOver();
    return (await this.ask("label", label, LABEL_MS)) ?? "unreachable";
  }

  recall(question: MemoryQuestion): Promise<Memories | undefined> {
    return this.ask("recall", [question], RECALL_MS);
  }

  take(message: ToCollector): void {
    if (message.type === "decision-reply") {
      this.asked.get(message.number)?.(message.reply);
      return;
    }
    this.untaken -= message.count;
    this.bytes -= message.bytes;
    if (this.untaken <= 0) this.onTaken?.();
  }

  /**
   * Hands over the remaining decisions, and waits until the primary has them.
   * @param waitMs maximum wait in milliseconds
   */
  async stop(waitMs: number): Promise<void> {
    this.handOver();
    if (this.untaken <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onTaken = resolve;
    await Promise.race([promise, Bun.sleep(waitMs)]);
  }

  /** Hands over the decisions that wait. */
  handOver(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { rows, rowsBytes: bytes, dropped } = this;
    if (rows.length === 0 && dropped === 0) return;
    this.rows = [];
    this.rowsBytes = 0;
    this.dropped = 0;
    this.untaken += rows.length;
    this.send({ type: "decisions", rows, bytes, dropped });
  }

  private ask<Name extends Asked>(
    method: Name,
    args: Parameters<Decisions[Name]>,
    waitMs: number,
  ): Promise<Reply<Name> | undefined> {
    const number = ++this.number;
    const { promise, resolve } = Promise.withResolvers<Reply<Name> | undefined>();
    const timer = setTimeout(() => this.asked.get(number)?.(undefined), waitMs);
    this.asked.set(number, (reply) => {
      clearTimeout(timer);
      this.asked.delete(number);
      resolve(reply as Reply<Name> | undefined); // the primary calls the same method
    });
    this.send({ type: "decision-question", number, question: { method, args } });
    return promise;
  }
}

/** Answers a worker's question in the primary. */
export const answerQuestion = (decisions: Decisions, { method, args }: DecisionQuestion): Promise<Reply> =>
  (decisions[method] as (...args: unknown[]) => Promise<Reply>).apply(decisions, args);
