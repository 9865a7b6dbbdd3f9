// recorder.ts: stores decisions in batches, off the request path, and labels decisions.
//
// While the store is unreachable or too slow, decisions wait. Beyond `maxWaiting` rows or `maxWaitingBytes`, new
// decisions are dropped and counted. Decisions do not fail because of the store. Cost: recording a decision costs one
// push.
//
// A batch that timed out is sent again, although the store may already have it. The store skips decisions that it
// already has.

import type { EventLog, Outcome } from "@inkling/contract";
import { messageOf, within } from "@inkling/data";
import type { Memories } from "@inkling/engine/assess";
import type { Author } from "@inkling/store/audit";
import type { DecisionStore } from "@inkling/store/decisions";
import type { MemoryQuestion } from "@inkling/store/decisions/memory";
import {
  type AnsweredRow,
  answerOf,
  type Claimed,
  type DecisionRow,
  type Decisions,
  type LabelResult,
  type NamedDecision,
  RECALL_MS,
  rowBytes,
} from "@inkling/store/decisions/record";
import { StoreError } from "@inkling/store/error";
import { DAY_MS } from "@inkling/store/keys/day";
import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import { BackgroundStore } from "../limits/background-store.ts";

const DEFAULTS = {
  now: Date.now as () => EpochMs,
  /**
   * Milliseconds from the start of one flush to the next, unless a batch fills up earlier. A worker also holds decisions
   * back (collector.ts), but a crash still loses less than a second of decisions.
   */
  flushMs: 500,
  maxWaiting: 50_000,
  /** A caller's facts can make a row 60 times as large as usual, so the number of rows does not limit memory. */
  maxWaitingBytes: 64 * 1024 * 1024,
};
/** Maximum number of decisions in one batch. */
const BATCH = 1_000;
/** Maximum milliseconds that a request with an `Idempotency-Key` waits for the store. */
const CLAIM_MS = 500;
/** Maximum number of such requests in one batch. */
const CLAIM_BATCH = 200;
/** Number of requests with an `Idempotency-Key` whose decisions this process remembers. */
const MAX_CLAIMED = 10_000;
const LABEL_RETRY_MS = 100;
/** Maximum number of statements about earlier decisions that the database has not answered. */
const MAX_RECALLS = 256;

interface DecisionRecorderOptions extends Partial<typeof DEFAULTS> {
  readonly store: Pick<DecisionStore, "add" | "claim" | "recall"> & {
    label(...label: Parameters<DecisionStore["label"]>): Promise<object | undefined>;
  };
  /**
   * Maximum milliseconds to wait for a decision that is to be labelled. A worker may have just sent it, or another host
   * may be storing it.
   */
  readonly labelWaitMs: number;
  /**
   * Learns when decisions can no longer be stored, when they are dropped, when none waits any more, and what is lost.
   */
  readonly log?: EventLog;
}

interface WaitingClaim {
  readonly row: NamedDecision;
  /** Receives the stored decision; undefined if the store did not answer. */
  readonly settle: (found: AnsweredRow | undefined) => void;
}

/** May the same batch succeed later? */
const isRetryable = (error: unknown) => error instanceof StoreError && error.code !== "BROKEN";

export class DecisionRecorder extends BackgroundStore implements Decisions {
  private readonly options: DecisionRecorderOptions & typeof DEFAULTS;
  private waiting: DecisionRow[] = [];
  private waitingBytes = 0;
  /** Rows that were sent but not confirmed yet. */
  private sending: readonly DecisionRow[] = [];
  private stored = 0;
  private dropped = 0;
  /** Decisions by `idempotency`, oldest first. */
  private readonly claimed = new Map<string, { readonly at: EpochMs; readonly claim: Promise<Claimed> }>();
  /** Claims that were not sent to the store yet. A claim that was answered without the store leaves this list. */
  private readonly claims = new Set<WaitingClaim>();
  private isClaiming = false;
  private recalling = 0;
  private recalled = 0;
  private notRecalled = 0;
  /** What was logged: that the store fails, that decisions are dropped, and how many had been dropped before. */
  private readonly logged = { isFailing: false, isDropping: false, dropped: 0 };

  constructor(options: DecisionRecorderOptions) {
    super(options.flushMs ?? DEFAULTS.flushMs);
    this.options = { ...DEFAULTS, ...options };
  }

  start(): void {
    this.flushes.schedule();
  }

  record(row: DecisionRow): void {
    const { maxWaiting, maxWaitingBytes } = this.options;
    const bytes = rowBytes(row);
    const fits = this.waitingBytes + bytes <= maxWaitingBytes;
    if (fits && this.waiting.length + this.sending.length < maxWaiting) {
      this.waiting.push(row);
      this.waitingBytes += bytes;
    } else this.dropped++;
    // A full batch is stored immediately, because decisions that wait long cost more time in garbage collection than in
    // the store. After a failure, only the timer retries the store.
    if (this.waiting.length === BATCH && this.failuresInRow === 0) void this.flush();
  }

  /** Counts decisions that a worker could not hand over. */
  recordDropped(count: number): void {
    this.dropped += count;
  }

  claim(row: NamedDecision): Promise<Claimed> {
    const { idempotency } = row;
    const now = this.options.now();
    const before = this.claimed.get(idempotency);
    if (before !== undefined && before.at > now - DAY_MS) return before.claim;
    this.claimed.delete(idempotency); // deleted first, so that the new entry becomes the newest
    const claim = this.claimInStore(row);
    this.claimed.set(idempotency, { at: now, claim });
    if (this.claimed.size > MAX_CLAIMED) this.claimed.delete(this.claimed.keys().next().value!);
    return claim;
  }

