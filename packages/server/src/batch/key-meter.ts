// key-meter.ts: rate, quota and usage of one key, for the values of one batch.

import { batchedOf, type Key, type Refusal, type Scope } from "../keys/key.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
import type { Buckets, Decision } from "../limits/token-bucket.ts";
import type { Counts } from "../telemetry/counts.ts";

export interface MeterOptions {
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: Omit<UsageCounter, "countToday">;
  readonly counts: Pick<Counts, "countLookup">;
}

/** A stream that waits for its key's rate retries after at most this long … */
const MAX_WAIT_MS = 1_000;
/** … and waits for at least the tokens of this time. */
const WAIT_MS = 20;

export class KeyMeter {
  private readonly options: MeterOptions;
  private readonly scope: Scope;
  private key: Key;
  private isLimited = false;
  /** Tokens that were taken and not yet used: the request came with one. */
  private tokens = 1;
  /** Lookups that were taken from the quota and not yet recorded. */
  private taken = 0;
  private chargedDay = 0;
  /** Milliseconds until `take` is worth another try. */
  waitMs = 0;

  /** @param rate of the key's bucket, after the token of the first value was taken */
  constructor(options: MeterOptions, scope: Scope, key: Key, rate: Decision) {
    this.options = options;
    this.scope = scope;
    this.key = key;
    this.setRate(rate);
  }

  /** The limits of a key may change during a stream. */
  replaceKey(key: Key, now: number): void {
    if (key === this.key) return;
    this.key = key;
    this.setRate(this.options.buckets.take(key, now, 0));
  }

  private setRate(rate: Decision): void {
    this.isLimited = rate.limit > 0;
    this.waitMs = waitMs(this.key, rate);
  }

  /** Takes one token. @returns whether there was one */
  take(now: number): boolean {
    if (!this.isLimited) return true;
    if (this.tokens > 0) {
      this.tokens--;
      return true;
    }
    return this.options.buckets.takeUpTo(this.key, now, 1) > 0;
  }

  /** Takes as many tokens as there are. @returns how many values they cover */
  takeUpTo(values: number, now: number): number {
    const more = values - this.tokens;
    return more <= 0 ? values : this.tokens + this.options.buckets.takeUpTo(this.key, now, more);
  }

  /** Takes up to `most` lookups from the quota; `recordLookups` returns those that were not made. */
  takeQuota(most: number, now: number): number {
    if (this.key.quota === undefined) return Number.POSITIVE_INFINITY;
    this.taken = this.options.usage.takeQuota(this.key, now, most);
    this.chargedDay = this.options.usage.chargedDay;
    return this.taken;
  }

  /** After each `takeQuota`. */
  recordLookups(lookups: number, now: number): void {
    const { usage, counts } = this.options;
    const unused = this.taken - lookups;
    this.taken = 0;
    if (unused > 0) usage.giveQuotaBack(this.key, this.chargedDay, unused);
    if (lookups === 0) return;
    usage.record(this.key.id, this.scope, now, lookups);
    usage.record(this.key.id, batchedOf(this.scope), now, lookups);
    counts.countLookup(this.scope, this.key.mode, "batch", lookups);
  }

  recordRefusals(reason: Refusal, values: number, now: number): void {
    if (values > 0) this.options.usage.record(this.key.id, reason, now, values);
  }
}

/** Until there is one token, or the tokens of WAIT_MS, or a full bucket. */
function waitMs(key: Key, { limit, windowSeconds }: Decision): number {
  if (limit === 0) return 0;
  const perMs = (key.rate ?? limit / windowSeconds) / 1_000;
  return Math.min(MAX_WAIT_MS, Math.max(1 / perMs, Math.min(WAIT_MS, limit / perMs)));
}
