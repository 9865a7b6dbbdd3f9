// rate-headers.ts: RateLimit-Policy and RateLimit, the way a caller learns how much is left.
//
// src  draft-ietf-httpapi-ratelimit-headers-10; docs/errors.md explains them to callers
// note The bucket is one policy: q is its size, w the seconds that an empty one takes to fill; r is what is
//      left, t the seconds until it is full again. A daily quota is a second one, "daily".
// cost the texts of a bucket are kept from one request to the next: printing them anew took 250 ns of each

import type { Key } from "../keys/key.ts";
import type { Decision } from "./token-bucket.ts";

const DAY_SECONDS = 86_400;

/** Seconds until the next UTC day begins, at least 1. */
export function secondsToMidnight(now: number): number {
  return DAY_SECONDS - (Math.floor(now / 1000) % DAY_SECONDS);
}

let policy = { limit: Number.NaN, windowSeconds: Number.NaN, text: "" };

/** Nearly all keys have the same bucket, so one text is kept. */
function bucketPolicy({ limit, windowSeconds }: Decision): string {
  if (limit !== policy.limit || windowSeconds !== policy.windowSeconds) {
    policy = { limit, windowSeconds, text: `"default";q=${limit};w=${windowSeconds}` };
  }
  return policy.text;
}

/** Texts kept, by the last bits of what is left: all of the usual bucket of 2,000. */
const KEPT = 2048;
const leftTexts: ({ remaining: number; resetSeconds: number; text: string } | undefined)[] = new Array(
  KEPT,
).fill(undefined);

function bucketLeft({ remaining, resetSeconds }: Decision): string {
  const slot = remaining & (KEPT - 1);
  const kept = leftTexts[slot];
  if (kept?.remaining === remaining && kept.resetSeconds === resetSeconds) return kept.text;
  const text = `"default";r=${remaining};t=${resetSeconds}`;
  leftTexts[slot] = { remaining, resetSeconds, text };
  return text;
}

/** What a key may do; undefined when it has no limit at all. */
export function ratePolicy(key: Pick<Key, "quota">, rate: Decision): string | undefined {
  const daily = key.quota === undefined ? undefined : `"daily";q=${key.quota};w=${DAY_SECONDS}`;
  if (rate.limit === 0) return daily;
  const bucket = bucketPolicy(rate);
  return daily === undefined ? bucket : `${bucket}, ${daily}`;
}

/**
 * What is left of it.
 * @param used look-ups of this key today
 */
export function rateLeft(key: Pick<Key, "quota">, rate: Decision, used: number, now: number): string {
  const bucket = rate.limit === 0 ? "" : bucketLeft(rate);
  if (key.quota === undefined) return bucket;
  const daily = `"daily";r=${Math.max(0, key.quota - used)};t=${secondsToMidnight(now)}`;
  return bucket === "" ? daily : `${bucket}, ${daily}`;
}
