// retry.ts: computes how long to wait before the next attempt.
//
// Source: RFC 9110 10.2.3 (Retry-After: seconds or a date).

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Maximum random extra wait, as a share of the wait. Clients that were refused together should not retry together. */
const SPREAD = 0.25;

/** Returns seconds, at least 0, or undefined if the header is missing or cannot be read. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - nowMs) / 1000));
}

/**
 * Returns the milliseconds to wait. With Retry-After, that is its time plus up to a quarter. Otherwise it is
 * a random part of a pause that doubles with each failure.
 * @param failures number of failures so far, at least 1
 * @param random a number from 0 to 1
 */
export function pauseMs(failures: number, retryAfterSeconds: number | undefined, random: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000 * (1 + SPREAD * random);
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
  return longest * (0.5 + 0.5 * random);
}