  async label(
    id: string,
    outcome: Outcome | null,
    key?: KeyId,
    by?: Author,
    note?: string,
  ): Promise<LabelResult> {
    const { store, labelWaitMs } = this.options;
    const until = performance.now() + labelWaitMs;
    try {
      for (;;) {
        if ((await store.label(id, outcome, key, by, note)) !== undefined) return "labelled";
        if (this.state.waiting > 0) {
          if (!(await this.flush())) return "unreachable";
          if ((await store.label(id, outcome, key, by, note)) !== undefined) return "labelled";
        }
        if (performance.now() >= until) return "unknown";
        await Bun.sleep(LABEL_RETRY_MS);
      }
    } catch (error) {
      this.lastError = error;
      return "unreachable";
    }
  }

  async recall(question: MemoryQuestion): Promise<Memories | undefined> {
    const found = this.recalling < MAX_RECALLS ? await this.recallInStore(question) : undefined;
    if (found === undefined) this.notRecalled++;
    else this.recalled++;
    return found;
  }

  /** A statement that takes too long keeps its place until it ends, so that a silent database gets no more of them. */
  private recallInStore(question: MemoryQuestion): Promise<Memories | undefined> {
    this.recalling++;
    const found = this.options.store
      .recall(question)
      .catch((error: unknown) => {
        this.lastError = error;
        return undefined;
      })
      .finally(() => this.recalling--);
    return within(RECALL_MS, found, () => undefined);
  }

  /** Flushes one last time. @returns the number of decisions that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    await this.flushes.stop();
    await this.flush();
    const { waiting: lost, lastError: why } = this.state;
    if (lost > 0) this.options.log?.error("decisions-lost", { decisions: lost, why });
    return { lost };
  }

  protected logChange(): void {
    const { log } = this.options;
    if (log === undefined) return;
    const { failuresInRow, lastError: reason, waiting, dropped } = this.state;
    const { logged } = this;
    if (failuresInRow > 0 && !logged.isFailing) log.error("decisions-not-stored", { reason, waiting });
    logged.isFailing = failuresInRow > 0;
    if (!logged.isDropping && dropped > logged.dropped) {
      logged.isDropping = true;
      log.error("decisions-dropped", {
        waiting,
        reason: reason ?? "decisions arrive faster than the database stores them",
      });
    } else if (logged.isDropping && waiting === 0) {
      logged.isDropping = false;
      log.info("decisions-stored-again", { dropped: dropped - logged.dropped });
      logged.dropped = dropped;
    }
  }

  /**
   * Numbers of decisions that wait, that were stored, and that were dropped, because the queue was full, the store
   * refused their batch, or a worker could not hand them over. Also how many questions about earlier decisions the store
   * answered, and did not answer in time, and why the last flush, claim or label failed, without secrets.
   */
  get state() {
    const { stored, dropped, recalled, notRecalled, failuresInRow } = this;
    const waiting = this.waiting.length + this.sending.length;
    const lastError = this.lastError === undefined ? undefined : messageOf(this.lastError);
    return { waiting, stored, dropped, recalled, notRecalled, failuresInRow, lastError };
  }

  protected async sendAll(): Promise<void> {
    while (this.sending.length > 0 || this.waiting.length > 0) {
      if (this.sending.length === 0) this.sending = this.waiting.splice(0, BATCH);
      await this.send();
    }
  }

  private async send(): Promise<void> {
    try {
      await this.options.store.add(this.sending);
      this.stored += this.sending.length;
    } catch (error) {
      if (isRetryable(error)) throw error;
      this.dropped += this.sending.length; // a batch that the database refuses must not block all other batches
      this.forgetSent();
      throw error;
    }
    this.forgetSent();
  }

  private forgetSent(): void {
    for (const row of this.sending) this.waitingBytes -= rowBytes(row);
    this.sending = [];
  }

  /**
   * Claims the request's name in the store. If the store does not answer in time, only this process remembers the name.
   */
  private async claimInStore(row: NamedDecision): Promise<Claimed> {
    const { promise, resolve } = Promise.withResolvers<AnsweredRow | undefined>();
    const claim: WaitingClaim = { row, settle: resolve };
    this.claims.add(claim);
    const timer = setTimeout(() => {
      this.claims.delete(claim);
      resolve(undefined);
    }, CLAIM_MS);
    void this.sendClaims();
    const found = await promise;
    clearTimeout(timer);
    if (found === undefined) this.record(row);
    else if (found.id === row.id) this.stored++;
    const { body_hash: bodyHash } = found ?? row;
    return { answer: answerOf(found ?? row), bodyHash: bodyHash ?? row.body_hash };
  }

  /** Sends the waiting claims in batches, one batch at a time, so that claims never fill the store's queue. */
  private async sendClaims(): Promise<void> {
    if (this.isClaiming) return;
    this.isClaiming = true;
    while (this.claims.size > 0) {
      const batch = [...this.claims].slice(0, CLAIM_BATCH);
      for (const claim of batch) this.claims.delete(claim);
      const found = await this.options.store.claim(batch.map(({ row }) => row)).catch((error: unknown) => {
        this.lastError = error;
        return [];
      });
      for (const [i, { settle }] of batch.entries()) settle(found[i]);
    }
    this.isClaiming = false;
  }
}
