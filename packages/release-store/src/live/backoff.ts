// backoff.ts: how long to wait before something that failed is tried again.

/** Twice as long after each failure, `most` at most. */
export const backoffMs = (first: number, most: number, failures: number) =>
  Math.min(first * 2 ** failures, most);
