// recorder.ts: brings decisions to the store in batches, off the request path; labels them; deletes those that are too old.
//
// in   decisions of this process and of its workers
// out  rows in the store, at most about a second later
// err  record never throws or waits. While the store is unreachable or too slow, decisions wait; beyond MAX_WAITING new
//      ones are dropped and counted. Actions and requests do not depend on it
// cost record: one push. Memory: MAX_WAITING rows of about 1 KB at most
//
// A batch that may have been stored before a time-out is sent again: the store skips decisions that it has.

import type { Outcome } from "@inkling/contract";
import { backoffMs, messageOf } from "@inkling/release-store";
import { DAY_MS } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";
import type { Claimed, Decisions, LabelResult, NamedDecision } from "./decisions.ts";
import { answerOf, type DecisionRow } from "./record.ts";

/** From start to start of a flush, unless a batch is full earlier. With a worker's wait (collector.ts) less than a second is at risk. */
const FLUSH_MS = 500;
/** Longest wait between two attempts while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;
const MAX_WAITING = 50_000;
/** Decisions that are sent at once. */
const BATCH = 1_000;
const EXPIRE_MS = 60_000;
/** A request with an `Idempotency-Key` waits for the store no longer. */
const CLAIM_MS = 500;
/** Requests with an `Idempotency-Key` whose decision this process remembers. */
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
  /** How long decisions are kept. */
  readonly days: number;
  /** How long a decision may be on its way here, from a worker or from another host, in ms. */
  readonly labelWaitMs: number;
  /** Could the same batch be stored later? Otherwise it is dropped. */
  readonly mayRetry: (error: unknown) => boolean;
  readonly now?: () => EpochMs;
  /** The time that decides what is too old: a clock that is ahead must not delete what is not. */
  readonly readClock?: () => Promise<EpochMs>;
  readonly flushMs?: number;
  readonly maxWaiting?: number;
  /** Called after each flush, whether it succeeded or not. */
  readonly onFlush?: (state: DecisionsState) => void;
  /** Called when old decisions could not be deleted. */
  readonly onExpiryFailed?: (error: unknown) => void;
}

/** For metrics and logs. */
export interface DecisionsState {
  readonly waiting: number;
  readonly stored: number;
  /** Because the queue was full. */
  readonly dropped: number;
  /** Failed flushes since the last one that succeeded. */
  readonly failuresInRow: number;
  /** Why the last flush failed, without secrets; undefined if it succeeded. */
  readonly lastError: string | undefined;
}

export class DecisionRecorder implements Decisions {
  days: number;
  private readonly options: DecisionRecorderOptions;
  private readonly now: () => EpochMs;
  private readonly flushMs: number;
  private readonly maxWaiting: number;
  private waiting: DecisionRow[] = [];
  /** Sent, and not yet confirmed. */
  private sending: readonly DecisionRow[] = [];
  private stored = 0;
  private dropped = 0;
  private failuresInRow = 0;
  private lastError: string | undefined;
  /** By `idempotency`, oldest first. */
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
    // What waits long costs the garbage collector more than the store. A store that fails is tried by the timer only.
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
    this.claimed.delete(idempotency); // so that it is the newest
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

  /** Brings everything recorded until now to the store. @returns whether it is there; never rejects */
  flush(): Promise<boolean> {
    this.queue = this.queue
      .then(() => this.sendAll())
      .then((isStored) => {
        this.options.onFlush?.(this.state);
        return isStored;
      });
    return this.queue;
  }

  /** Flushes for the last time. @returns decisions that could not be stored and are lost with this process */
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
      this.dropped += this.sending.length; // what the database refuses must not keep all others waiting
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

  /** Without the store, the name is known to this process only. */
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
