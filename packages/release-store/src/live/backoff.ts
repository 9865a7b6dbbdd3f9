// backoff.ts: computes how long to wait before a retry.

/** Returns the wait, which doubles after each failure up to `most` milliseconds. */
export const backoffMs = (first: number, most: number, failures: number) =>
  Math.min(first * 2 ** failures, most);
