// rate-headers.ts: RateLimit-Policy and RateLimit, which show a caller what is left.
//
// src  draft-ietf-httpapi-ratelimit-headers-10; docs/limits.md explains them to callers
// note The bucket is one policy: q is its size, w the seconds that an empty one takes to fill; r is what is
//      left, t the seconds until it is full again. A daily quota is a second one, "daily".
// cost texts of a bucket are kept from one request to the next: formatting them again took 250 ns each. Of 2,048 lookups left
//      and more the first 11 bits are shown, so that one text serves many requests

import type { EpochMs, Key } from "../keys/key.ts";
import type { Decision } from "./token-bucket.ts";

const DAY_SECONDS = 86_400;
/** Of what is left: all of the usual bucket of 2,000. */
const SHOWN_BITS = 11;
/** Texts kept, by the bits that are shown. */
const KEPT = 2 ** SHOWN_BITS;

/** Seconds until the next UTC day begins, at least 1. */
export function secondsToMidnight(now: EpochMs): number {
  return DAY_SECONDS - (Math.floor(now / 1000) % DAY_SECONDS);
}

export class RateHeaders {
  /** Nearly all keys have the same bucket, so one text is kept. */
  private policyText = { limit: Number.NaN, windowSeconds: Number.NaN, text: "" };
  private readonly leftTexts: ({ remaining: number; resetSeconds: number; text: string } | undefined)[] =
    new Array(KEPT).fill(undefined);

  /** What a key may do; undefined if it has no limit at all. */
  formatPolicy(key: Pick<Key, "quota">, rate: Decision): string | undefined {
    const daily = key.quota === undefined ? undefined : `"daily";q=${key.quota};w=${DAY_SECONDS}`;
    if (rate.limit === 0) return daily;
    const bucket = this.bucketPolicy(rate);
    return daily === undefined ? bucket : `${bucket}, ${daily}`;
  }

  /**
   * What is left of it.
   * @param used lookups of this key today
   */
  formatLeft(key: Pick<Key, "quota">, rate: Decision, used: number, now: EpochMs): string {
    const bucket = rate.limit === 0 ? "" : this.bucketLeft(rate);
    if (key.quota === undefined) return bucket;
    const daily = `"daily";r=${Math.max(0, key.quota - used)};t=${secondsToMidnight(now)}`;
    return bucket === "" ? daily : `${bucket}, ${daily}`;
  }

  private bucketPolicy({ limit, windowSeconds }: Decision): string {
    if (limit !== this.policyText.limit || windowSeconds !== this.policyText.windowSeconds) {
      this.policyText = { limit, windowSeconds, text: `"default";q=${limit};w=${windowSeconds}` };
    }
    return this.policyText.text;
  }

  private bucketLeft({ remaining: left, resetSeconds }: Decision): string {
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
