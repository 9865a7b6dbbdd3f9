// rate-headers.ts: formats RateLimit-Policy and RateLimit, which show callers what is left of their limits.
//
// Source: draft-ietf-httpapi-ratelimit-headers-10; docs/errors.md#limits explains the headers to callers. The bucket is
// one policy. Its q is the bucket's size, and w is the number of seconds that an empty bucket takes to fill. Its r is
// the number of remaining lookups, and t is the number of seconds until the bucket is full again. A daily quota is a
// second policy, "daily". Cost: A bucket's texts are reused between requests, because formatting a text took 250 ns. If
// 2,048 or more lookups are left, only the first 11 bits of the number are shown, so that one text serves many
// requests.

import type { EpochMs, Key } from "@inkling/store/keys/key";
import type { RateState } from "./token-bucket.ts";

const DAY_SECONDS = 86_400;
/** Number of leading bits shown of the remaining lookups. A usual bucket of 2,000 is shown exactly. */
const SHOWN_BITS = 11;
/** Number of texts to keep, one for each value of these bits. */
const KEPT = 2 ** SHOWN_BITS;

/** Seconds until the next UTC day begins, at least 1. */
export function secondsToMidnight(now: EpochMs): number {
  return DAY_SECONDS - (Math.floor(now / 1000) % DAY_SECONDS);
}

export class RateHeaders {
  /** Nearly all keys have the same kind of bucket, so only one text is kept. */
  private policyText = { limit: Number.NaN, windowSeconds: Number.NaN, text: "" };
  private readonly leftTexts: ({ remaining: number; resetSeconds: number; text: string } | undefined)[] =
    new Array(KEPT).fill(undefined);

  /** Formats what a key may do; undefined if it has no limits. */
  formatPolicy(key: Pick<Key, "quota">, rate: RateState): string | undefined {
    const daily = key.quota === undefined ? undefined : `"daily";q=${key.quota};w=${DAY_SECONDS}`;
    if (rate.limit === 0) return daily;
    const bucket = this.bucketPolicy(rate);
    return daily === undefined ? bucket : `${bucket}, ${daily}`;
  }

  /**
   * Formats what is left of a key's limits.
   * @param used lookups of this key today
   */
  formatLeft(key: Pick<Key, "quota">, rate: RateState, used: number, now: EpochMs): string {
    const bucket = rate.limit === 0 ? "" : this.bucketLeft(rate);
    if (key.quota === undefined) return bucket;
    const daily = `"daily";r=${Math.max(0, key.quota - used)};t=${secondsToMidnight(now)}`;
    return bucket === "" ? daily : `${bucket}, ${daily}`;
  }

  private bucketPolicy({ limit, windowSeconds }: RateState): string {
    if (limit !== this.policyText.limit || windowSeconds !== this.policyText.windowSeconds) {
      this.policyText = { limit, windowSeconds, text: `"default";q=${limit};w=${windowSeconds}` };
    }
    return this.policyText.text;
  }

  private bucketLeft({ remaining: left, resetSeconds }: RateState): string {
    const step = left < KEPT ? 1 : 2 ** (Math.floor(Math.log2(left)) + 1 - SHOWN_BITS);
    const slot = Math.floor(left / step);
    const remaining = slot * step;
    const kept = this.leftTexts[slot];
    if (kept?.remaining === remaining && kept.resetSeconds === resetSeconds) return kept.text;
    const text = `"default";r=${remaining};t=${resetSeconds}`;
    this.leftTexts[slot] = { remaining, resetSeconds, text };
    return text;
  }
}
