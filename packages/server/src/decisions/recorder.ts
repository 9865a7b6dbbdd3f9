// recorder.ts: stores decisions in batches, off the request path; labels decisions; deletes decisions that are too old.
//
// in   decisions of this process and of its workers
// out  rows in the store, usually within about a second
// err  `record` never throws or waits. While the store is unreachable or too slow, decisions wait. Beyond MAX_WAITING,
//      new decisions are dropped and counted. Assessments do not fail because of the store.
// cost recording a decision costs one push. Memory: at most MAX_WAITING rows of about 1 KB.
//
// A batch that timed out is sent again, although the store may already have it. The store skips decisions that it
// already has.

import type { Outcome } from "@inkling/contract";
import { backoffMs, messageOf } from "@inkling/release-store";
import { DAY_MS } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";
import type { Claimed, Decisions, LabelResult, NamedDecision } from "./decisions.ts";
import { answerOf, type DecisionRow } from "./record.ts";

/**
 * Milliseconds from the start of one flush to the next, unless a batch fills up earlier. A worker also holds decisions
 * back (collector.ts), but a crash still loses less than a second of decisions.
 */
const FLUSH_MS = 500;
/** Maximum milliseconds between two attempts while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;
const MAX_WAITING = 50_000;
/** Maximum number of decisions in one batch. */
const BATCH = 1_000;
const EXPIRE_MS = 60_000;
/** Maximum milliseconds that a request with an `Idempotency-Key` waits for the store. */
const CLAIM_MS = 500;
/** Number of requests with an `Idempotency-Key` whose decisions this process remembers. */
const MAX_CLAIMED = 10_000;
const LABEL_RETRY_MS = 100;

export interface DecisionWriter {
  add(rows: readonly DecisionRow[]): Promise<void>;
  claim(row: NamedDecision): Promise<DecisionRow>;
  label(id: string, outcome: Outcome): Promise<object | undefined>;
  expire(before: EpochMs): Promise<number>;
}

interface DecisionRecorderOptions {
  readonly store: DecisionWriter;
  /** Number of days to keep decisions. */
  readonly days: number;
  /** Maximum milliseconds that a decision takes to arrive from a worker or another host. */
  readonly labelWaitMs: number;
  /** Returns true if the same batch may succeed later. Otherwise, the batch is dropped. */
  readonly mayRetry: (error: unknown) => boolean;
  readonly now?: () => EpochMs;
  /**
   * Reads the time that determines which decisions are too old, so that a host whose clock is ahead does not delete
   * decisions too early.
   */
  readonly readClock?: () => Promise<EpochMs>;
  readonly flushMs?: number;
  readonly maxWaiting?: number;
  /** Called after each flush, successful or not. */
  readonly onFlush?: (state: DecisionsState) => void;
  /** Called if old decisions could not be deleted. */
  readonly onExpiryFailed?: (error: unknown) => void;
}

/** The recorder's state, for metrics and logs. */
export interface DecisionsState {
  readonly waiting: number;
  readonly stored: number;
  /**
   * Number of decisions dropped because the queue was full, the store refused their batch, or a worker could not hand
   * them over.
   */
  readonly dropped: number;
  /** Number of consecutive failed flushes since the last success. */
  readonly failuresInRow: number;
  /** Why the last flush, claim or label failed, without secrets; undefined after a flush that succeeded. */
  readonly lastError: string | undefined;
}

export class DecisionRecorder implements Decisions {
  days: number;
  private readonly options: DecisionRecorderOptions;
  private readonly now: () => EpochMs;
  private readonly flushMs: number;
  private readonly maxWaiting: number;
  private waiting: DecisionRow[] = [];
  /** Rows that were sent but not confirmed yet. */
  private sending: readonly DecisionRow[] = [];
  private stored = 0;
  private dropped = 0;
  private failuresInRow = 0;
  private lastError: string | undefined;
  /** Decisions by `idempotency`, oldest first. */
  private readonly claimed = new Map<string, { readonly at: EpochMs; readonly claim: Promise<Claimed> }>();
  private queue: Promise<boolean> = Promise.resolve(true);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private expiredAt = Number.NEGATIVE_INFINITY;
  private isStopped = false;

  constructor(options: DecisionRecorderOptions) {
    this.options = options;
    this.days = options.days;
    this.now = options.now ?? Date.now;
    this.flushMs = options.flushMs ?? FLUSH_MS;
    this.maxWaiting = options.maxWaiting ?? MAX_WAITING;
  }

  start(): void {
    this.schedule(this.flushMs);
  }

