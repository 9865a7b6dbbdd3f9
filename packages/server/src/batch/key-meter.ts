// key-meter.ts: charges the values of one batch to the key's rate and quota, and records them as usage.

import { batchedOf, type Key, type Refusal, type Scope } from "@inkling/store/keys/key";
import type { RateState } from "../limits/token-bucket.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { LineCall } from "./call.ts";

/** Maximum milliseconds for which a stream waits for its key's rate before it retries. */
const MAX_WAIT_MS = 1_000;
/**
 * A stream that waits for its key's rate waits for the tokens of this many milliseconds, so that it does not wake up
 * for every token.
 */
const WAIT_MS = 20;

export class KeyMeter {
  private readonly services: ThreadServices;
  private readonly scope: Scope;
  private key: Key;
  private isLimited = false;
  /** Tokens taken but not used yet. The request itself has taken the first one. */
  private tokens = 1;
  /** Lookups taken from the quota but not recorded yet. */
  private taken = 0;
  private chargedDay = 0;
  /** Milliseconds after which the next `take` may succeed. */
  waitMs = 0;

  constructor(services: ThreadServices, { scope, key, rate }: LineCall) {
    this.services = services;
    this.scope = scope;
    this.key = key;
    this.setRate(rate);
  }

  /** Applies the key's new limits. They may change while a stream runs. */
  replaceKey(key: Key, now: number): void {
    if (key === this.key) return;
    this.key = key;
    this.setRate(this.services.buckets.take(key, now, 0));
  }

  private setRate(rate: RateState): void {
    this.isLimited = rate.limit > 0;
    this.waitMs = waitMs(this.key, rate);
  }

  /** Takes one token. @returns false if none is left */
  take(now: number): boolean {
    if (!this.isLimited) return true;
    if (this.tokens > 0) {
      this.tokens--;
      return true;
    }
    return this.services.buckets.takeUpTo(this.key, now, 1) > 0;
  }

  /** Takes tokens for as many values as possible. @returns the number of values that the tokens cover */
  takeUpTo(values: number, now: number): number {
    const more = values - this.tokens;
    return more <= 0 ? values : this.tokens + this.services.buckets.takeUpTo(this.key, now, more);
  }

  /** Takes up to `most` lookups from the quota. `recordLookups` returns the unused lookups to the quota. */
  takeQuota(most: number, now: number): number {
    if (this.key.quota === undefined) return Number.POSITIVE_INFINITY;
    this.taken = this.services.usage.takeQuota(this.key, now, most);
    this.chargedDay = this.services.usage.chargedDay;
    return this.taken;
  }

  /** Records the lookups that were made. Call it after each `takeQuota`. */
  recordLookups(lookups: number, now: number): void {
    const { usage, counts } = this.services;
    const unused = this.taken - lookups;
    this.taken = 0;
    if (unused > 0) usage.giveQuotaBack(this.key, this.chargedDay, unused);
    if (lookups === 0) return;
    usage.record(this.key.id, this.scope, now, lookups);
    usage.record(this.key.id, batchedOf(this.scope), now, lookups);
    counts.countLookup(this.scope, this.key.mode, "batch", lookups);
  }

  recordRefusals(reason: Refusal, values: number, now: number): void {
    if (values > 0) this.services.usage.record(this.key.id, reason, now, values);
  }
}

/**
 * Returns the milliseconds to wait for the key's rate: WAIT_MS, but long enough for one token, and not longer than an
 * empty bucket takes to fill. The wait is at most MAX_WAIT_MS.
 */
function waitMs(key: Key, { limit, windowSeconds }: RateState): number {
  if (limit === 0) return 0;
  const perMs = (key.rate ?? limit / windowSeconds) / 1_000;
  return Math.min(MAX_WAIT_MS, Math.max(1 / perMs, Math.min(WAIT_MS, limit / perMs)));
}