  record(row: DecisionRow): void {
    if (this.waiting.length + this.sending.length < this.maxWaiting) this.waiting.push(row);
    else this.dropped++;
    // A full batch is stored at once, because decisions that wait long cost more time in garbage collection than in the
    // store. After a failure, only the timer retries the store.
    if (this.waiting.length === BATCH && this.failuresInRow === 0) void this.flush();
  }

  /** Counts decisions that a worker could not hand over. */
  recordDropped(count: number): void {
    this.dropped += count;
  }

  claim(row: NamedDecision): Promise<Claimed> {
    const { idempotency } = row;
    const now = this.now();
    const before = this.claimed.get(idempotency);
    if (before !== undefined && before.at > now - DAY_MS) return before.claim;
    this.claimed.delete(idempotency); // deleted first, so that the new entry becomes the newest
    const claim = this.claimInStore(row);
    this.claimed.set(idempotency, { at: now, claim });
    if (this.claimed.size > MAX_CLAIMED) this.claimed.delete(this.claimed.keys().next().value!);
    return claim;
  }

  async label(id: string, outcome: Outcome): Promise<LabelResult> {
    const { store, labelWaitMs } = this.options;
    const until = performance.now() + labelWaitMs;
    try {
      for (;;) {
        if ((await store.label(id, outcome)) !== undefined) return "labelled";
        if (this.state.waiting > 0) {
          if (!(await this.flush())) return "away";
          if ((await store.label(id, outcome)) !== undefined) return "labelled";
        }
        if (performance.now() >= until) return "unknown";
        await Bun.sleep(LABEL_RETRY_MS);
      }
    } catch (error) {
      this.lastError = messageOf(error);
      return "away";
    }
  }

  /** Stores everything that has been recorded so far. @returns whether it is stored; never rejects */
  flush(): Promise<boolean> {
    this.queue = this.queue
      .then(() => this.sendAll())
      .then((isStored) => {
        this.options.onFlush?.(this.state);
        return isStored;
      });
    return this.queue;
  }

  /** Flushes one last time. @returns the number of decisions that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.flush();
    return { lost: this.state.waiting };
  }

  get state(): DecisionsState {
    const { stored, dropped, failuresInRow, lastError } = this;
    return { waiting: this.waiting.length + this.sending.length, stored, dropped, failuresInRow, lastError };
  }

  private schedule(wait: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      const started = performance.now();
      void this.flush().then(async (isStored) => {
        if (isStored) await this.expire();
        const backOff = backoffMs(this.flushMs, MAX_BACKOFF_MS, this.failuresInRow);
        this.schedule(isStored ? Math.max(0, this.flushMs - (performance.now() - started)) : backOff);
      });
    }, wait);
  }

  private async sendAll(): Promise<boolean> {
    try {
      while (this.sending.length > 0 || this.waiting.length > 0) {
        if (this.sending.length === 0) this.sending = this.waiting.splice(0, BATCH);
        await this.send();
      }
      this.failuresInRow = 0;
      this.lastError = undefined;
      return true;
    } catch (error) {
      this.failuresInRow++;
      this.lastError = messageOf(error);
      return false;
    }
  }

  private async send(): Promise<void> {
    try {
      await this.options.store.add(this.sending);
      this.stored += this.sending.length;
    } catch (error) {
      if (this.options.mayRetry(error)) throw error;
      this.dropped += this.sending.length; // a batch that the database refuses must not block all other batches
      this.sending = [];
      throw error;
    }
    this.sending = [];
  }

  private async expire(): Promise<void> {
    if (performance.now() - this.expiredAt < EXPIRE_MS) return;
    this.expiredAt = performance.now();
    try {
      const now = await (this.options.readClock?.() ?? this.now());
      await this.options.store.expire(now - this.days * DAY_MS);
    } catch (error) {
      this.options.onExpiryFailed?.(error);
    }
  }

  /**
   * Claims the request's name in the store. If the store does not answer in time, only this process remembers the name.
   */
  private async claimInStore(row: NamedDecision): Promise<Claimed> {
    const silence = Promise.withResolvers<undefined>();
    const timer = setTimeout(silence.resolve, CLAIM_MS);
    const claim = this.options.store.claim(row).catch((error: unknown) => {
      this.lastError = messageOf(error);
      return undefined;
    });
    const found = await Promise.race([claim, silence.promise]);
    clearTimeout(timer);
    if (found === undefined) this.record(row);
    else if (found.id === row.id) this.stored++;
    const { body_hash: bodyHash } = found ?? row;
    return { answer: answerOf(found ?? row), bodyHash: bodyHash ?? row.body_hash };
  }
}
